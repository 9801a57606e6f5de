/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads facts about this host: processor, rate of its counter, memory, processors that
 * control groups allow, number of OOM kills.
 *
 * Memory is read often, so host_memory_open() opens the files once and host_memory_get()
 * rereads them with pread(2). All other functions open their files at each call and keep
 * no state.
 */
#include "host.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/jail/jail_cgroup.h"
#include "vm/os/loop.h"

#define MEASURE_MS 50
#define READINGS 32
#define PROCESSORS_MAX 16384 /* more than a kernel supports */

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

/* Returns the value of a "name : value" line, or NULL. */
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

/* Reads both clocks at one moment. Takes the closest of several readings: an
 * interrupt between the two clocks makes a reading wrong by its time. */
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
	/* Read the first processor only: all are the same. */
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

/* --- control groups ----------------------------------------------------- */

/* Sets path to that of this process's group of a controller; "": the root. Return: false:
 * there is none. */
static bool own_group(const char *controller, char path[CGROUP_PATH_MAX])
{
	if (!jail_cgroup_own(controller, path, CGROUP_PATH_MAX))
		return false;
	path[strcmp(path, "/") ? strlen(path) : 0] = '\0';
	return true;
}

/*
 * Changes path to that of the group's parent. Return: false: the group was the root.
 */
static bool outer_group(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/* Opens a file of a group. Return: -1 if it is not visible here. */
static int open_in(const char *root, const char *path, const char *name)
{
	char file[800];
	int n = snprintf(file, sizeof(file), "%s%s/%s", root, path, name);

	return n < 0 || (size_t)n >= sizeof(file) ?
		       -1 : open(file, O_RDONLY | O_CLOEXEC);
}

/* --- memory -------------------------------------------------------------- */

/* Returns the number in a cgroup file: its only one, or that after a name at the start of
 * a line. */
static uint64_t number_in(int fd, const char *name, uint64_t otherwise)
{
	char text[16384];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;

	if (n <= 0)
		return otherwise;
	text[n] = '\0';
	while (name && strncmp(at, name, strlen(name)) != 0) {
		at = strchr(at, '\n');
		if (!at++)
			return otherwise;
	}
	at += name ? strlen(name) : 0;
	at += strspn(at, " \t");
	return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : otherwise;
}

struct group_files {
	const char *controller, *root, *limit, *used;
};

static const struct group_files versions[] = {
	{ "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	  "memory.usage_in_bytes" },
	{ "", "/sys/fs/cgroup", "memory.max", "memory.current" },
};

static void open_group(struct host_memory *m, const struct group_files *f,
		       const char *path)
{
	int limit = m->groups < HOST_GROUPS ? open_in(f->root, path, f->limit) : -1;

	if (limit < 0)
		return;
	m->group[m->groups].limit = limit;
	m->group[m->groups].used = open_in(f->root, path, f->used);
	m->group[m->groups++].stat = open_in(f->root, path, "memory.stat");
}

void host_memory_open(struct host_memory *ret)
{
	char path[CGROUP_PATH_MAX];

	*ret = (struct host_memory){
		.meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC),
	};
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		for (bool in = own_group(versions[i].controller, path); in;
		     in = outer_group(path))
			open_group(ret, &versions[i], path);
}

void host_memory_close(struct host_memory *m)
{
	fd_close(&m->meminfo);
	for (unsigned i = 0; i < m->groups; i++) {
		fd_close(&m->group[i].limit);
		fd_close(&m->group[i].used);
		fd_close(&m->group[i].stat);
	}
	m->groups = 0;
}

void host_memory_get(const struct host_memory *m, struct vm_memory *ret)
{
	uint64_t kib = number_in(m->meminfo, "MemTotal:", UINT64_MAX >> 10);

	ret->total = kib << 10;
	kib = number_in(m->meminfo, "MemAvailable:", UINT64_MAX >> 10);
	ret->available = kib << 10;
	for (unsigned i = 0; i < m->groups; i++) {
		uint64_t limit = number_in(m->group[i].limit, NULL, UINT64_MAX);
		uint64_t used, cache;

		if (limit >= ret->total)
			continue;
		used = number_in(m->group[i].used, NULL, 0);
		/*
		 * page cache that the kernel frees before it lets anything fail
		 */
		cache = number_in(m->group[i].stat, "inactive_file ", 0);
		cache = number_in(m->group[i].stat, "total_inactive_file ",
				  cache);
		used -= MIN(used, cache);
		ret->total = limit;
		ret->available = MIN(ret->available, limit - MIN(used, limit));
	}
}

uint64_t host_oom_kills(void)
{
	auto_close int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);

	return number_in(fd, "oom_kill ", 0);
}

/* --- processors and memory of this process ------------------------------ */

/*
 * Files with the microseconds of processor time that a group gets in a period.
 */
static const struct cpu_files {
	const char *controller, *root, *quota, *period;
} cpu_versions[] = {
	{ "cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us" },
	{ "", "/sys/fs/cgroup", "cpu.max", NULL /* cpu.max has the period behind the quota */ },
};

/*
 * Returns the processors of one group, rounded up; `most` if it has no limit.
 */
static unsigned group_processors(const struct cpu_files *f, const char *path,
				 unsigned most)
{
	auto_close int fd = open_in(f->root, path, f->quota);
	auto_close int other = f->period ? open_in(f->root, path, f->period) : -1;
	char text[64] = "", *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t quota, period;

	/* "max" or -1: no limit */
	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return most;
	quota = strtoull(text, &end, 10);
	period = f->period ? number_in(other, NULL, 0) : strtoull(end, NULL, 10);
	if (!quota || !period)
		return most;
	return (unsigned)MIN((quota + period - 1) / period, (uint64_t)most);
}

/* Returns how many processors taskset(1) and cpusets allow. */
static unsigned affine_processors(void)
{
	cpu_set_t *set = CPU_ALLOC(PROCESSORS_MAX);
	size_t size = CPU_ALLOC_SIZE(PROCESSORS_MAX);
	int n = 0;

	if (set && sched_getaffinity(0, size, set) == 0)
		n = CPU_COUNT_S(size, set);
	CPU_FREE(set);
	return (unsigned)MAX(n, 1);
}

void vm_allotment(struct vm_allotment *ret)
{
	struct host_memory files;
	struct vm_memory memory;
	char path[CGROUP_PATH_MAX];

	host_memory_open(&files);
	host_memory_get(&files, &memory);
	host_memory_close(&files);
	ret->memory = memory.total;
	ret->processors = affine_processors();
	for (size_t i = 0; i < ARRAY_SIZE(cpu_versions); i++)
		for (bool in = own_group(cpu_versions[i].controller, path); in;
		     in = outer_group(path))
			ret->processors = group_processors(&cpu_versions[i], path,
							   ret->processors);
}
