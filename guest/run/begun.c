/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parser with a few bytes of state for what a runner says on its control socket. The
 * program may write there, so each byte is checked, and the outcome is shown in the
 * job's own result only.
 */
#include "begun.h"

#include <sys/socket.h>

/* A file's name has at most 255 bytes, of which the first ones are reported. */
#define SAID_MAX 300

static uint32_t letter(uint8_t said)
{
	switch (said) {
	case 'A':
		return WIRE_BEGUN_ASKED;
	case 'E':
		return WIRE_BEGUN_ENV;
	case 'F':
		return WIRE_BEGUN_FILE;
	default:
		return WIRE_BEGUN_WARM;
	}
}

/* Handles a complete message. A letter that needs a name and has none is
 * ignored. */
static void finish(struct begun *b)
{
	bool named = b->next == WIRE_BEGUN_ENV || b->next == WIRE_BEGUN_FILE;

	b->coming = false;
	b->by[b->length] = '\0';
	if (named != !!b->length || b->next == WIRE_BEGUN_MAX)
		b->by[0] = '\0';
	else
		b->how = b->next;
}

bool begun_hear(struct begun *b, uint8_t said)
{
	if (!b->coming) {
		if (said != 'C' || b->how != WIRE_BEGUN_WARM)
			return false;
		b->coming = true;
		b->next = WIRE_BEGUN_MAX;
		b->length = 0;
	} else if (!said) {
		finish(b);
	} else if (b->next == WIRE_BEGUN_MAX) {
		b->next = letter(said);
	} else if (b->length < WIRE_BEGUN_BY_MAX) {
		b->by[b->length++] = said < ' ' || said > '~' ? '?'
							      : (char)said;
	}
	return true;
}

void begun_hear_all(struct begun *b, int control)
{
	uint8_t said[SAID_MAX];
	ssize_t n = control < 0 ? 0 : recv(control, said, sizeof(said),
					   MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		begun_hear(b, said[i]);
}
