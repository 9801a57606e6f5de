/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks a process with all its threads. fork(2) copies all of the memory, but
 * only the calling thread. So each other thread first waits in a signal
 * handler, where it has saved its registers. In the child a new thread is
 * started for each, on the same stack and with the same thread-local storage,
 * and continues there. For the C library it is the same thread: pthread_t,
 * locks and waits are unchanged. Only thread ids differ; an emulated machine
 * does not use them.
 *
 * Checkpointers such as DMTCP do the same from within a process.
 */
#ifndef VM_ZYGOTE_THREADS_H
#define VM_ZYGOTE_THREADS_H

#include <signal.h>
#include <stdbool.h>

/* No thread may block it; see preload.c. */
#define THREADS_SIGNAL (SIGRTMAX - 4)

/* Adds the calling thread to those that threads_stop() stops. */
void threads_join(void);
/* Removes the calling thread, which ends. */
void threads_leave(void);
/* +1: a thread is about to be created and will call threads_join(); -1: its
 * creation failed. */
void threads_expect(int how_many);

/*
 * Stops all threads that have joined, for ever; the caller must not be one.
 * Idempotent. Return: 0, -ETIMEDOUT (a thread does not stop), -ENOBUFS (too
 * many threads).
 */
int threads_stop(void);
/* Restarts all of them; call it in a forked machine, once. Return: 0 or
 * negative errno. */
int threads_go_on(void);

#endif
