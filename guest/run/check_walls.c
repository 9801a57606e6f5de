/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc of waiting runners, and tries operations that must fail, to find
 * out which walls stand. Runs once, in PID 1, before READY, which carries the
 * result.
 */
#include "check_walls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/proc_status.h"
#include "guest/net/net_helper.h"
#include "guest/os/sys.h"

#define BIT(wall) (1u << WIRE_WALL_##wall)

/* --- of one process ------------------------------------------------------- */

uint32_t check_status(const char *text, unsigned id)
{
	struct proc_status s;
	uint32_t walls = 0;

	proc_status_parse(text, &s);
	if (proc_ids_are(s.uid, id, 1) && proc_ids_are(s.gid, id, 1) &&
	    !s.groups)
		walls |= BIT(USER);
	if (!s.caps && s.no_new_privs == 1)
		walls |= BIT(CAPS);
	if (s.seccomp == 2)
		walls |= BIT(FILTER);
	return walls;
}

static uint32_t look_at_process(pid_t pid, unsigned id)
{
	char path[40], text[PROC_STATUS_MAX];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sys_get(fd, text, sizeof(text)) < 0)
		return 0;
	return check_status(text, id);
}

/* --- of the machine ------------------------------------------------------- */

static bool is_read_only(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

/*
 * Returns whether the root cannot be changed. It looks writable (see
 * guest/os/mounts.c), so this tries: even init, which has all rights, must
 * fail.
 */
static bool root_is_closed(void)
{
	static const char path[] = "/.look";

	if (mkdir(path, 0) && errno == EROFS)
		return true;
	rmdir(path);
	return false;
}

/* Return: whether every name in the directory passes. */
static bool each_name(const char *path, bool (*passes)(int dir, const char *))
{
	DIR *d = opendir(path);
	struct dirent *e;
	bool all = d != NULL;

	while (all && (e = readdir(d)))
		if (e->d_name[0] != '.')
			all = passes(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return all;
}

/* Accepts no disk, no console, no virtio port. */
static bool is_harmless(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !S_ISBLK(st.st_mode) && strncmp(name, "vport", 5) != 0 &&
	       strncmp(name, "hvc", 3) != 0 && strcmp(name, "console") != 0;
}

static bool is_loopback(int dir, const char *name)
{
	(void)dir;
	return !strcmp(name, "lo");
}

/* Returns whether no module can be loaded; true if the kernel has no modules at
 * all. */
static bool takes_no_module(void)
{
	char value[8];

	return sys_read_line("/proc/sys/kernel/modules_disabled", value,
			     sizeof(value)) < 0 || !strcmp(value, "1");
}

uint32_t check_walls(const struct runner *runners, size_t count, pid_t helper)
{
	const uint32_t own = BIT(USER) | BIT(CAPS) | BIT(FILTER);
	uint32_t walls = own;
	bool seen = false;

	for (size_t i = 0; i < count; i++) {
		if (runners[i].pid)
			walls &= look_at_process(runners[i].pid, USER_ID);
		seen |= runners[i].pid > 0;
	}
	if (root_is_closed())
		walls |= BIT(ROOT);
	if (is_read_only("/dev") && each_name("/dev", is_harmless))
		walls |= BIT(DEVICES);
	if (takes_no_module())
		walls |= BIT(MODULES);
	if (each_name("/sys/class/net", is_loopback))
		walls |= BIT(NETWORK);
	if (look_at_process(helper, NET_HELPER_ID) == own)
		walls |= BIT(NET_HELPER);
	return seen ? walls : 0;
}
