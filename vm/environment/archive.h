/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that an environment travels as: a POSIX tar (ustar) of manifest,
 * lock.json, warm.json, recipe.json, layer.erofs, in this order, compressed with
 * zstd. For this folder, its tests and its fuzzer.
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

/* Fills the header of a member. */
void tar_write(const char *name, uint64_t size, uint8_t ret[TAR_BLOCK]);
/* Reads a header, which must be of a plain file of this name. Return: 0, or
 * -EBADMSG and a sentence that says what was found. */
int tar_read(const uint8_t block[TAR_BLOCK], const char *name,
	     uint64_t *ret_size, struct err *err);

/* Reads the tar from pieces of any size. Keeps only the manifest in memory; it
 * gives the size and the checksum of each other file. */
struct archive {
	int dir; /* directory for the files; -1: only check them */
	/* index in archive_members; ARCHIVE_MEMBERS: behind the last */
	unsigned member;
	bool in_file; /* between a header and the end of its file's padding */
	uint64_t left; /* bytes of the file still to come */
	unsigned pad; /* zeros still to come after the file */
	unsigned zeros; /* blocks of zeros after the last file */
	/* a header, of which `have` bytes have come */
	uint8_t block[TAR_BLOCK];
	size_t have;
	int fd; /* owned: the file being written; -1: none */
	struct sha *sum;  /* owned: checksum of the file being written */
	struct buf text;  /* owned: the manifest */
	/* owned: the parsed manifest, once it is complete */
	struct set_manifest m;
};
#define ARCHIVE_INIT { .dir = -1, .fd = -1 }

/* Return: 0 or -EBADMSG, -ENOSPC, ... with a sentence. */
int archive_feed(struct archive *a, const void *data, size_t len,
		 struct err *err);
/* Call it at the end of the archive. Return: 0: it was complete. */
int archive_end(const struct archive *a, struct err *err);
void archive_done(struct archive *a);

#endif
