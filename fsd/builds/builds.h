/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments that are built because somebody asks for packages that none has. Who
 * waits for one is queued, but not with the scheduler: a place in the queue is kept
 * for it, no machine. One is built at a time, by a program that is started with the
 * server, since the server itself may start none; users take turns. One that failed
 * is not tried again for ten minutes. What is built is for its user alone, and counts
 * as that user's bytes.
 */
#ifndef FSD_BUILDS_H
#define FSD_BUILDS_H

#include "fsd/fsd.h"
#include "fsd/sched/sched.h"

struct build;
struct build_wait;

struct build_wait_ops {
	/* For people: what it waits for, and how far that is. */
	void (*tell)(struct build_wait *w, const char *sentence);
	/* It waits no more. why NULL: it is there; else it cannot be built, a sentence
	 * for "error". */
	void (*done)(struct build_wait *w, const char *why);
};

/* Embedded, zeroed but for ops. */
struct build_wait {
	const struct build_wait_ops *ops;
	struct list node;         /* in the build */
	struct build *build;      /* borrowed; NULL: it waits for none */
	struct builds *builds;    /* borrowed, while it waits */
	struct sched_place place;
};

/* The arguments of the program that builds; borrowed. */
struct builds_options {
	const char *image_dir;
	const char *environments_dir; /* NULL: the usual ones */
	const char *sources;          /* NULL: the registries */
};

/* Starts the program, before the server gives up its rights. Return: 0, or a
 * negative errno with a sentence. Without a call d->builds stays NULL, and no
 * environment is built. */
int builds_open(struct fsd *d, const struct builds_options *options,
		struct err *err);
/* After all who wait have gone. The program ends what it is at. */
void builds_close(struct fsd *d);
/* Has w to wait for a build, of what config of uid asks for? Then done() follows. bs may
 * be NULL. Return: 1, 0, or a negative errno with a sentence: what it needs could not be
 * built. */
int builds_take(struct builds *bs, uid_t uid, const struct job_config *config,
		struct build_wait *w, struct err *err);
/* Waits for one that others wait for. */
void builds_join(struct builds *bs, struct build *build, struct build_wait *w,
		 uid_t uid);
/* Tells it what it waits for. A no-op if it does not wait. */
void builds_tell(struct builds *bs, struct build_wait *w);
/* It goes. A no-op if it does not wait. */
void builds_leave(struct build_wait *w);
/* The first of those that wait for which fn is true, or NULL. */
struct build_wait *builds_find(struct builds *bs,
			       bool (*fn)(struct build_wait *w,
					  const void *arg),
			       const void *arg);

#endif
