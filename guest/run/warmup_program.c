/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program inside init. The EXEC runner calls it in place of execve() if its
 * message names RUNNER_WARMUP_PROGRAM (child.c); only heat.c sends that. Runs in the
 * runner's process.
 */
#include "warmup_program.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/runners/hold.h"

#define THREADS 2
#define PAGE 4096u
#define AREAS (1024u << 10)
#define MEMORY (288u << 10) /* a control group is charged for 256 KiB at once */

static uint32_t word;

/* Sleeps as an idle thread of a pool does. */
static void *wait_for_ever(void *unused)
{
	(void)unused;
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return NULL;
}

/* Uses an event loop's descriptors: makes them, waits once, and leaves them for
 * the kernel to close. */
static void turn_events(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int loop = epoll_create1(EPOLL_CLOEXEC), event = eventfd(1, 0);

	epoll_ctl(loop, EPOLL_CTL_ADD, event, &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, STDIN_FILENO, &e);
	epoll_wait(loop, &e, 1, 0);
}

/* Uses more memory areas than the kernel has in reserve. Every second page has
 * another protection, so that no two areas can be merged. */
static void use_memory(void)
{
	char *memory = mmap(NULL, AREAS, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	memset(memory, 1, MEMORY);
	for (unsigned at = 0; at < AREAS; at += 2 * PAGE)
		mprotect(memory + at, PAGE, PROT_READ);
}

_Noreturn void warmup_program_run(void)
{
	pthread_t thread;
	struct stat st;

	stat("/usr/lib/there/is/none", &st);
	turn_events();
	use_memory();
	hold_memory(0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, wait_for_ever, NULL);
	if (write(STDOUT_FILENO, "1\n", 2) == 2)
		_exit(0);
	_exit(1);
}
