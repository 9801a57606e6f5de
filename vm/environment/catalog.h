/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds an environment that has given packages: an index of all locks, kept in
 * memory. It is read again where DIR/names has changed; each set is read once,
 * since its content never changes. Any thread.
 */
#ifndef VM_ENVIRONMENT_CATALOG_H
#define VM_ENVIRONMENT_CATALOG_H

#include "environment.h"
#include "layout/packages.h"

#define ENVIRONMENT_SPEC_MAX (ENVIRONMENT_NAME_MAX + 1 + SHA_HEX)

struct environment_catalog;

/* All are borrowed. */
struct environment_catalog_of {
	const struct environment_places *places;
	/* the operator's directory, named in commands that users are shown; or
	 * NULL */
	const char *named;
	const char *abi; /* the image's; "": not known, every set fits */
	const char *packages; /* the image's packages, a line "name version" each */
};

/* Return: NULL without memory. */
struct environment_catalog *
environment_catalog_new(const struct environment_catalog_of *of);
void environment_catalog_free(struct environment_catalog *c); /* may be NULL */

/* The request of a job; all borrowed. */
struct environment_wanted {
	uid_t uid; /* the job's user; sets that were built for other users do not count */
	const char *spec; /* the environment itself, or the one to build on */
	const struct packages *packages;
};

/*
 * Finds an environment that is `spec`, or is built on it, and has exactly these
 * versions: the smallest one, else one that was built for this very request,
 * whose name has a hash of it. ret: "NAME@ID" or "base". Return: 0; -ENOPKG:
 * there is none, and the sentence says how to make one; an error of
 * environment_open() if `spec` does not exist; -ENOMEM, ...
 */
int environment_catalog_find(struct environment_catalog *c,
			     const struct environment_wanted *wanted,
			     char ret[ENVIRONMENT_SPEC_MAX], struct err *err);
/*
 * If environment_catalog_find() finds none: appends the arguments of `fsd env build`
 * that make one, quoted for a shell, its name first. The name has the user's id in it,
 * so it is the user's own. Return: 0, or an error of environment_catalog_find().
 */
int environment_catalog_lacks(struct environment_catalog *c,
			      const struct environment_wanted *wanted,
			      struct buf *ret, struct err *err);
/*
 * Returns whether the environment of this id ("": the base) has all of the
 * packages, and is `spec` (NULL: any) or is built on it. False if that is not
 * known.
 */
bool environment_catalog_has(struct environment_catalog *c, const char *id,
			     const struct environment_wanted *wanted);

#endif
