/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes whose control group belongs to an open lane, from /proc, as lines
 * of bounded length. A process may end while it is read: its line is left out then.
 */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "share.h"
#include "guest/wire/wire_fs.h"

#define COMMAND_MAX 256

static ssize_t read_file(pid_t pid, const char *name, char *to, size_t size)
{
	char path[40];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, to, size);
}

/* Returns the process's arguments separated by spaces, or its name if it has none. */
static void find_command(pid_t pid, char ret[COMMAND_MAX])
{
	ssize_t n = read_file(pid, "cmdline", ret, COMMAND_MAX - 1);

	if (n <= 0)
		n = read_file(pid, "comm", ret, COMMAND_MAX - 1);
	n = n < 0 ? 0 : n;
	while (n && (!ret[n - 1] || ret[n - 1] == '\n'))
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (ret[i] < ' ' || ret[i] > '~')
			ret[i] = ret[i] ? '?' : ' ';
	ret[n] = '\0';
}

static bool is_dead(pid_t pid)
{
	char text[256];
	ssize_t n = read_file(pid, "stat", text, sizeof(text) - 1);
	const char *end;

	if (n <= 0)
		return true;
	text[n] = '\0';
	end = strrchr(text, ')');
	return !end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X';
}

static size_t lane_of(unsigned serial, const unsigned *serials, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (serials[i] == serial)
			return i;
	return 0;
}

/* Puts the line of one process. Return: whether the space is used up. */
static bool put_one(struct wire_writer *out, size_t end, pid_t pid,
		    const unsigned *serials, size_t count)
{
	unsigned serial = share_serial_of(pid);
	char command[COMMAND_MAX], line[COMMAND_MAX + 32];
	int n;

	if (!serial || is_dead(pid))
		return false;
	find_command(pid, command);
	n = snprintf(line, sizeof(line), "%d %zu %s\n", (int)pid,
		     lane_of(serial, serials, count), command);
	if (out->used + (size_t)n > end)
		return true;
	wire_put_bytes(out, line, (size_t)n);
	return false;
}

/* Lists /proc, whose order is by number. */
int processes_put(struct wire_writer *out, const unsigned *serials,
		  size_t count)
{
	size_t end = out->used + WIRE_FS_CHUNK;
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid > 1 && put_one(out, end, (pid_t)pid, serials, count))
			break;
	}
	closedir(dir);
	return 0;
}
