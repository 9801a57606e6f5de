/* SPDX-License-Identifier: Apache-2.0 */
/* A process's memory is settled while one of its threads writes. */
#include "guest/warm/unprotect.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define PAGES 64 /* as many as are written at a time */
#define PAGE 4096
#define TIMES 300

/* Shared memory is not settled. */
struct seen {
	atomic_uint rounds; /* over all the pages */
	atomic_uint undone; /* writes that were */
	uint8_t held[PAGES];
};

struct work {
	volatile uint8_t *page;
	struct seen *seen;
};

static void *write_all_the_time(void *arg)
{
	struct work *w = arg;

	for (;; w->seen->rounds++) {
		for (int i = 0; i < PAGES; i++) {
			volatile uint8_t *at = w->page + i * PAGE;

			w->seen->undone += *at != w->seen->held[i];
			w->seen->held[i] = ++*at;
		}
	}
	return NULL;
}

/* It waits, as a runner does, and its other thread works. */
_Noreturn static void be_runner(struct seen *seen)
{
	struct work w = {mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), seen};
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (w.page == MAP_FAILED ||
	    pthread_create(&thread, NULL, write_all_the_time, &w))
		_exit(1);
	for (;;)
		pause();
}

static void test_writer(void)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	siginfo_t info;
	unsigned before, after;
	pid_t pid;

	if (!ok(seen != MAP_FAILED, "there is shared memory"))
		return;
	pid = fork();
	if (pid == 0)
		be_runner(seen);
	while (!seen->rounds && !waitpid(pid, NULL, WNOHANG))
		;
	for (int i = 0; i < TIMES; i++)
		unprotect_memory(pid);
	before = seen->rounds;
	ok(seen->undone == 0,
	   "nothing that another thread of the process writes is undone (%u were)",
	   seen->undone);
	do
		after = seen->rounds;
	while (after == before && !waitpid(pid, NULL, WNOHANG));
	ok(after != before, "its threads go on");
	kill(pid, SIGKILL);
	is_int(waitid(P_PID, (id_t)pid, &info, WEXITED), 0, "its end is the caller's");
	is_int(info.si_status, SIGKILL, "and is as it was");
}

/* A process that has ended does not hold the caller up, and stays to be reaped. */
static void test_ended(void)
{
	pid_t pid = fork();
	siginfo_t info;
	int status;

	if (pid == 0)
		_exit(7);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	unprotect_memory(pid);
	is_int(waitpid(pid, &status, WNOHANG), pid, "a process that has ended is left");
	is_int(WEXITSTATUS(status), 7, "with its exit code");
}

int main(void)
{
	test_writer();
	test_ended();
	return done_testing();
}
