/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of environments: names, "NAME@ID", and the texts that a set has
 * beside its layer. Pure. A set comes from anywhere (fsd env import), so each
 * text is read with bounds, and what is no text of ours is refused.
 */
#ifndef LAYOUT_ENVIRONMENT_H
#define LAYOUT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"

#define ENVIRONMENT_BASE "base" /* what every machine has; it has no set */
#define ENVIRONMENT_NAME_MAX 64
#define ENVIRONMENT_DIGITS_MIN 12 /* of an id behind "@" */
#define ENVIRONMENT_DIGITS_MAX 64
#define ENVIRONMENT_TEXT_MAX (16u << 20) /* bytes of lock, warm, recipe */

/* [a-z][a-z0-9._-]{0,63}, no language's name and not "base": may a set have it?
 * Return: 0, or -EINVAL with a sentence. */
int environment_name_check(const char *name, struct err *err);

/* "p-1c9e30ab.1000" was built for "packages" of user 1000, and is for that user's jobs
 * alone. Return: is it one of those? */
bool environment_name_owner(const char *name, uid_t *ret);
bool environment_name_is_for(const char *name, uid_t uid);

#define ENVIRONMENT_SHOWN_MAX 140
/* What somebody has written as an environment, quoted for a sentence as each value
 * of a config is: escaped and cut. Return: room. */
const char *environment_shown(const char *text, char room[ENVIRONMENT_SHOWN_MAX]);

struct environment_spec {
	char name[ENVIRONMENT_NAME_MAX + 1]; /* "": no name could be it */
	char digits[ENVIRONMENT_DIGITS_MAX + 1]; /* "": any id */
};
/* Reads NAME or NAME@DIGITS. Return: 0, or -EINVAL with a sentence that a key's
 * "config.json: " may stand before. */
int environment_spec_parse(const char *text, struct environment_spec *ret,
			   struct err *err);

/* warm.json, as far as the host needs it. */
struct environment_warm {
	struct buf env;     /* "K=V", a NUL behind each */
	unsigned env_count;
	struct buf at_start; /* "PREFIX_* NAME": variables that ask for a fresh
				interpreter, as in lang.h */
	struct buf modules; /* "numpy, pandas, npm:lodash", for people */
	bool program;       /* it has one to run */
};
/* Return: 0, -EINVAL with a sentence, -ENOMEM. *ret is to be freed always. */
int environment_warm_read(const char *text, size_t len,
			  struct environment_warm *ret, struct err *err);
void environment_warm_done(struct environment_warm *warm);

/* One package of lock.json; borrowed from its text while fn runs. */
struct environment_package {
	const char *source; /* debian, pypi, npm */
	const char *name, *version;
	const char *file, *sum; /* its name without a directory, its SHA-256 */
	const char *licence;    /* "": not known */
	const char *at; /* of npm: "node_modules/lodash"; else "" */
};
typedef int (*environment_package_fn)(void *arg,
				      const struct environment_package *p);
/*
 * lock.json is {"packages": [{"source", "name", "version", "file", "sha256",
 * "licence"}, ...]}; other keys are the build's. fn may be NULL; what it
 * returns below 0 ends it. Return: how many, -EINVAL with a sentence, -ENOMEM.
 */
int environment_lock_read(const char *text, size_t len,
			  environment_package_fn fn, void *arg,
			  struct err *err);

/*
 * recipe.json is {"arguments": ["--debian", "python3-numpy", ...]}: what stands
 * behind NAME of the `fsd env build` that makes it again. Appends them, each
 * behind a blank and quoted for a shell. Return: 0, -EINVAL, -ENOMEM.
 */
int environment_recipe_read(const char *text, size_t len, struct buf *out,
			    struct err *err);
/* Appends a word of a command, behind a blank and quoted for a shell. A word with
 * control characters is quoted for bash, which a terminal shows and obeys not. */
void environment_quote(const char *text, struct buf *out);

#endif
