/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one byte of each page that fork() has made copy-on-write, so that no job pays for
 * the fault: in PID 1 itself, and in a runner, which is stopped meanwhile.
 */
#include "unprotect.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define PAGE 4096u
#define BATCH 64u
#define PAGEMAP_PRESENT (1ull << 63)

/* Reads and writes one byte of each of count pages of pid. */
static void rewrite(pid_t pid, const uint64_t *pages, size_t count)
{
	struct iovec remote[BATCH], local;
	char bytes[BATCH];

	for (size_t i = 0; i < count; i++)
		remote[i] = (struct iovec){(void *)(uintptr_t)pages[i], 1};
	local = (struct iovec){bytes, count};
	if (process_vm_readv(pid, &local, 1, remote, count, 0) ==
	    (ssize_t)count)
		process_vm_writev(pid, &local, 1, remote, count, 0);
}

/* Adds 0 to a byte of each page, atomically, so that no change in between is
 * lost. */
static void touch(const uint64_t *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_fetch_add((char *)(uintptr_t)pages[i], 0,
				   __ATOMIC_RELAXED);
}

/* Rewrites a range. all: also pages that are not present. pid 0: the caller. */
static void unprotect_range(pid_t pid, int pagemap, uint64_t from, uint64_t to,
			    bool all)
{
	uint64_t entries[BATCH], pages[BATCH];

	while (from < to) {
		size_t want = MIN((to - from) / PAGE, (uint64_t)BATCH);
		ssize_t n = pread(pagemap, entries, want * 8,
				  (off_t)(from / PAGE * 8));
		size_t count = 0;

		if (n < (ssize_t)(want * 8))
			return;
		for (size_t i = 0; i < want; i++)
			if (all || entries[i] & PAGEMAP_PRESENT)
				pages[count++] = from + i * PAGE;
		if (count && pid)
			rewrite(pid, pages, count);
		else
			touch(pages, count);
		from += want * PAGE;
	}
}

static void settle(pid_t pid, const char *process)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%s/pagemap", process);
	auto_close int pagemap = open(path, O_RDONLY | O_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/%s/maps", process);
	auto_fclose FILE *maps = fopen(path, "re");

	if (pagemap < 0 || !maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t from, to;
		char mode[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to,
			   mode) == 3 &&
		    mode[0] == 'r' && mode[1] == 'w' && mode[3] == 'p')
			unprotect_range(pid, pagemap, from, to,
					strchr(line, '/') != NULL);
	}
}

/* Stops the child. Return: whether all of its threads stand still. */
static bool stop(pid_t pid)
{
	siginfo_t info;

	/* WNOWAIT: if the child ends instead, agent_reap() must still find it. */
	return kill(pid, SIGSTOP) == 0 &&
	       waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
	       info.si_code == CLD_STOPPED;
}

void unprotect_memory(pid_t pid)
{
	char process[16];

	snprintf(process, sizeof(process), "%d", pid);
	/* Node's other threads collect garbage and compile while it waits. If one
	 * of them wrote between our read and our write, its write would be lost. */
	if (stop(pid))
		settle(pid, process);
	kill(pid, SIGCONT);
}

void unprotect_self(void)
{
	settle(0, "self");
}
