/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../layout/base/cleanup.h"
#include "spawn.h"

#define VERSION_WAIT_MS 10000
#define MEASURE_MS 50
#define READINGS 32

bool host_has_kvm(void)
{
	auto_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd >= 0;
}

static uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* The value of a "name : value" line, or NULL. */
static const char *value_of(char *line, const char *name)
{
	size_t len = strlen(name);
	char *p = line + len;

	if (strncmp(line, name, len) != 0 || (*p != '\t' && *p != ' '))
		return NULL;
	p = strchr(p, ':');
	if (!p || p[1] != ' ')
		return NULL;
	p[strcspn(p, "\n")] = '\0';
	return p + 2;
}

static void cpu_line(struct host_cpu *c, char *line)
{
	const char *v;

	if ((v = value_of(line, "model name")))
		snprintf(c->model, sizeof(c->model), "%s", v);
	else if ((v = value_of(line, "flags")))
		for (c->flags = 5381; *v; v++)
			c->flags = c->flags * 33 + (unsigned char)*v;
}

/* Both clocks at one moment: the tightest of several readings, for whoever is
 * interrupted between the two is wrong by that time. */
static void read_clocks(uint64_t *ret_tsc, uint64_t *ret_ns)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t before = now_ns(), tsc = read_tsc(), after = now_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		*ret_tsc = tsc;
		*ret_ns = before + best / 2;
	}
}

void host_cpu(struct host_cpu *ret)
{
	auto_fclose FILE *f = fopen("/proc/cpuinfo", "re");
	auto_free char *line = NULL;
	size_t size = 0;

	*ret = (struct host_cpu){ 0 };
	read_clocks(&ret->tsc, &ret->at_ns);
	/* The first processor speaks for all of them. */
	while (f && getline(&line, &size, f) > 0 && line[0] != '\n')
		cpu_line(ret, line);
}

unsigned host_tsc_khz(const struct host_cpu *cpu)
{
	uint64_t tsc = 0, ns = 0;

	read_clocks(&tsc, &ns);
	if (!cpu->tsc || ns - cpu->at_ns < MEASURE_MS * NS_PER_MS)
		return 0;
	return (unsigned)((double)(tsc - cpu->tsc) * NS_PER_MS /
			  (double)(ns - cpu->at_ns));
}

int vm_qemu_version(const char *qemu, char ret[32], struct err *err)
{
	const char *argv[] = { qemu ? qemu : "qemu-system-x86_64", "--version",
			       NULL };
	struct spawn s = { .argv = argv, .want_stdout = true };
	struct child c;
	char text[256];
	int r = spawn(&s, &c, err);

	if (r == -ENOENT)
		return err_set(err, r, "%s was not found; install the package "
				       "qemu-system-x86", argv[0]);
	if (r < 0)
		return r;
	r = child_read(&c, text, sizeof(text), VERSION_WAIT_MS) > 0 ? 0 : -EIO;
	child_end(&c);
	if (r < 0 || sscanf(text, "QEMU emulator version %31[0-9.]", ret) != 1)
		return err_set(err, -EINVAL, "%s --version says no version; "
			       "install the package qemu-system-x86", argv[0]);
	return 0;
}
