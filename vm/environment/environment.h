/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments on the host's disk: named, immutable sets of software.
 *
 *   DIR/names/NAME      a link to ../sets/ID; a rename replaces it
 *   DIR/sets/ID/        manifest layer.erofs lock.json warm.json recipe.json
 *   DIR/sets/.new-*     being made; whoever makes it holds a lock on it
 *   DIR/sources/SHA256  downloads of builds
 *
 * The only room that knows these paths. It reads here; write.h changes them.
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

/* One set, open, with its parents' layers. It never changes; counted, by any
 * thread. NULL stands for `base` everywhere. */
struct environment {
	atomic_uint refs;
	char name[ENVIRONMENT_NAME_MAX + 1]; /* as it was asked for; "": by id */
	char id[SHA_HEX];
	char abi[ENVIRONMENT_ABI_MAX];
	char parent[SHA_HEX]; /* an id, or "base" */
	/* Its own first, then its parent's, ... */
	struct environment_layer layers[ENVIRONMENT_LAYERS_MAX];
	unsigned layer_count;
	struct environment_layer texts[ENV_TEXTS]; /* its own */
	char warm_sum[SHA_HEX];
	uint64_t heap;     /* bytes of the warm Python runner; 0: unknown */
	uint64_t packages; /* its own; those of its parents are not in it */
	char **env;        /* "K=V" of warm.json, NULL-ended, owned */
	char *fresh_env;   /* "PREFIX_* NAME" that ask for a fresh interpreter */
	char **needs;      /* packages of the image it relies on, NULL-ended */
};

/* Where sets are looked for; the first one wins. NULL: no more. */
#define ENVIRONMENT_PLACES 3
struct environment_places {
	const char *dirs[ENVIRONMENT_PLACES];
	bool is_users; /* what was built for other users than uid is not there */
	uid_t uid;
};

/*
 * Opens what spec names, NAME or NAME@12..64 digits of its id; sizes are
 * compared, sums are not, but that of warm.json. "base": *ret is NULL.
 * Return: 0; -EINVAL: spec is wrong; -ENOENT: there is no such name; -ESTALE:
 * the name has another id now; -EBADMSG: it is damaged; or another errno. The
 * sentence is one that "config.json: " may stand before.
 */
int environment_open(const struct environment_places *places,
		     const char *spec, struct environment **ret,
		     struct err *err);
struct environment *environment_ref(struct environment *e);
void environment_unref(struct environment *e); /* may be NULL */

/* The same of a name that was found; its sentence says what is damaged, and not
 * of what. */
struct environment_name;
int environment_open_found(const struct environment_places *places,
			   const struct environment_name *name,
			   struct environment **ret, struct err *err);

/* Compares all sums, the parents' layers too. Slow: for a worker thread. Return:
 * 0, -EBADMSG, -ECANCELED, ... */
int environment_verify(const struct environment *e, const atomic_bool *cancel,
		       struct err *err);
/*
 * Does it fit an image? abi and packages ("name version" a line) are the
 * image's. Return: 0, or -ENOEXEC and the sentence says what was found, as
 * environment_open()'s does.
 */
int environment_fits(const struct environment *e, const char *abi,
		     const char *packages, struct err *err);
/* The same; the sentence begins with "it was made for". */
int environment_misfit(const struct environment *e, const char *abi,
		       const char *packages, struct err *err);
/* Appends one of its texts, whose sum is compared. */
int environment_read(const struct environment *e, enum environment_text which,
		     struct buf *out, struct err *err);
/* Its own layer and its parents', in bytes. */
uint64_t environment_size(const struct environment *e);

/* The names that there are, sorted, without `base`. */
struct environment_names {
	struct environment_name {
		char name[ENVIRONMENT_NAME_MAX + 1];
		char id[SHA_HEX]; /* "": the link is damaged */
		unsigned place;   /* of places->dirs */
	} *name; /* owned */
	size_t count;
};
/* A place that is not there has none. Return: 0 or negative errno. */
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
