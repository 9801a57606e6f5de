/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds environments for jobs whose "packages" no environment has. Such a job
 * waits here and keeps a place in the scheduler's queue, but no machine. One
 * environment is built at a time, by a program that is started with the server,
 * since the server itself may start no process later; users take turns. A
 * failed build is not tried again for ten minutes. A built environment is only
 * for the user who asked for it, and its bytes count for that user. All
 * functions run on the loop.
 */
#ifndef FSD_BUILDS_H
#define FSD_BUILDS_H

#include "fsd/fsd.h"
#include "fsd/sched/sched.h"

struct build;
struct build_wait;

struct build_wait_ops {
	/* Tells the job in a sentence what it waits for, and how far the build is. */
	void (*tell)(struct build_wait *w, const char *sentence);
	/* Called when the wait is over. why NULL: the environment exists; else a sentence
	 * for `error`: it cannot be built. */
	void (*done)(struct build_wait *w, const char *why);
};

/* A job that waits for a build. Embedded; zeroed except ops. */
struct build_wait {
	const struct build_wait_ops *ops;
	struct list node; /* link in the list `waits` of the build */
	struct build *build; /* borrowed; NULL: does not wait */
	struct builds *builds; /* borrowed, during the wait */
	struct sched_place place;
};

/* The arguments of the program that builds; borrowed. */
struct builds_options {
	const char *image_dir;
	const char *environments_dir; /* NULL: the usual directories */
	const char *sources; /* NULL: from the registries */
};

/*
 * Starts the program that builds; call it before the server gives up its
 * rights. Return: 0, or a negative errno with a sentence. If it is not called
 * d->builds stays NULL, and no environment is built.
 */
int builds_open(struct fsd *d, const struct builds_options *options,
		struct err *err);
/* Frees the builds, after all waits have ended. The program ends with its
 * present build. */
void builds_close(struct fsd *d);
/*
 * Begins a wait of w if the config of a job of uid needs a build. Then done()
 * follows. bs may be NULL. Return: 1: w waits; 0: no build is needed; or a
 * negative errno with a sentence: an earlier build has failed, the user's quota
 * has no bytes left, or there is no memory.
 */
int builds_take(struct builds *bs, uid_t uid, const struct job_config *config,
		struct build_wait *w, struct err *err);
/* Makes w wait for a build that other jobs already wait for. */
void builds_join(struct builds *bs, struct build *build, struct build_wait *w,
		 uid_t uid);
/* Calls tell() with what w waits for. Does nothing if w does not wait. */
void builds_tell(struct builds *bs, struct build_wait *w);
/* Ends the wait of w. Does nothing if w does not wait. */
void builds_leave(struct build_wait *w);
/* Returns the first waiting job for which fn is true, or NULL. */
struct build_wait *builds_find(struct builds *bs,
			       bool (*fn)(struct build_wait *w,
					  const void *arg),
			       const void *arg);

#endif
