/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes environments on the host's disk. Each change is one rename, so a
 * reader sees the old state or the new one. A writer that dies leaves
 * directories `.new-*` and `.old-*`, which the next writer removes. Slow: call
 * these in a command or on a worker thread.
 */
#ifndef VM_ENVIRONMENT_WRITE_H
#define VM_ENVIRONMENT_WRITE_H

#include "environment.h"

/* A set in the making. */
struct environment_new {
	int top;       /* descriptor of DIR */
	int dir; /* descriptor of DIR/sets/.new-*, locked; put layer.erofs, lock.json,
		  * warm.json and recipe.json into it */
	char name[32]; /* name of that directory */
};
#define ENVIRONMENT_NEW_INIT { .top = -1, .dir = -1 }

/* Makes DIR/names, sets, sources and a directory for a new set; removes what
 * dead writers left. Return: 0 or negative errno. */
int environment_begin(const char *top, struct environment_new *ret,
		      struct err *err);
/* Removes the new set. Does nothing after a seal or an abandon. */
void environment_abandon(struct environment_new *n);

struct environment_facts {
	const char *abi; /* abi of the image that the set was made for */
	const char *parent; /* an id; NULL: base */
	uint64_t heap;
	/* packages of the image that the set needs; ends with NULL; NULL: none */
	const char *const *needs;
};
/*
 * Turns a new set, whose directory has these four files, into sets/ID and gives
 * it a name (NULL: none). A damaged set of the same id is replaced. The parent
 * must be in one of the places. Return: 0; -EINVAL: a text has a wrong form;
 * -ENOENT: a file or the parent is missing; or another errno. *n is abandoned
 * in any case.
 */
int environment_seal(const struct environment_places *places,
		     struct environment_new *n,
		     const struct environment_facts *facts, const char *name,
		     char ret_id[SHA_HEX], struct err *err);

/* Removes a name, and its set unless another name or set needs it. Return: 0;
 * -ENOENT: there is no such name; -EBUSY: another set is built on it. */
int environment_remove(const struct environment_places *places,
		       const char *name, struct err *err);

struct environment_cleaned {
	uint64_t bytes;
	unsigned sources, sets;
};
/*
 * Empties DIR/sources, and removes sets without a name that are no parent of
 * another set. Skips a directory that does not exist. Return: 0; -EBUSY: a
 * build is running; ...
 */
int environment_clean(const struct environment_places *places, const char *top,
		      struct environment_cleaned *ret, struct err *err);

/* --- archives: see archive.h -------------------------------------------- */

/* Writes a set to a file or pipe. Return: 0, -ECANCELED, ... */
int environment_export(const struct environment *e, int to,
		       const atomic_bool *cancel, struct err *err);
/*
 * Copies the downloads of a set from the places' DIR/sources to a new
 * directory. Return: 0; -EEXIST: the directory exists; -ENOENT: a download is
 * missing; ...
 */
int environment_export_sources(const struct environment_places *places,
			       const struct environment *e, const char *dir,
			       struct err *err);
/*
 * Makes a set in DIR out of an archive, and names it. It gets a name only after
 * all checksums and the id were right. Return: 0; -EBADMSG: it is no archive,
 * or damaged; -ENOENT: its parent is not here; ...
 */
int environment_import(const struct environment_places *places,
		       const char *top, int from, const char *name,
		       const atomic_bool *cancel, char ret_id[SHA_HEX],
		       struct err *err);

#endif
