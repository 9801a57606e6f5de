/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that a job's config names: whether there is one, whether it
 * fits the image, and whether the job has memory enough for it. With "packages"
 * it is one that has these besides. The directory of environments may change at
 * any time, so fsd remembers only which packages a set has.
 */
#ifndef FSD_ENVIRONMENTS_H
#define FSD_ENVIRONMENTS_H

#include "fsd/fsd.h"
#include "vm/environment/environment.h"

struct environments; /* the image, the index of packages, the first templates */

/* Facts about the image of all machines. It is verified where machines are made of
 * it. */
struct image_about {
	char id[16]; /* its beginning; or "" */
	char abi[ENVIRONMENT_ABI_MAX]; /* or "": unknown */
	char *packages; /* owned: lines "name version"; or NULL */
};

/* The operator's options. */
struct environment_options {
	struct environment_places places;
	const char *asked; /* the directory of --environments; NULL: the usual ones */
	const char *name;  /* of jobs that name none; NULL: base */
	const char *warm;  /* names with commas: their templates are made first; or NULL */
};

/*
 * Makes the index of packages as well. Without memory for that there is none, and jobs
 * with "packages" are refused for that reason. options: borrowed until
 * environments_free(). image: its packages are taken, also on failure. Return: 0 or
 * -ENOMEM.
 */
int environments_new(const struct environment_options *options,
		     const struct image_about *image, struct environments **ret);
void environments_free(struct environments *all); /* NULL is fine */
/* Borrowed. */
const struct image_about *environments_image(const struct environments *all);
/* Borrowed: the directories, of no user. */
const struct environment_places *environments_places(const struct environments *all);
/* Has the templates made that the options name, once the loop runs. */
void environments_warm(struct fsd *d);

/*
 * Opens it for a job of uid, on any thread: of what was built for users there is only
 * what was for this one. *ret is the caller's; NULL: base. Return: 0, or
 * -EINVAL with a sentence that begins with "config.json: "; -ENOMEM, -EMFILE
 * and the like: another time it may be had.
 */
int environments_open(const struct fsd *d, uid_t uid,
		      const struct job_config *config,
		      struct environment **ret, struct err *err);
/* The same without keeping it. A memory_mb that is a default becomes as large as
 * the environment needs. */
int environments_check(const struct fsd *d, uid_t uid,
		       struct job_config *config, struct err *err);
/* Return: the least memory_mb of a job in e. */
uint64_t environments_least_mb(const struct environment *e);
/* Is it the one that spec names? spec NULL: the operator's default. */
bool environments_is(const struct fsd *d, const struct environment *e,
		     const char *spec);
/* No environment has the packages of the config, and one may be built for it: *ret is
 * what of (environment_catalog_lacks()). On any thread. */
bool environments_lack(const struct fsd *d, uid_t uid,
		       const struct job_config *config, struct buf *ret);
/* struct vm_watch's environment(). */
int environments_on_find(void *arg, const char *spec,
			 struct environment **ret);
/* Is e (NULL: base) what a config with packages asks for, or has it more? */
bool environments_has(const struct fsd *d, uid_t uid,
		      const struct environment *e,
		      const struct job_config *config);
/* For people. */
const char *environments_name(const struct environment *e);

#endif
