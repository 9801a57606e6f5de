/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library that a zygote's QEMU loads (LD_PRELOAD). Such a QEMU is restored
 * and heated like any machine. Then it is forked: the forks are machines that
 * are hot already, for the price of a fork. The library replaces a few
 * functions of the C library, to record QEMU's threads (threads.h) and
 * descriptors (own_fds.h); orders.h has the jailer's orders.
 *
 * Its functions run on any thread of QEMU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "orders.h"
#include "own_fds.h"
#include "threads.h"
#include "wire.h"

#define KERNEL_SIGSET 8 /* bytes */
#define RANDOM_FAILED (-206) /* GNUTLS_E_RANDOM_FAILED */
#define PUBLIC __attribute__((visibility("default")))

static int (*real_create)(pthread_t *, const pthread_attr_t *,
			  void *(*)(void *), void *);
static int (*real_mask)(int, const sigset_t *, sigset_t *);

/* Finds a function. dlsym() returns a data pointer; ISO C has no cast from that
 * to a function pointer. */
static void find(const char *name, void *ret)
{
	*(void **)ret = dlsym(RTLD_NEXT, name);
	if (!*(void **)ret)
		abort();
}

/* --- threads --------------------------------------------------------------------- */

/*
 * Unblocks (true) or blocks the stop signal for the calling thread. The signal is
 * blocked while the thread creates another one, so that the thread is not stopped
 * before the new thread is counted.
 */
static void hear(bool signal)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, THREADS_SIGNAL);
	real_mask(signal ? SIG_UNBLOCK : SIG_BLOCK, &one, NULL);
}

struct start {
	void *(*fn)(void *);
	void *arg;
};

static void on_end(void *arg)
{
	(void)arg;
	threads_leave();
}

static void *begin(void *arg)
{
	struct start start = *(struct start *)arg;
	void *ret;

	free(arg);
	threads_join();
	threads_expect(-1);
	hear(true);
	pthread_cleanup_push(on_end, NULL);
	ret = start.fn(start.arg);
	pthread_cleanup_pop(1);
	return ret;
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	int r;

	if (!start)
		return EAGAIN;
	*start = (struct start){ fn, arg };
	hear(false);
	threads_expect(1);
	r = real_create(thread, attr, begin, start);
	if (r) {
		threads_expect(-1);
		free(start);
	}
	hear(true);
	return r;
}

/* QEMU blocks all signals in its threads, except the main one. The stop signal
 * must not be blocked. */
PUBLIC int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t but;

	if (set && how != SIG_UNBLOCK) {
		but = *set;
		sigdelset(&but, THREADS_SIGNAL);
		set = &but;
	}
	return real_mask(how, set, old);
}

PUBLIC int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int r = pthread_sigmask(how, set, old);

	if (r)
		errno = r;
	return r ? -1 : 0;
}

/* --- what fork(2) shares, or does not copy ------------------------------ */

/* Ignores MADV_DONTFORK: a forked machine needs the guest's memory. */
PUBLIC int madvise(void *at, size_t length, int advice)
{
	return advice == MADV_DONTFORK ?
		       0 : (int)syscall(SYS_madvise, at, length, advice);
}

PUBLIC int eventfd(unsigned count, int flags)
{
	int fd = (int)syscall(SYS_eventfd2, count, flags);

	own_fds_event(fd);
	return fd;
}

PUBLIC int signalfd(int fd, const sigset_t *mask, int flags)
{
	fd = (int)syscall(SYS_signalfd4, fd, mask, KERNEL_SIGSET, flags);
	own_fds_signal(fd, mask);
	return fd;
}

PUBLIC int epoll_create1(int flags)
{
	int fd = (int)syscall(SYS_epoll_create1, flags);

	own_fds_poll(fd);
	return fd;
}

/*
 * Replaces gnutls's generator of random numbers, which the guest's RDRAND uses. gnutls
 * keeps a state and notices a fork only if the C library's fork() is used, so all
 * forks would draw the same numbers. The kernel's numbers never repeat. Declared as in
 * <gnutls/crypto.h>.
 */
PUBLIC int gnutls_rnd(int level, void *data, size_t length);
PUBLIC int gnutls_rnd(int level, void *data, size_t length)
{
	(void)level;
	for (size_t done = 0; done < length;) {
		ssize_t n = getrandom((char *)data + done, length - done, 0);

		if (n < 0 && errno != EINTR)
			return RANDOM_FAILED;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* --- start -------------------------------------------------------------- */

__attribute__((constructor)) static void load(void)
{
	find("pthread_create", &real_create);
	find("pthread_sigmask", &real_mask);
	prctl(PR_SET_NAME, ZYGOTE_NAME);
	threads_join();
	orders_begin(real_create);
}
