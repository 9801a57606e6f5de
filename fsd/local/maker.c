/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a process for other hosts. A pid means something in one pid namespace and during
 * one start of the kernel, so both are in the text. All processes of an earlier start of
 * the same host have ended. A host is known by its machine-id and its name together,
 * since copies of a machine share the first and containers the second.
 */
#include "maker.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "layout/layout.h"

#define DIGITS 16 /* of the text that identifies a host or a boot */

struct maker {
	char host[DIGITS + 1]; /* "0": not known */
	char boot[DIGITS + 1];
	unsigned long long pids; /* the pid namespace */
	unsigned long long pid, start;
};

/* A small file's first line. Return: false: it cannot be read, or is empty. */
static bool read_line(const char *path, char *room, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, size - 1);

	room[MAX(n, 0)] = '\0';
	room[strcspn(room, "\n")] = '\0';
	return room[0];
}

static uint64_t sum(uint64_t so_far, const char *text)
{
	for (; *text; text++) /* the hash function FNV-1a */
		so_far = (so_far ^ (unsigned char)*text) * 0x100000001b3;
	return so_far;
}

static void find_host(char ret[DIGITS + 1])
{
	char id[64];
	struct utsname name;
	uint64_t n = 0xcbf29ce484222325;

	snprintf(ret, DIGITS + 1, "0");
	if (read_line("/etc/machine-id", id, sizeof(id)) && uname(&name) == 0)
		snprintf(ret, DIGITS + 1, "%016llx",
			 (unsigned long long)sum(sum(n, id), name.nodename));
}

/* The first digits of the kernel's random id. */
static bool find_boot(char ret[DIGITS + 1])
{
	char id[64];
	size_t len = 0;

	if (!read_line("/proc/sys/kernel/random/boot_id", id, sizeof(id)))
		return false;
	for (const char *p = id; *p && len < DIGITS; p++)
		if (isxdigit((unsigned char)*p))
			ret[len++] = *p;
	ret[len] = '\0';
	return len == DIGITS;
}

static bool find_pids(unsigned long long *ret)
{
	char text[64];
	ssize_t n = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);

	text[MAX(n, 0)] = '\0';
	return sscanf(text, "pid:[%llu]", ret) == 1;
}

/* Return: when a process started, in ticks of its kernel; 0: it does not exist. */
static unsigned long long start_of(unsigned long long pid)
{
	char path[64], text[1024], *at;
	int column = 2; /* counted from behind the name, which may contain blanks and
			 * brackets */

	snprintf(path, sizeof(path), "/proc/%llu/stat", pid);
	at = read_line(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	while (at && ++column <= 22)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static int find_self(struct maker *ret)
{
	find_host(ret->host);
	ret->pid = (unsigned long long)getpid();
	ret->start = start_of(ret->pid);
	return find_boot(ret->boot) && find_pids(&ret->pids) && ret->start ? 0 : -ENOENT;
}

int maker_text(char ret[MAKER_TEXT])
{
	struct maker m;
	int r = find_self(&m);

	snprintf(ret, MAKER_TEXT, "-%s-%s-%llu-%llu-%llu", m.host, m.boot, m.pids, m.pid,
		 m.start);
	return r;
}

bool maker_has_ended(const char *text)
{
	struct maker m, self;
	int end = 0;

	if (sscanf(text, "-%16[0-9a-f]-%16[0-9a-f]-%llu-%llu-%llu%n", m.host, m.boot,
		   &m.pids, &m.pid, &m.start, &end) != 5 || text[end] ||
	    find_self(&self) < 0)
		return false;
	if (strcmp(m.boot, self.boot) != 0)
		return strcmp(m.host, "0") != 0 && !strcmp(m.host, self.host);
	return m.pids == self.pids && start_of(m.pid) != m.start;
}
