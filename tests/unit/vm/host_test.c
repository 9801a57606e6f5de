/* SPDX-License-Identifier: Apache-2.0 */
/* The memory and the processors that are ours, with control groups of this test's making:
 * what it mounts over the true ones is seen by itself alone. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/qemu/host.h"
#include "tests/unit/tap.h"

#define TOP "/sys/fs/cgroup/"
#define MIB (1ull << 20)

static int put(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -errno;
	return 0;
}

/* Return: 0, or a negative errno: this machine does not let us. */
static int set_up(void)
{
	static const char *const dirs[] = {
		TOP "in", TOP "in/deep", TOP "memory", TOP "memory/in",
		TOP "cpu", TOP "cpu/in",
	};

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", TOP, "tmpfs", 0, NULL) < 0 ||
	    put(TOP "list", "") < 0 ||
	    mount(TOP "list", "/proc/self/cgroup", NULL, MS_BIND, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdir(dirs[i], 0700) < 0)
			return -errno;
	if (put(TOP "in/memory.max", "41943040\n") < 0 ||
	    put(TOP "in/memory.current", "1048576\n") < 0 ||
	    put(TOP "memory/in/memory.limit_in_bytes", "31457280\n") < 0 ||
	    put(TOP "memory/in/memory.usage_in_bytes", "2097152\n") < 0)
		return -errno;
	return 0;
}

struct row {
	const char *list;        /* as /proc/self/cgroup */
	uint64_t total_mib, available_mib; /* 0: the host's */
	const char *sentence;
};

static const struct row rows[] = {
	{ "0::/in\n", 40, 39, "a group's limit is what there is" },
	{ "0::/in/deeper\n", 40, 39, "so is that of a group around it" },
	{ "4:memory:/in\n0::/\n", 30, 28, "a hierarchy of version 1 has one" },
	{ "4:memory,x:/in\n", 30, 28, "also when it is named first of two" },
	{ "4:x,memory:/in\n", 30, 28, "or last" },
	{ "4:memory:/in\n0::/in\n", 30, 28, "the lower one of both counts" },
	{ "4:x-memory:/in\n", 0, 0, "another one of a like name has none" },
	{ "", 0, 0, "who is in no group has what the host has" },
};

static void check(const struct row *row, uint64_t host_mib)
{
	struct host_memory m;
	struct vm_allotment ours;
	struct vm_memory got;

	if (!ok(put(TOP "list", row->list) == 0, "the kernel says \"%s\"",
		row->list))
		return;
	host_memory_open(&m);
	host_memory_get(&m, &got);
	host_memory_close(&m);
	vm_allotment(&ours);
	is_int((long long)ours.memory, (long long)got.total, "the allotment agrees");
	is_int((long long)(got.total / MIB),
	       (long long)(row->total_mib ? row->total_mib : host_mib), "%s",
	       row->sentence);
	if (row->total_mib)
		is_int((long long)(got.available / MIB),
		       (long long)row->available_mib,
		       "and what is used of it is not available");
}

/* The processors of a process that may run on `all` of them. */
static const struct {
	const char *list;
	const char *max, *deep; /* cpu.max of "in" and of "in/deep" */
	const char *quota;      /* cpu.cfs_quota_us of version 1 */
	unsigned count;         /* 0: all */
	const char *sentence;
} shares[] = {
	{ "0::/in\n", "max 100000\n", "", "-1\n", 0, "a group may have no limit" },
	{ "0::/in\n", "100000 100000\n", "", "-1\n", 1, "a group may have one processor" },
	{ "0::/in\n", "5000 100000\n", "", "-1\n", 1, "a part of one counts as one" },
	{ "0::/in\n", "99999900000 100000\n", "", "-1\n", 0, "more than there are is all" },
	{ "0::/in/deep\n", "50000 50000\n", "max 100000\n", "-1\n", 1,
	  "the group around it has one" },
	{ "0::/in/deep\n", "max 100000\n", "10000 100000\n", "-1\n", 1,
	  "its own has one" },
	{ "0::/in\n", "garbage\n", "", "-1\n", 0, "what cannot be read is no limit" },
	{ "3:cpuacct,cpu:/in\n", "max 100000\n", "", "100000\n", 1,
	  "a hierarchy of version 1 has one" },
	{ "3:cpu:/in\n", "1000 100000\n", "", "-1\n", 0,
	  "a hierarchy of version 1 has none" },
};

static void test_processors(void)
{
	struct vm_allotment got;
	cpu_set_t all, one;
	int first = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	ok(put(TOP "cpu/in/cpu.cfs_period_us", "100000\n") == 0, "(a period)");
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		ok(put(TOP "list", shares[i].list) == 0 &&
			   put(TOP "in/cpu.max", shares[i].max) == 0 &&
			   put(TOP "in/deep/cpu.max", shares[i].deep) == 0 &&
			   put(TOP "cpu/in/cpu.cfs_quota_us", shares[i].quota) == 0,
		   "(groups are made)");
		vm_allotment(&got);
		is_int(got.processors,
		       shares[i].count ? shares[i].count : (unsigned)CPU_COUNT(&all),
		       "%s", shares[i].sentence);
	}
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	ok(sched_setaffinity(0, sizeof(one), &one) == 0, "(a process has one)");
	vm_allotment(&got);
	is_int(got.processors, 1, "the kernel's choice is narrower than all");
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	struct host_memory m = { .meminfo = open("/proc/meminfo", O_RDONLY) };
	struct vm_memory host;
	int r;

	host_memory_get(&m, &host);
	host_memory_close(&m);
	r = set_up();
	if (r < 0)
		skip("mounts of its own: %s", strerror(-r));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		check(&rows[i], host.total / MIB);
	if (r == 0)
		test_processors();
	return done_testing();
}
