/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of a set: parsing, printing, its id. For this folder, its tests
 * and its fuzzer. Any thread.
 */
#ifndef VM_SET_H
#define VM_SET_H

#include "environment.h"
#include "manifest.h"

#define SET_FILES 4
/* The names of a set's files, in the order of the manifest and of an archive. */
extern const char *const set_files[SET_FILES];
enum { SET_LAYER, SET_LOCK, SET_WARM, SET_RECIPE };

/* layer.erofs; its size has eleven octal digits in an archive. */
#define SET_LAYER_MAX ((8ull << 30) - 1)
#define SET_HEAP_MAX (64ull << 30)

struct set_manifest {
	char id[SHA_HEX];
	char abi[ENVIRONMENT_ABI_MAX];
	char parent[SHA_HEX]; /* an id or "base" */
	uint64_t packages, heap;
	struct buf needs; /* owned; a NUL behind each name */
	struct manifest_part part[SET_FILES];
};

/*
 * Parses the output of set_print() and no other text: each line once, in its
 * order, with the right id. Return: 0, -EBADMSG, -ENOMEM; the caller always
 * frees *ret with set_done().
 */
int set_parse(const char *text, size_t len, struct set_manifest *ret,
	      struct err *err);
/* Appends the manifest's text. Return: 0, -ENOMEM, or -EFBIG: out->cap is too
 * small for it. */
int set_print(const struct set_manifest *m, struct buf *out);
/* SHA-256 over format, abi, parent, each part's name and sum. */
int set_id(const struct set_manifest *m, char ret[SHA_HEX]);
void set_done(struct set_manifest *m);

/* Returns one of an open set's own files, by its number in set_files. */
const struct environment_layer *set_file(const struct environment *e,
					 unsigned number);

/* Opens a file of a set; a link is refused. Return: a descriptor or negative
 * errno. */
int set_open_file(int dir, const char *name);
/* Opens DIR/sets/ID of the first place that has it. Return: a descriptor or
 * negative errno. */
int set_find(const struct environment_places *places, const char *id);
/* Reads DIR/sets/ID/manifest; id NULL: any. */
int set_read(int dir, const char *id, struct set_manifest *ret,
	     struct err *err);

#endif
