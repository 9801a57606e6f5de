/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a process that is to be forked whole. fork(2) copies all of
 * its memory, and of its threads only the caller. So each of the others waits
 * in a signal handler, at a place of which it has kept the registers; and in
 * the child a new thread is begun for each, on the same stack and with the same
 * thread-local storage, that goes on from there. To the C library it is the
 * same thread: pthread_t, locks and waits are as they were. Only thread ids are
 * other ones; nobody in an emulated machine uses them.
 *
 * The same is done by checkpointers from within a process (DMTCP).
 */
#ifndef VM_ZYGOTE_THREADS_H
#define VM_ZYGOTE_THREADS_H

#include <signal.h>
#include <stdbool.h>

/* Never blocked by anybody; see preload.c. */
#define THREADS_SIGNAL (SIGRTMAX - 4)

/* The caller is one of them from now on. */
void threads_join(void);
/* The caller ends. */
void threads_leave(void);
/* One is about to be created, and joins by itself (+1); it could not (-1). */
void threads_expect(int how_many);

/*
 * Stops all that have joined, for ever; the caller must not be one of them.
 * Idempotent. Return: 0, -ETIMEDOUT (one does not stop), -ENOBUFS (there are
 * too many).
 */
int threads_stop(void);
/* In a child, once: lets all of them go on. Return: 0 or negative errno. */
int threads_go_on(void);

#endif
