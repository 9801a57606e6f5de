/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends SIGINT again to processes of a shell's control group that were forked about the
 * time of the first one. It looks a few times, at growing distances; job.c calls each
 * look when it is due.
 */
#include "interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "runner.h"
#include "guest/os/sys.h"

#define NS_PER_MS 1000000ull
#define NS_PER_TICK 10000000ull /* a tick of /proc: USER_HZ */
#define LOOKS 5 /* checks; each after twice the time of the last one */
#define LOOK_MS 40 /* milliseconds until the first check */
#define BEFORE_MS 200 /* most time that a fork may take on a busy host */
#define AFTER_MS 500 /* most time until a later fork can start */

static uint64_t since_boot(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void interrupt_begin(struct interrupt *i)
{
	*i = (struct interrupt){.came = since_boot(), .looks = LOOKS,
				.next = sys_now() + LOOK_MS * NS_PER_MS};
}

int interrupt_due(const struct interrupt *i, uint64_t now)
{
	if (!i->next)
		return -1;
	return i->next <= now ? 0 : (int)((i->next - now) / NS_PER_MS) + 1;
}

bool interrupt_is_young(const struct interrupt *i, uint64_t ticks)
{
	uint64_t began = ticks * NS_PER_TICK;

	return began + NS_PER_TICK + BEFORE_MS * NS_PER_MS > i->came &&
	       began < i->came + AFTER_MS * NS_PER_MS;
}

/* Reads fields of /proc/PID/stat. Return: false: the process is gone. */
static bool find(pid_t pid, long *ret_group, uint64_t *ret_ticks)
{
	char path[40], text[512], *p;
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sys_get(fd, text, sizeof(text)))
		return false;
	p = strrchr(text, ')'); /* fields behind the name, which is field 2 */
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p + 1, ' ');
		if (p && field + 1 == 5)
			*ret_group = strtol(p, NULL, 10);
	}
	*ret_ticks = p ? strtoull(p, NULL, 10) : 0;
	return p;
}

void interrupt_check(struct interrupt *i, const struct runner *shell)
{
	char text[4096], *p = text; /* processes beyond this text are ignored */
	uint64_t ticks;
	long group = 0;

	i->looks--;
	i->next = i->looks ? sys_now() + (LOOK_MS * NS_PER_MS
					  << (LOOKS - i->looks)) : 0;
	if (!shell->pid ||
	    sys_get(shell->cgroup.fd[CGROUP_PROCS], text, sizeof(text)))
		return;
	while (*p) {
		pid_t pid = (pid_t)strtol(p, &p, 10);

		p += *p == '\n';
		if (pid > 1 && pid != shell->pid && find(pid, &group, &ticks) &&
		    group == shell->pid && interrupt_is_young(i, ticks))
			kill(pid, SIGINT);
	}
}
