/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads which pages a QEMU has written, and how much memory it shares with no other
 * process. Reading another user's pagemap takes CAP_SYS_PTRACE.
 *
 * A child of the jailer keeps only that capability and a descriptor of /proc: serve() is
 * its main loop, and jail_pages_begin() forks it. The jailer asks this child by
 * jail_pages_ask() and jail_pages_cost(), and waits at most one second for an answer.
 */
#include "jail_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/os/rights.h"

#define PAGE 4096u
#define ANSWER_MS 1000
#define BATCH 4096u /* entries read at a time */
/* Bits of Documentation/admin-guide/mm/pagemap.rst. */
#define PRESENT (1ull << 63)
#define OF_FILE (1ull << 61) /* the page is of a file or of shared memory */
#define EXCLUSIVE (1ull << 56)

/* Adds a page. Return: whether there is room for more. */
static bool add(struct zygote_pages *p, uint64_t at)
{
	struct zygote_range *last = p->count ? &p->range[p->count - 1] : NULL;

	if (p->pages >= ZYGOTE_PAGES_MAX)
		return false;
	if (last && last->at + last->bytes == at) {
		last->bytes += PAGE;
	} else if (p->count < ZYGOTE_RANGES_MAX) {
		p->range[p->count++] = (struct zygote_range){ at, PAGE };
	} else {
		return false;
	}
	p->pages++;
	return true;
}

/*
 * Adds the pages of one mapping. Return: 0, 1 (no more room) or negative errno.
 */
static int read_range(int pagemap, uint64_t from, uint64_t to,
		      struct zygote_pages *ret)
{
	static uint64_t entries[BATCH];

	while (from < to) {
		size_t want = MIN((to - from) / PAGE, (uint64_t)BATCH);
		ssize_t n = pread(pagemap, entries, want * sizeof(*entries),
				  (off_t)(from / PAGE * sizeof(*entries)));

		if (n < (ssize_t)(want * sizeof(*entries)))
			return n < 0 ? -errno : -EIO;
		for (size_t i = 0; i < want; i++)
			if ((entries[i] & (PRESENT | OF_FILE | EXCLUSIVE)) ==
				    (PRESENT | EXCLUSIVE) &&
			    !add(ret, from + i * PAGE))
				return 1;
		from += want * PAGE;
	}
	return 0;
}

int jail_pages_read(int proc, pid_t pid, struct zygote_pages *ret)
{
	char path[40], line[512];
	int r = 0;

	ret->what = ZYGOTE_PAGES;
	ret->count = ret->pages = 0;
	snprintf(path, sizeof(path), "%d/pagemap", (int)pid);
	auto_close int pagemap = openat(proc, path, O_RDONLY | O_CLOEXEC);

	snprintf(path, sizeof(path), "%d/maps", (int)pid);
	auto_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");

	if (maps)
		fd = -1; /* maps owns it now */
	if (pagemap < 0 || !maps)
		return -errno;
	while (r == 0 && fgets(line, sizeof(line), maps)) {
		uint64_t from, to;
		char mode[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to,
			   mode) == 3 &&
		    mode[1] == 'w' && mode[3] == 'p')
			r = read_range(pagemap, from, to, ret);
	}
	return MIN(r, 0);
}

int jail_pages_read_cost(int proc, pid_t pid, uint32_t *ret_kib)
{
	char path[40], line[128];
	uint32_t kib;

	snprintf(path, sizeof(path), "%d/smaps_rollup", (int)pid);
	auto_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f)
		return -errno;
	fd = -1; /* f owns it now */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Private_Dirty: %" SCNu32 " kB", &kib) != 1)
			continue;
		*ret_kib = kib;
		return 0;
	}
	return ferror(f) ? -errno : -ENODATA;
}

/*
 * The things to read about a process. The answer to PAGES is a struct zygote_pages.
 */
enum what { PAGES, COST };

struct question {
	pid_t pid;
	uint32_t what;
};

struct cost {
	int32_t code; /* 0 or negative errno */
	uint32_t kib;
};

static bool answer_pages(int sock, int proc, pid_t pid)
{
	static struct zygote_pages pages;

	if (jail_pages_read(proc, pid, &pages) < 0)
		pages.what = pages.count = 0;
	return send(sock, &pages, zygote_pages_size(&pages), MSG_NOSIGNAL) > 0;
}

static bool answer_cost(int sock, int proc, pid_t pid)
{
	struct cost cost = {0};

	cost.code = jail_pages_read_cost(proc, pid, &cost.kib);
	return send(sock, &cost, sizeof(cost), MSG_NOSIGNAL) > 0;
}

static _Noreturn void serve(int sock, int proc)
{
	static const unsigned kept[] = {CAP_SYS_PTRACE};
	struct question q;
	bool goes_on = true;

	prctl(PR_SET_NAME, "fsd-pages");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (dup2(sock, 0) < 0 || dup2(proc, 1) < 0 ||
	    syscall(SYS_close_range, 2u, ~0u, 0) < 0 ||
	    rights_keep(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	while (goes_on && recv(0, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		goes_on = q.what == COST ? answer_cost(0, 1, q.pid)
					 : answer_pages(0, 1, q.pid);
	_exit(0);
}

int jail_pages_begin(void)
{
	/* Open it now: the jailer is about to leave this root, and its children
	 * with it. */
	auto_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int pair[2];
	pid_t pid;

	if (proc < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		serve(pair[1], proc);
	close(pair[1]);
	if (pid > 0)
		return pair[0];
	close(pair[0]);
	return -EAGAIN;
}

/* Sends a question and waits for the answer. Return: its bytes, or a negative
 * errno. */
static ssize_t ask(int sock, pid_t pid, enum what what, void *ret, size_t size)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	const struct question q = {.pid = pid, .what = what};
	ssize_t n;

	if (send(sock, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	if (poll(&p, 1, ANSWER_MS) != 1)
		return -ETIMEDOUT;
	n = recv(sock, ret, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

int jail_pages_ask(int sock, pid_t pid, struct zygote_pages *ret)
{
	ssize_t n = ask(sock, pid, PAGES, ret, sizeof(*ret));

	if (n < 0)
		ret->count = 0;
	if (n < 0)
		return (int)n;
	return n > 0 && ret->what == ZYGOTE_PAGES &&
	       ret->count <= ZYGOTE_RANGES_MAX &&
	       n == (ssize_t)zygote_pages_size(ret) ? 0 : -EPROTO;
}

int jail_pages_cost(int sock, pid_t pid, uint32_t *ret_kib)
{
	struct cost cost;
	ssize_t n = ask(sock, pid, COST, &cost, sizeof(cost));

	if (n != (ssize_t)sizeof(cost))
		return n < 0 ? (int)n : -EPROTO;
	*ret_kib = cost.kib;
	return cost.code;
}
