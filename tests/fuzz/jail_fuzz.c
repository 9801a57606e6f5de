/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon that is taken over may send to the jailer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/jail/argv.h"
#include "vm/jail/jail_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Whatever passes gives a command line that fits and names no file of ours. */
static void check_start(const struct jail_request *q)
{
	struct argv_spec spec = {
		.qemu = (const char *const[]){ "/usr/bin/qemu", NULL }, .kernel = "/kernel",
		.initrd = "/initrd", .accel = (enum vm_accel)q->accel,
		.cls = { .memory_mib = q->memory_mib, .cpus = q->cpus },
		.boot = q->kind == JAIL_BOOT, .tsc_khz = q->tsc_khz,
		.layers = jail_layers(q), .plain = q->plain,
	};
	struct argv argv;

	check(q->kind < JAIL_KINDS && q->memory_mib && q->cpus);
	check(jail_layers(q) <= JAIL_LAYERS_MAX);
	check(argv_make(&spec, &argv) == 0);
	check(argv.item[argv.count] == NULL);
	for (unsigned i = 1; i < argv.count; i++)
		check(argv.item[i][0] != '/' || !strcmp(argv.item[i], "/kernel") ||
		      !strcmp(argv.item[i], "/initrd"));
}

/* The first byte is how many descriptors came. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jail_request q;
	struct err err;
	unsigned fds;

	if (!size)
		return 0;
	fds = data[0] % (JAIL_FDS_MAX + 2);
	err.text[0] = '\0';
	if (jail_request_check(data + 1, size - 1, fds, &q, &err) < 0) {
		check(err.text[0]);
		return 0;
	}
	check(size - 1 == sizeof(q) && q.version == JAIL_VERSION);
	if (q.op == JAIL_START) {
		check(fds == jail_fd_count(&q));
		check_start(&q);
	} else {
		check(q.op && q.op < JAIL_OPS && fds == 0);
	}
	return 0;
}
