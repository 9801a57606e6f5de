/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes environments on the host's disk. Each change is one rename: a reader
 * sees the old state or the new one. A writer that dies leaves directories
 * `.new-*` and `.old-*`, which the next one removes. Slow: for a command or a
 * worker thread.
 */
#ifndef VM_ENVIRONMENT_WRITE_H
#define VM_ENVIRONMENT_WRITE_H

#include "environment.h"

/* A set that is being made. */
struct environment_new {
	int top;       /* DIR */
	int dir;       /* DIR/sets/.new-*; locked, to put the four files in */
	char name[32]; /* of that directory */
};
#define ENVIRONMENT_NEW_INIT { .top = -1, .dir = -1 }

/* Makes DIR/names, sets, sources and a directory for a new set; removes what
 * dead writers left. Return: 0 or negative errno. */
int environment_begin(const char *top, struct environment_new *ret,
		      struct err *err);
/* Removes the new set. It may be sealed or abandoned already. */
void environment_abandon(struct environment_new *n);

struct environment_facts {
	const char *abi;    /* of the image that it was made for */
	const char *parent; /* an id; NULL: base */
	uint64_t heap;
	const char *const *needs; /* NULL-ended; NULL: none */
};
/*
 * Turns a new set, whose directory has the four files, into sets/ID, and name
 * into its name (NULL: it gets none). A damaged set of the same id is replaced.
 * The parent must be in one of the places. Return: 0; -EINVAL: a text of it is
 * none; -ENOENT: a file or the parent is missing; or another errno. *n is
 * abandoned in any case.
 */
int environment_seal(const struct environment_places *places,
		     struct environment_new *n,
		     const struct environment_facts *facts, const char *name,
		     char ret_id[SHA_HEX], struct err *err);

/* Removes a name, and its set unless something else needs it. Return: 0;
 * -ENOENT: there is no such name; -EBUSY: it is the parent of another. */
int environment_remove(const struct environment_places *places,
		       const char *name, struct err *err);

struct environment_cleaned {
	uint64_t bytes;
	unsigned sources, sets;
};
/* Empties DIR/sources; removes sets without a name that no other has as a
 * parent. A place that is not there has nothing. Return: 0; -EBUSY: a build is
 * running; ... */
int environment_clean(const struct environment_places *places, const char *top,
		      struct environment_cleaned *ret, struct err *err);

/* --- archive.h says what an archive is -------------------------------------- */

/* Writes a set to a file or pipe. Return: 0, -ECANCELED, ... */
int environment_export(const struct environment *e, int to,
		       const atomic_bool *cancel, struct err *err);
/* Copies its downloads out of the places' DIR/sources to a new directory.
 * Return: 0; -EEXIST: the directory is there; -ENOENT: one is missing; ... */
int environment_export_sources(const struct environment_places *places,
			       const struct environment *e, const char *dir,
			       struct err *err);
/*
 * Reads an archive and makes a set of it in DIR, named so. Nothing of it has a
 * name before all sums and the id are right. Return: 0; -EBADMSG: it is no
 * archive or a damaged one; -ENOENT: its parent is not here; ...
 */
int environment_import(const struct environment_places *places,
		       const char *top, int from, const char *name,
		       const atomic_bool *cancel, char ret_id[SHA_HEX],
		       struct err *err);

#endif
