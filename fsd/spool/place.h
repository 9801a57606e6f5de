/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of a spool.
 *
 *   DIR/new               entries that users drop
 *   DIR/tmp               where users prepare them
 *   DIR/run/INSTANCE/ID   claims of one instance
 *   DIR/done, DIR/failed  results
 *   DIR/status
 */
#ifndef FSD_SPOOL_PLACE_H
#define FSD_SPOOL_PLACE_H

#include "spool.h"
#include "layout/layout.h"

#define INSTANCE_MOST 64
/* Length of a prefix such as "1a2b3c4d-", with which the IDs of this instance's claims
 * begin. */
#define PLACE_PREFIX 9

struct place {
	const char *path; /* path of DIR, for sentences */
	char instance[INSTANCE_MOST + 1];
	int dir, new, run, done, failed; /* owned */
	int mine;         /* owned: run/INSTANCE */
	int lock;         /* owned: no other process is this instance on this host */
	char prefix[PLACE_PREFIX + 1];
	mode_t mask;      /* mode bits of published results */
};
#define PLACE_NONE                                                            \
	{ .dir = -1, .new = -1, .run = -1, .done = -1, .failed = -1,          \
	  .mine = -1, .lock = -1 }

/* Makes missing directories, and opens all. Return: 0; -EBUSY: another process is this
 * instance; or negative errno. Call place_close() in each case. */
int place_open(struct place *p, const struct spool_options *o, struct err *err);
/* Takes the lock and reads or makes the prefix. */
int place_lock(struct place *p, struct err *err);
void place_close(struct place *p);

/* True if DIR has less free space than results need. */
bool place_is_low(const struct place *p);

/* True for the name of a claim's directory in run/INSTANCE. */
bool place_is_claim(const char *name);
/* True if any instance has the claim. */
bool place_has_claim(const struct place *p, const char *id);
/* Moves the claims of a dead instance to run/INSTANCE. Return: how many; -EBUSY: its
 * process lives on this host; or negative errno. */
int place_take_over(const struct place *p, const char *from, struct err *err);

#endif
