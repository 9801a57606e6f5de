/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long work on the loop, in slices of 2 ms: between any two slices the loop
 * handles everything else. Short work ends in its first slice.
 */
#ifndef FSD_TIME_SLICE_H
#define FSD_TIME_SLICE_H

#include "vm/os/loop.h"

struct time_slices {
	struct loop *loop;
	struct list waiting; /* of struct time_slice; the first one gets the next slice */
	struct loop_call call;
};

/* Work to do. Embedded in its owner; zero it and set `work`. */
struct time_slice {
	/* Works until the work is done or now_ns() has reached `until`. Return: true if
	 * there is more to do; if false, t may be freed already. */
	bool (*work)(struct time_slice *t, uint64_t until);
	struct list node;
};

void time_slices_init(struct time_slices *slices, struct loop *loop);
/* Works now, and later if that was not enough. */
void time_slice_begin(struct time_slices *slices, struct time_slice *t);
void time_slice_later(struct time_slices *slices, struct time_slice *t); /* works later only */
void time_slice_stop(struct time_slice *t); /* Does nothing if t does not wait. */
/* Runs all slices to their end, without returning to the loop. */
void time_slices_finish(struct time_slices *slices);

#endif
