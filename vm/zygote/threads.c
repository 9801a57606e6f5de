/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops all threads of QEMU in a signal handler, and recreates them in a child. The
 * table `threads` has a slot per thread: its registers, stack, thread-local storage.
 *
 * threads_join() and threads_leave() run on QEMU's threads, threads_stop() on the
 * zygote's own, and threads_go_on() in the child. on_signal() may interrupt a thread
 * with any lock taken, so it makes system calls only.
 */
#include "threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 512
#define STOP_MS 2000
/* Bytes below a frame that its function may use without moving the stack
 * pointer. */
#define RED_ZONE 256

enum thread_state {
	FREE, RUNNING, STOPPED,
	LEAVING, /* the thread may hold locks of the C library until it has ended */
};

struct thread {
	int state; /* enum thread_state, atomic */
	pid_t tid;
	jmp_buf place; /* the thread's registers in the handler */
	char *stack; /* lowest address of the thread's stack in use */
	/* address of the thread's thread-local storage: the FS register */
	void *storage;
	/* the kernel clears it at the thread's end, for pthread_join() */
	pid_t *word;
};

static struct thread threads[THREADS_MAX];
static __thread struct thread *self;
/* threads that were created and have not joined yet; atomic */
static int expected;
static int overflow; /* a thread found no free slot; atomic */
static int go_on; /* futex; 1 in a forked machine */
static int stopped; /* futex; counts the stopped threads */

static long futex(int *word, int op, int value, const struct timespec *limit)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, limit,
		       NULL, 0);
}

static int load(int *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* --- joining and leaving ------------------------------------------------ */

void threads_expect(int how_many)
{
	__atomic_add_fetch(&expected, how_many, __ATOMIC_SEQ_CST);
}

static bool is_gone(pid_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

/* Frees the slots of threads that have ended since threads_leave(). */
static void forget_gone(void)
{
	for (size_t i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &threads[i];
		int leaving = LEAVING;

		if (load(&t->state) == LEAVING && is_gone(load(&t->tid)))
			__atomic_compare_exchange_n(&t->state, &leaving, FREE,
						    false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
	}
}

void threads_join(void)
{
	forget_gone();
	for (size_t i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &threads[i];
		int none = FREE;

		self = t;
		if (__atomic_compare_exchange_n(&t->state, &none, RUNNING,
						false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST)) {
			__atomic_store_n(&t->tid, (pid_t)syscall(SYS_gettid),
					 __ATOMIC_SEQ_CST);
			return;
		}
	}
	self = NULL;
	__atomic_store_n(&overflow, 1, __ATOMIC_SEQ_CST);
}

void threads_leave(void)
{
	struct thread *t = self;

	self = NULL;
	if (t)
		__atomic_store_n(&t->state, LEAVING, __ATOMIC_SEQ_CST);
}

/* --- stopping ----------------------------------------------------------- */

/* Each thread waits here; the kernel has put its state onto its stack. Only
 * system calls are made: the interrupted thread may hold any lock. */
static void on_signal(int sig)
{
	int saved = errno;
	struct thread *t = self;

	(void)sig;
	if (!t || load(&t->state) != RUNNING)
		return;
	/* the end of this frame, to which longjmp() returns */
	__asm__ volatile("mov %%rsp, %0" : "=r"(t->stack));
	t->storage = __builtin_thread_pointer();
	/* If the kernel lacks this call, a pthread_join() of this thread never returns. */
	if (syscall(SYS_prctl, PR_GET_TID_ADDRESS, &t->word, 0, 0, 0) < 0)
		t->word = NULL;
	if (_setjmp(t->place) == 0) {
		__atomic_store_n(&t->state, STOPPED, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
		futex(&stopped, FUTEX_WAKE, 1, NULL);
		while (!load(&go_on))
			futex(&go_on, FUTEX_WAIT, 0, NULL);
	}
	errno = saved;
}

static int listen_to_signal(void)
{
	struct sigaction how = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};

	sigfillset(&how.sa_mask);
	return sigaction(THREADS_SIGNAL, &how, NULL) < 0 ? -errno : 0;
}

/* Sends the stop signal to the running threads. The caller repeats it, because a thread
 * that is in threads_join() ignores the signal. Return: how many have not stopped yet. */
static unsigned tell_to_stop(void)
{
	unsigned running = 0;

	for (size_t i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &threads[i];

		int state = load(&t->state);

		running += state == RUNNING || state == LEAVING;
		if (state == RUNNING && load(&t->tid))
			syscall(SYS_tgkill, getpid(), t->tid, THREADS_SIGNAL);
	}
	return running;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

int threads_stop(void)
{
	const struct timespec a_moment = { .tv_nsec = 20 * 1000000 };
	uint64_t until = now_ms() + STOP_MS;
	int r = listen_to_signal();

	while (r == 0) {
		int before = load(&stopped);

		if (load(&overflow))
			return -ENOBUFS;
		forget_gone();
		if (!tell_to_stop() && !load(&expected))
			return 0;
		if (now_ms() >= until)
			return -ETIMEDOUT;
		futex(&stopped, FUTEX_WAIT, before, &a_moment);
	}
	return r;
}

/* --- restarting, in a forked machine ------------------------------------ */

static int resume(void *arg)
{
	struct thread *t = arg;

	longjmp(t->place, 1);
}

int threads_go_on(void)
{
	/* The flags of pthread_create(), except those that store the new thread id: locks
	 * name their owner by the old id. */
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
			  CLONE_CHILD_CLEARTID;

	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < THREADS_MAX; i++) {
		struct thread *t = &threads[i];
		uintptr_t stack = (uintptr_t)t->stack - RED_ZONE;

		if (load(&t->state) != STOPPED)
			continue;
		t->state = RUNNING;
		if (clone(resume, (void *)(stack & ~(uintptr_t)15), flags, t,
			  NULL, t->storage, t->word) < 0)
			return -errno;
	}
	return 0;
}
