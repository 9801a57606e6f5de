/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments on the host's disk: named, immutable sets of software.
 *
 *   DIR/names/NAME      a link to ../sets/ID; a rename replaces it
 *   DIR/sets/ID/        manifest layer.erofs lock.json warm.json recipe.json
 *   DIR/sets/.new-*     being made; its maker holds a lock on it
 *   DIR/sources/SHA256  downloads of builds
 *
 * Only this folder knows these paths. This header reads; write.h changes. The
 * calls read the disk, so use a worker thread or a command. Any thread.
 */
#ifndef VM_ENVIRONMENT_H
#define VM_ENVIRONMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"
#include "layout/environment.h"
#include "vm/os/sha.h"

#define ENVIRONMENT_LAYERS_MAX 8
#define ENVIRONMENT_ABI_MAX 96

/* An open file of a set. */
struct environment_layer {
	int fd; /* read-only */
	uint64_t size;
	char sum[SHA_HEX];
};

enum environment_text { ENV_LOCK, ENV_WARM, ENV_RECIPE, ENV_TEXTS };

/* One open set, with the layers of its parents. It never changes.
 * Reference-counted, by any thread. NULL stands for `base` everywhere. */
struct environment {
	atomic_uint refs;
	/* the name that was asked for; "": opened by id */
	char name[ENVIRONMENT_NAME_MAX + 1];
	char id[SHA_HEX];
	char abi[ENVIRONMENT_ABI_MAX];
	char parent[SHA_HEX]; /* an id, or "base" */
	/* its own layer first, then its parent's, and so on */
	struct environment_layer layers[ENVIRONMENT_LAYERS_MAX];
	unsigned layer_count;
	struct environment_layer texts[ENV_TEXTS]; /* texts of this set without its
						    * parents' */
	char warm_sum[SHA_HEX];
	uint64_t heap; /* bytes of heap that a warm Python runner has; 0: not known */
	/* number of packages in this set, without its parents' */
	uint64_t packages;
	char **env;        /* "K=V" of warm.json, NULL-ended, owned */
	/* names of variables, as "PREFIX_* NAME": a program that sets one gets a fresh
	 * interpreter */
	char *fresh_env;
	char **needs; /* packages of the image that it needs; ends with NULL */
};

/* Directories with sets, searched in order. NULL: no more. */
#define ENVIRONMENT_PLACES 3
struct environment_places {
	const char *dirs[ENVIRONMENT_PLACES];
	bool is_users; /* skip sets that were built for other users than uid */
	uid_t uid;
};

/*
 * Opens the set that spec names: NAME, or NAME@ and 12 to 64 digits of its id.
 * Compares sizes, and of checksums only that of warm.json. "base": *ret is
 * NULL. Return: 0; -EINVAL: spec is wrong; -ENOENT: there is no such name;
 * -ESTALE: the name has another id now; -EBADMSG: it is damaged; or another
 * errno. The sentence may be put behind "config.json: ".
 */
int environment_open(const struct environment_places *places,
		     const char *spec, struct environment **ret,
		     struct err *err);
struct environment *environment_ref(struct environment *e);
void environment_unref(struct environment *e); /* may be NULL */

/* As environment_open(), for a name that was found. The sentence says what is
 * damaged, but not the name. */
struct environment_name;
int environment_open_found(const struct environment_places *places,
			   const struct environment_name *name,
			   struct environment **ret, struct err *err);

/* Compares all checksums, also of the parents' layers. Slow: call it on a
 * worker thread. Return: 0, -EBADMSG, -ECANCELED, ... */
int environment_verify(const struct environment *e, const atomic_bool *cancel,
		       struct err *err);
/* Checks that the environment fits an image, whose abi and packages (lines "name
 * version") are given. Return: 0, or -ENOEXEC with a sentence like
 * environment_open()'s. */
int environment_fits(const struct environment *e, const char *abi,
		     const char *packages, struct err *err);
/* Checks the same; the sentence begins with "it was made for" or "it needs". */
int environment_misfit(const struct environment *e, const char *abi,
		       const char *packages, struct err *err);
/* Appends one of the set's texts, after comparing the checksum. */
int environment_read(const struct environment *e, enum environment_text which,
		     struct buf *out, struct err *err);
/* Returns the bytes of its own layer and of its parents'. */
uint64_t environment_size(const struct environment *e);

/* All names, sorted, without `base`. */
struct environment_names {
	struct environment_name {
		char name[ENVIRONMENT_NAME_MAX + 1];
		char id[SHA_HEX]; /* "": the link is damaged */
		unsigned place; /* index in places->dirs */
	} *name; /* owned */
	size_t count;
};
/* Lists all names; a directory that does not exist has none. Return: 0 or
 * negative errno. */
int environment_names(const struct environment_places *places,
		      struct environment_names *ret, struct err *err);
void environment_names_done(struct environment_names *names);
const struct environment_name *
environment_names_find(const struct environment_names *names,
		       const char *name);

/* As environment_open(), by the whole id; its name is "". Return also: -ENOENT. */
int environment_open_id(const struct environment_places *places,
			const char *id, struct environment **ret,
			struct err *err);

#endif
