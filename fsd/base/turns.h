/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on the loop that may be long, in turns of 2 ms: between any two of them,
 * whosever they are, all others are served. What is short is over at once.
 */
#ifndef FSD_TURNS_H
#define FSD_TURNS_H

#include "vm/os/loop.h"

struct turns {
	struct loop *loop;
	struct list waiting; /* of struct turn, the next one first */
	struct loop_call call;
};

/* Embedded; zero it, set work. */
struct turn {
	/* Goes on until it is done or now_ns() has reached until.
	 * Return: true if there is more; else t may be gone. */
	bool (*work)(struct turn *t, uint64_t until);
	struct list node;
};

void turns_init(struct turns *turns, struct loop *loop);
/* Works now, and later if that was not enough. */
void turn_begin(struct turns *turns, struct turn *t);
void turn_later(struct turns *turns, struct turn *t); /* works later only */
void turn_stop(struct turn *t); /* no-op if it is not waiting */
/* Does all that is left. */
void turns_finish(struct turns *turns);

#endif
