/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, names, kills and removes the control groups of lanes below one group that has
 * the limits of the machine. PID 1 keeps the serial numbers (mux.c); this file has no
 * state.
 */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sys.h"

#define CGROUP_ROOT "/sys/fs/cgroup/"
#define GROUP "shared"
#define CPU_PERIOD_US 100000u

static int put(const char *name, const char *value)
{
	char path[100];

	snprintf(path, sizeof(path), CGROUP_ROOT GROUP "/%s", name);
	return sys_write(path, value);
}

static int put_number(const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return put(name, text);
}

/* Limits the processors; with all of the machine's no limit is needed. */
static int put_cpus(uint32_t cpus)
{
	char text[64];

	if (cpus >= (unsigned)get_nprocs())
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64 " %u",
		 (uint64_t)cpus * CPU_PERIOD_US, CPU_PERIOD_US);
	return put("cpu.max", text);
}

int share_open(const struct wire_share *share, struct err *err)
{
	int r = mkdir(CGROUP_ROOT GROUP, 0700) ? -errno : 0;

	if (!r)
		r = put("cgroup.subtree_control", "+memory +pids +cpu");
	if (!r)
		r = put_number("memory.max", share->memory_bytes);
	if (!r)
		r = put_number("pids.max", share->processes);
	if (!r)
		r = put_cpus(share->cpus);
	if (!r) {
		r = put("memory.swap.max", "0");
		/* a kernel without swap lacks the file */
		r = r == -ENOENT ? 0 : r;
	}
	return r ? err_sys(err, r, "cannot limit the shared machine") : 0;
}

void share_allow(const struct wire_share *share, unsigned own_tasks)
{
	put_number("pids.max", (uint64_t)share->processes + own_tasks);
}

void share_group(unsigned serial, char ret[SHARE_GROUP_ROOM])
{
	snprintf(ret, SHARE_GROUP_ROOM, GROUP "/%u", serial);
}

void share_kill(unsigned serial)
{
	char name[40];

	snprintf(name, sizeof(name), "%u/cgroup.kill", serial);
	put(name, "1");
}

bool share_remove(unsigned serial)
{
	char path[100];

	snprintf(path, sizeof(path), CGROUP_ROOT GROUP "/%u", serial);
	return !rmdir(path) || errno == ENOENT;
}

unsigned share_serial_of(pid_t pid)
{
	static const char prefix[] = "0::/" GROUP "/";
	char path[40], line[100];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (sys_read_line(path, line, sizeof(line)) ||
	    strncmp(line, prefix, strlen(prefix)) != 0)
		return 0;
	return (unsigned)strtoul(line + strlen(prefix), NULL, 10);
}
