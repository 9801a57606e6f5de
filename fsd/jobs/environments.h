/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that a job's config names: checks that it exists, that it fits the
 * image, and that the job has enough memory for it. With "packages" in the config: finds
 * an environment that has all of them. The directory of environments may change at any
 * time, so fsd remembers only which packages an environment has.
 */
#ifndef FSD_ENVIRONMENTS_H
#define FSD_ENVIRONMENTS_H

#include "fsd/fsd.h"
#include "vm/environment/environment.h"

struct environments; /* the image, the index of packages, the first templates */

/* Facts about the image of all machines. vm/ verifies the image before it makes
 * machines. */
struct image_about {
	char id[16]; /* first characters of the environment's id; "": unknown */
	char abi[ENVIRONMENT_ABI_MAX]; /* "": unknown */
	char *packages; /* owned: lines "name version"; or NULL */
};

/* The operator's options. */
struct environment_options {
	struct environment_places places;
	const char *asked; /* the directory of --environments; NULL: the usual ones */
	const char *name;  /* name of the default environment; NULL: base */
	const char *warm;  /* names with commas: their templates are made first; or NULL */
};

/*
 * Makes the context of environments, with its index of packages. Without memory for the
 * index, jobs with "packages" are refused, and the error says so. options: borrowed until
 * environments_free(). image: the context becomes the owner of its `packages`, also on
 * failure. Return: 0 or -ENOMEM.
 */
int environments_new(const struct environment_options *options,
		     const struct image_about *image, struct environments **ret);
void environments_free(struct environments *all); /* NULL is fine */
/* Borrowed. */
const struct image_about *environments_image(const struct environments *all);
/* Return: the directories that belong to no user. Borrowed. */
const struct environment_places *environments_places(const struct environments *all);
/* As soon as the loop runs, makes the templates that options.warm names. */
void environments_warm(struct fsd *d);

/*
 * Opens the environment for a job of uid, on any thread. Environments that were built for
 * other users are not found. *ret is owned by the caller; NULL: base. Return: 0; -EINVAL
 * with a sentence that begins with "config.json: "; -ENOMEM, -EMFILE and others: a later
 * attempt may succeed.
 */
int environments_open(const struct fsd *d, uid_t uid,
		      const struct job_config *config,
		      struct environment **ret, struct err *err);
/* Like environments_open(), but only checks the environment. If the config gives no
 * memory_mb, sets it to what the environment needs, if that is more than the default. */
int environments_check(const struct fsd *d, uid_t uid,
		       struct job_config *config, struct err *err);
/* Return: the smallest memory_mb with which a job can run in e. */
uint64_t environments_least_mb(const struct environment *e);
/* Return: true if e is the environment that spec names. spec NULL: the operator's
 * default. */
bool environments_is(const struct fsd *d, const struct environment *e,
		     const char *spec);
/* Return: true if no environment has the config's packages, and one may be built: *ret
 * gets the words for the build (environment_catalog_lacks()). On any thread. */
bool environments_lack(const struct fsd *d, uid_t uid,
		       const struct job_config *config, struct buf *ret);
/* The callback environment() of struct vm_watch: opens the environment that spec
 * names. */
int environments_on_find(void *arg, const char *spec,
			 struct environment **ret);
/* Return: true if e (NULL: base) has all packages of the config. */
bool environments_has(const struct fsd *d, uid_t uid,
		      const struct environment *e,
		      const struct job_config *config);
/* Return: the environment's name for messages. */
const char *environments_name(const struct environment *e);

#endif
