/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short texts that are allocated one by one and freed together. Each arena
 * is used by one thread at a time.
 */
#ifndef FSD_ARENA_H
#define FSD_ARENA_H

#include <stddef.h>

struct arena_block;

/* A zeroed struct is empty. */
struct arena {
	struct arena_block *block; /* owned */
};

/* Copies text; the copy stays valid until arena_done(). NULL without memory. */
const char *arena_text(struct arena *a, const char *text);
void arena_done(struct arena *a);

#endif
