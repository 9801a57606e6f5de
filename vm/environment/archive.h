/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that an environment travels as: a POSIX tar (ustar) of manifest,
 * lock.json, warm.json, recipe.json, layer.erofs, in this order and nothing
 * else, compressed with zstd. For this room, its tests and its fuzzer.
 *
 * The tar is read and written here, not by a library: libarchive reads thirty
 * formats and each kind of member, all of which would have to be refused. Five
 * plain files under fixed names are a hundred lines, and each byte of a header
 * that could lead elsewhere is simply never used. zstd is libzstd's.
 */
#ifndef VM_ENVIRONMENT_ARCHIVE_H
#define VM_ENVIRONMENT_ARCHIVE_H

#include "set.h"

#define TAR_BLOCK 512u
#define ARCHIVE_MEMBERS 5
/* manifest, lock.json, ... */
extern const char *const archive_members[ARCHIVE_MEMBERS];

/* Fills a header. */
void tar_write(const char *name, uint64_t size, uint8_t ret[TAR_BLOCK]);
/* Reads one: it must be of a plain file of this name. Return: 0 or -EBADMSG and
 * the sentence says what it is. */
int tar_read(const uint8_t block[TAR_BLOCK], const char *name,
	     uint64_t *ret_size, struct err *err);

/* Reads the tar's bytes as they come, in pieces of any size. Nothing is kept of
 * them but the manifest; each other file has the size and sum that it says. */
struct archive {
	int dir;        /* where the files are made; -1: nowhere */
	unsigned member; /* of archive_members; ARCHIVE_MEMBERS: behind them */
	bool in_file;   /* between a header and the end of its padding */
	uint64_t left;  /* bytes of the file that are still to come, */
	unsigned pad;   /* and of zeros behind them */
	unsigned zeros; /* blocks behind the last file */
	uint8_t block[TAR_BLOCK]; /* a header, as far as it has come */
	size_t have;
	int fd;           /* owned: the file that is written; -1 */
	struct sha *sum;  /* owned: of that file */
	struct buf text;  /* owned: the manifest */
	struct set_manifest m; /* owned: what it says, once it is whole */
};
#define ARCHIVE_INIT { .dir = -1, .fd = -1 }

/* Return: 0 or -EBADMSG, -ENOSPC, ... with a sentence. */
int archive_feed(struct archive *a, const void *data, size_t len,
		 struct err *err);
/* No more comes. Return: 0: it was whole. */
int archive_end(const struct archive *a, struct err *err);
void archive_done(struct archive *a);

#endif
