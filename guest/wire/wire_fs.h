/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FS and FS_REPLY: the files of a session's or a shared machine, used from
 * outside. Each request is one operation on a path and is answered by one reply
 * with its id, in the order of the requests. No file stays open between two.
 *
 *   FS         u32 id, u32 op, str path, u64 offset, u32 length, u32 mode,
 *              u32 flags, u32 tree, str to, then bytes (WRITE) or two times
 *              (TIMES)
 *   FS_REPLY   u32 id, u32 errno (0: done), then what the operation gives:
 *
 *   STAT                        a stat
 *   LIST      from `offset`     u64 next offset, 0: the end; then entries
 *   READ      offset, length    the bytes; fewer: the file ends there
 *   WRITE     offset or APPEND  u32 bytes written
 *   TRUNCATE  offset: the size  a stat
 *   CREATE    mode, EXCLUSIVE   a stat; without EXCLUSIVE also of an existing file
 *   MKDIR     mode              a stat
 *   UNLINK, RMDIR               nothing
 *   RENAME    to, EXCLUSIVE     nothing
 *   CHMOD     mode              a stat
 *   TIMES     of access, change a stat; a time that is not known is not changed
 *   HIDDEN                      u32: entries of the directory that LIST hides
 *   PROCESSES                   text, a line each: "PID LANE COMMAND\n", by PID,
 *                               whole lines of WIRE_FS_CHUNK bytes at most. LANE
 *                               is 0 if the process is of no open lane. COMMAND is
 *                               printable ASCII. In a shared machine only
 *
 * A stat is u32 kind (enum wire_file_kind), u32 mode (0777), u64 size, time
 * of change. An entry is u32 kind, str name. Anything that is neither a file nor
 * a directory counts as missing. path is "" for the tree's top. READ and WRITE
 * ignore the file's mode: the host checked it when the file was opened.
 *
 * tree is the tree of path: the home, or (in a shared machine) the root as the
 * program's user sees it, without /proc, /sys and /dev. In the root's tree a
 * change that the user may not make fails; in the read-only base with EROFS.
 */
#ifndef GUEST_WIRE_FS_H
#define GUEST_WIRE_FS_H

#include "wire.h"

#define WIRE_FS_CHUNK (32u << 10) /* bytes of one READ, WRITE or LIST */
#define WIRE_FS_REQUEST_MAX (WIRE_FS_CHUNK + 2 * WIRE_PATH_MAX + 64)
#define WIRE_FS_SIZE_MAX ((uint64_t)INT64_MAX)
#define WIRE_NAME_MAX 255u

enum wire_fs_op {
	WIRE_FS_STAT,
	WIRE_FS_LIST,
	WIRE_FS_READ,
	WIRE_FS_WRITE,
	WIRE_FS_TRUNCATE,
	WIRE_FS_CREATE,
	WIRE_FS_MKDIR,
	WIRE_FS_UNLINK,
	WIRE_FS_RMDIR,
	WIRE_FS_RENAME,
	WIRE_FS_CHMOD,
	WIRE_FS_TIMES,
	WIRE_FS_HIDDEN,
	WIRE_FS_PROCESSES,
	WIRE_FS_MAX
};

enum wire_fs_tree { WIRE_FS_HOME, WIRE_FS_ROOT, WIRE_FS_TREE_MAX };

enum wire_fs_flag {
	WIRE_FS_EXCLUSIVE = 1, /* CREATE, RENAME: fail if the file exists */
	WIRE_FS_APPEND = 2, /* WRITE: at the end of the file */
	WIRE_FS_EMPTY = 4, /* CREATE: truncate an existing file */
	WIRE_FS_FLAGS = 7,
};

struct wire_fs {
	uint32_t id;
	uint32_t op;      /* enum wire_fs_op */
	char *path;
	uint64_t offset;
	uint32_t length;
	uint32_t mode;
	uint32_t flags;   /* enum wire_fs_flag */
	uint32_t tree;    /* enum wire_fs_tree */
	char *to;
	const void *data; /* borrowed */
	size_t size;
	struct wire_time atime, mtime; /* used by TIMES */
};

struct wire_fs_stat {
	uint32_t kind; /* enum wire_file_kind */
	uint32_t mode;
	uint64_t size;
	struct wire_time mtime;
};

void wire_fs_put(struct wire_writer *w, const struct wire_fs *fs);
/*
 * Decodes an FS payload: path and to are copies for wire_fs_done(), data points
 * into the payload. Return: 0, or -EPROTO (bounds; an operand that the operation
 * does not have, or with a wrong value; no memory for a copy); on failure *ret
 * needs no release.
 */
int wire_fs_get(const void *payload, size_t length, struct wire_fs *ret);
void wire_fs_done(struct wire_fs *fs);

void wire_fs_stat_put(struct wire_writer *w, const struct wire_fs_stat *st);
/* Decodes a stat; data: all of a reply. Return: 0 or -EPROTO. */
int wire_fs_stat_get(const void *data, size_t length,
		     struct wire_fs_stat *ret);

/*
 * Splits a reply into id, errno and data, and checks the data against the
 * request. Return: 0, or -EPROTO: an unknown errno, data beside an error, or
 * data of another operation.
 */
int wire_fs_reply_get(const void *payload, size_t length, uint32_t *ret_id,
		      uint32_t *ret_errno, const uint8_t **ret_data,
		      size_t *ret_size);
int wire_fs_reply_check(const struct wire_fs *fs, const uint8_t *data,
			size_t size);

#endif
