/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "sys.h"

#define STATUS_MAX 4096
#define BIT(wall) (1u << WIRE_WALL_##wall)

/* --- of one process ------------------------------------------------------- */

/* The rest of the line "name:...", or "" when there is none. */
static const char *line_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, name);
	return at ? at + strlen(name) : "";
}

static bool line_is(const char *text, const char *name, unsigned value)
{
	unsigned found;

	return sscanf(line_of(text, name), "%u", &found) == 1 &&
	       found == value;
}

/* real, effective, saved, of files */
static bool all_are_user(const char *ids)
{
	unsigned id[4];

	if (sscanf(ids, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(id); i++)
		if (id[i] != USER_ID)
			return false;
	return true;
}

static bool has_capability(const char *text)
{
	static const char *const sets[] = {
		"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *line = line_of(text, sets[i]);
		char *end;

		if (strtoull(line, &end, 16) || end == line)
			return true;
	}
	return false;
}

uint32_t look_at_status(const char *text)
{
	const char *groups = line_of(text, "Groups:");
	uint32_t walls = 0;

	groups += strspn(groups, " \t");
	if (all_are_user(line_of(text, "Uid:")) &&
	    all_are_user(line_of(text, "Gid:")) && *groups == '\n')
		walls |= BIT(USER);
	if (!has_capability(text) && line_is(text, "NoNewPrivs:", 1))
		walls |= BIT(CAPS);
	if (line_is(text, "Seccomp:", 2))
		walls |= BIT(FILTER);
	return walls;
}

static uint32_t look_at_process(pid_t pid)
{
	char path[40], text[STATUS_MAX];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sys_get(fd, text, sizeof(text)) < 0)
		return 0;
	return look_at_status(text);
}

/* --- of the machine ------------------------------------------------------- */

static bool is_read_only(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && fs.f_flag & ST_RDONLY;
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

/* No disk, no console, no port of the wire's. */
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

/* Also where the kernel has no modules at all. */
static bool takes_no_module(void)
{
	char value[8];

	return sys_read_line("/proc/sys/kernel/modules_disabled", value,
			     sizeof(value)) < 0 || !strcmp(value, "1");
}

uint32_t look_at_walls(const struct runner *runners, size_t count)
{
	uint32_t walls = BIT(USER) | BIT(CAPS) | BIT(FILTER);

	for (size_t i = 0; i < count; i++)
		walls &= look_at_process(runners[i].pid);
	if (is_read_only("/"))
		walls |= BIT(ROOT);
	if (is_read_only("/dev") && each_name("/dev", is_harmless))
		walls |= BIT(DEVICES);
	if (takes_no_module())
		walls |= BIT(MODULES);
	if (each_name("/sys/class/net", is_loopback))
		walls |= BIT(NETWORK);
	return count ? walls : 0;
}
