/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files below .fsd: texts made on demand from the daemon's state. An entry
 * is a number: row | language << 8 | field << 16 | session << 24. Language and
 * field count from 1 and exist below templates/; session and field below
 * sessions/. In place of the session there is an entry's number in lost+found/,
 * and an environment's key in templates/. control_sandbox.h and control_ports.h
 * describe the numbers of sandboxes and ports. All functions run on the loop;
 * control_ctl() and texts that read the disk may wait in a fiber.
 */
#ifndef FSD_CONTROL_H
#define FSD_CONTROL_H

#include "fsd/fsd.h"

struct sandbox;

/* Finds a name in a directory below .fsd; dir 0 is .fsd itself. Return: 0 or
 * -ENOENT. */
int control_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
	      uint64_t *ret_place);
/* Checks access. Return: 0; -ESTALE: the session has ended; -EACCES: it is
 * another user's. */
int control_check(struct fsd *d, uid_t uid, uint64_t entry);
bool control_is_dir(uint64_t entry);
/* True if the entry's times are those of the mount's start. */
bool control_is_fixed(uint64_t entry);
mode_t control_mode(uint64_t entry);
/* Calls fn for each entry of a directory. */
void control_list(struct fsd *d, uid_t uid, uint64_t dir,
	       void (*fn)(void *arg, const char *name, uint64_t entry),
	       void *arg);
/* Name of the directory with a machine's files; guest_inode.c has all entries
 * below it. */
#define CONTROL_FILES "files"
#define CONTROL_ROOT "root" /* as CONTROL_FILES, for the root of a sandbox */
struct sandbox *control_session(struct fsd *d, uint64_t entry);
/* Returns the key of the session or sandbox whose files/ the entry is, with
 * GUEST_ROOT if it is root/; 0: neither. */
uint64_t control_files(uint64_t entry);
/* Restores the times of the mount as the previous server knew them. */
void control_take_over(struct fsd *d);
/* Appends the whole text of a file, as uid may see it. Return: 0 or negative
 * errno. */
int control_text(struct fsd *d, uint64_t entry, uid_t uid, struct buf *out);
/*
 * Handles one write to .fsd/ctl. Return: 0 or negative errno with a sentence.
 */
int control_ctl(struct fsd *d, const char *data, size_t len, struct err *err);

extern const char fsd_version[];

#endif
