/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments as text: names, "NAME@ID", and the texts of a set. Pure. A set
 * may come from anywhere (fsd env import), so each text has bounds, and any
 * other form is refused.
 */
#ifndef LAYOUT_ENVIRONMENT_H
#define LAYOUT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"

/* the environment of every machine; it has no set */
#define ENVIRONMENT_BASE "base"
#define ENVIRONMENT_NAME_MAX 64
#define ENVIRONMENT_DIGITS_MIN 12 /* fewest digits of an id behind "@" */
#define ENVIRONMENT_DIGITS_MAX 64
#define ENVIRONMENT_TEXT_MAX (16u << 20) /* most bytes of lock, warm, recipe */

/* Checks a set's name: [a-z][a-z0-9._-]{0,63}, not a language's name and not
 * "base". Return: 0, or -EINVAL with a sentence. */
int environment_name_check(const char *name, struct err *err);

/*
 * environment_name_owner() returns whether the name is like "p-1c9e30ab.1000":
 * built for "packages" of user 1000. environment_name_is_for() returns whether
 * that user's jobs may use it.
 */
bool environment_name_owner(const char *name, uid_t *ret);
bool environment_name_is_for(const char *name, uid_t uid);

#define ENVIRONMENT_SHOWN_MAX 140
/* Quotes a text for a sentence, as every value of a config is shown: escaped
 * and cut. Return: room. */
const char *environment_shown(const char *text, char room[ENVIRONMENT_SHOWN_MAX]);

struct environment_spec {
	char name[ENVIRONMENT_NAME_MAX + 1]; /* "": the text contains no possible name */
	char digits[ENVIRONMENT_DIGITS_MAX + 1]; /* "": any id */
};
/* Parses NAME or NAME@DIGITS. Return: 0, or -EINVAL with a sentence that may be
 * put behind "config.json: ". */
int environment_spec_parse(const char *text, struct environment_spec *ret,
			   struct err *err);

/* The parts of warm.json that the host needs. */
struct environment_warm {
	struct buf env; /* "K=V" texts that each end with NUL */
	unsigned env_count;
	/* "PREFIX_* NAME": variables that need a fresh interpreter, as in
	 * lang.h */
	struct buf at_start;
	struct buf modules; /* "numpy, pandas, npm:lodash", for people */
	bool program; /* warm.json has a program to run */
};
/* Parses warm.json. Return: 0, -EINVAL with a sentence, -ENOMEM. Always free
 * *ret. */
int environment_warm_read(const char *text, size_t len,
			  struct environment_warm *ret, struct err *err);
void environment_warm_done(struct environment_warm *warm);

/* A package of lock.json. Borrowed from its text while fn runs. */
struct environment_package {
	const char *source; /* debian, pypi, npm */
	const char *name, *version;
	const char *file, *sum; /* file name without a directory; its SHA-256 */
	const char *licence;    /* "": not known */
	const char *at; /* place of an npm package: "node_modules/lodash"; else "" */
};
typedef int (*environment_package_fn)(void *arg,
				      const struct environment_package *p);
/*
 * Reads lock.json: {"packages": [{"source", "name", "version", "file",
 * "sha256", "licence"}, ...]}. Other keys are for the build. Calls fn (may be
 * NULL) for each package; a negative result ends the call. Return: number of
 * packages, -EINVAL with a sentence, -ENOMEM.
 */
int environment_lock_read(const char *text, size_t len,
			  environment_package_fn fn, void *arg,
			  struct err *err);

/*
 * Reads recipe.json: {"arguments": ["--debian", "python3-numpy", ...]}, the
 * arguments behind NAME of the `fsd env build` that makes the set again.
 * Appends them, each behind a blank and quoted for a shell. Return: 0, -EINVAL,
 * -ENOMEM.
 */
int environment_recipe_read(const char *text, size_t len, struct buf *out,
			    struct err *err);
/*
 * Appends a word of a command, behind a blank and quoted for a shell. A word
 * with control characters is quoted for bash, so that a terminal shows it and
 * does not obey it.
 */
void environment_quote(const char *text, struct buf *out);

#endif
