/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C for a step of a shell. A child that is forked at the moment of the signal
 * still runs the shell's code: its handler only notes the signal, and the child's
 * program never gets it. So processes that were forked about that time get SIGINT
 * again.
 */
#ifndef GUEST_INTERRUPT_H
#define GUEST_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

struct runner;

struct interrupt {
	uint64_t came; /* when the signal was sent, in ns since boot */
	uint64_t next; /* sys_now() of the next check; 0: none */
	unsigned looks; /* checks still to do */
};

/* Starts the checks; call it when the shell's group got the signal. */
void interrupt_begin(struct interrupt *i);
/* Returns milliseconds until interrupt_check() is due; -1: never. */
int interrupt_due(const struct interrupt *i, uint64_t now);
void interrupt_check(struct interrupt *i, const struct runner *shell);
/* Returns whether a process that started `ticks` after boot was forked about the time
 * of the signal. */
bool interrupt_is_young(const struct interrupt *i, uint64_t ticks);

#endif
