/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C for a step of a shell. A child that is being forked at that moment
 * gets the signal while it is still the shell, which only notes it and waits
 * for the child's program. So children that were forked at about that time get
 * the signal again.
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
/* Returns whether a process that started at `ticks` after boot was forked at
 * about that time. */
bool interrupt_is_young(const struct interrupt *i, uint64_t ticks);

#endif
