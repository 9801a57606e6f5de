/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C for a step of a shell. A child that is forked just then has the signal as
 * the shell it still is, which keeps it for later and waits for the child's program.
 * So children that were forked about that time get it once more.
 */
#ifndef GUEST_INTERRUPT_H
#define GUEST_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

struct runner;

struct interrupt {
	uint64_t came;  /* ns since boot */
	uint64_t next;  /* sys_now() of the next look, or 0 */
	unsigned looks; /* that are left */
};

/* The shell's group has had the signal. */
void interrupt_begin(struct interrupt *i);
/* Milliseconds until interrupt_check() is due; -1: never. */
int interrupt_due(const struct interrupt *i, uint64_t now);
void interrupt_check(struct interrupt *i, const struct runner *shell);
/* Was a process that began so many ticks after boot forked about that time? */
bool interrupt_is_young(const struct interrupt *i, uint64_t ticks);

#endif
