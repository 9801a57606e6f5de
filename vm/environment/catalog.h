/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which environment has given packages: an index of all locks, kept in memory.
 * It is made anew where DIR/names has changed; a set is read once, since an id
 * never changes. For any thread.
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
	const char *named;    /* the operator's directory, which commands that
				 are told to people name; or NULL */
	const char *abi;      /* of the image; "": unknown, everything fits */
	const char *packages; /* of the image, "name version" a line */
};

/* NULL without memory. */
struct environment_catalog *
environment_catalog_new(const struct environment_catalog_of *of);
void environment_catalog_free(struct environment_catalog *c); /* may be NULL */

/* What a job asks for; all is borrowed. */
struct environment_wanted {
	uid_t uid;        /* whose: what was built for others is not found */
	const char *spec; /* it, or one on top of it */
	const struct packages *packages;
};

/*
 * Finds an environment that is spec, or is on top of it, and has exactly these
 * versions: the smallest, else one that was made for this request, whose name
 * is a hash of it. ret: "NAME@ID" or "base".
 * Return: 0; -ENOPKG: there is none, and the sentence says how to make one; as
 * environment_open(), if there is no environment spec; -ENOMEM, ...
 */
int environment_catalog_find(struct environment_catalog *c,
			     const struct environment_wanted *wanted,
			     char ret[ENVIRONMENT_SPEC_MAX], struct err *err);
/* If that is so: what `fsd env build` makes it from, its name first and quoted for a
 * shell; that name is the user's own. Return: 0, or as environment_catalog_find() when there is one or none can be
 * told. */
int environment_catalog_lacks(struct environment_catalog *c,
			      const struct environment_wanted *wanted,
			      struct buf *ret, struct err *err);
/* Has the one of this id ("": the base) all of them, and is it spec (NULL: any)
 * or on top of it? False if it cannot be told. */
bool environment_catalog_has(struct environment_catalog *c, const char *id,
			     const struct environment_wanted *wanted);

#endif
