/* SPDX-License-Identifier: Apache-2.0 */
/* Many short texts that live and go together. */
#ifndef FSD_ARENA_H
#define FSD_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed, it is empty. */
struct arena {
	struct arena_block *block; /* owned */
};

/* A copy of text that stays where it is, or NULL without memory. */
const char *arena_text(struct arena *a, const char *text);
void arena_done(struct arena *a);

#endif
