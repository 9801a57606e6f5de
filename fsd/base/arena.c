/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies texts into blocks of 32 KiB, one behind the other. A text that is larger gets a
 * block of its own. All blocks are freed together.
 */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"

#define BLOCK_SIZE 32768u

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	char text[];
};

const char *arena_text(struct arena *a, const char *text)
{
	struct arena_block *b = a->block;
	size_t len = strlen(text) + 1, size = MAX(len, (size_t)BLOCK_SIZE);

	if (!b || b->size - b->used < len) {
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct arena_block){ .next = a->block, .size = size };
		a->block = b;
	}
	b->used += len;
	return memcpy(b->text + b->used - len, text, len);
}

void arena_done(struct arena *a)
{
	struct arena_block *b, *next;

	for (b = a->block; b; b = next) {
		next = b->next;
		free(b);
	}
	a->block = NULL;
}
