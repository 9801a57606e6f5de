/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns from a runner whether it runs the program itself. A Python runner that
 * gives the job to a fresh interpreter says why on its control socket, before
 * that one starts: "C", a letter, a name, NUL. The letters:
 *
 *   A   JOB asked for a fresh one; no name
 *   E   a variable that is obeyed at the start
 *   F   an input that would be found in a module's place
 *
 * A program of a session may find the socket and lie. It gains nothing: what it
 * says is checked, and is shown in its own result only.
 */
#ifndef GUEST_BEGUN_H
#define GUEST_BEGUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/wire/wire.h"

struct begun {
	uint32_t how; /* enum wire_begun */
	char by[WIRE_BEGUN_BY_MAX + 1];
	bool coming;  /* C has come, its NUL has not */
	uint32_t next; /* what the letter says; WIRE_BEGUN_MAX before it */
	size_t length;
};

/* Takes one byte. Return: true if it is part of such a text. */
bool begun_hear(struct begun *b, uint8_t said);
/* Takes all that waits on a script's control socket. */
void begun_hear_all(struct begun *b, int control);

#endif
