/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a runner whether it runs the program itself. A Python runner that
 * passes the job to a fresh interpreter sends the reason on its control socket
 * before it starts that: "C", a letter, a name, NUL. The letters:
 *
 *   A   JOB asked for a fresh one; no name
 *   E   a variable that is obeyed at the start
 *   F   an input that would be found in a module's place
 *
 * A program of a session may find the socket and lie. It gains nothing: each
 * byte is checked, and is shown in its own result only.
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
	bool coming; /* the letter C has come, and the NUL behind it has not */
	/* meaning of the letter; WIRE_BEGUN_MAX: no letter yet */
	uint32_t next;
	size_t length;
};

/* Takes one byte. Return: true if it belongs to such a message. */
bool begun_hear(struct begun *b, uint8_t said);
/* Reads all waiting bytes of a script's control socket. */
void begun_hear_all(struct begun *b, int control);

#endif
