/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What .fsd shows: texts made on demand from the daemon's state. A place in it
 * is a small number: row | language << 8 | field << 16 | session << 24. Language
 * and field count from 1 and exist below templates/; session and field below
 * sessions/; in lost+found/ the session is an entry's number.
 */
#ifndef FSD_CONTROL_H
#define FSD_CONTROL_H

#include "fsd/fsd.h"

struct sandbox;

/* 0 is .fsd itself. Return: 0 or -ENOENT. */
int control_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
	      uint64_t *ret_place);
/* 0, -ESTALE or -EACCES: a session that has ended, or another user's. */
int control_check(struct fsd *d, uid_t uid, uint64_t entry);
bool control_is_dir(uint64_t entry);
bool control_is_fixed(uint64_t entry); /* never changes while mounted */
mode_t control_mode(uint64_t entry);
/* Calls fn for each entry of a directory. */
void control_list(struct fsd *d, uid_t uid, uint64_t dir,
	       void (*fn)(void *arg, const char *name, uint64_t entry),
	       void *arg);
/* The session whose directory that is, or NULL. Its field CONTROL_FILES is where
 * guest_inode.c begins. */
#define CONTROL_FILES "files"
#define CONTROL_ROOT "root" /* of a sandbox: likewise */
struct sandbox *control_session(struct fsd *d, uint64_t entry);
/* The number of the session or sandbox whose files/ that is, with GUEST_ROOT if it
 * is root/; or 0. */
uint64_t control_files(uint64_t entry);
/* The whole text of a file, as uid sees it. Return: 0 or negative errno. */
int control_text(struct fsd *d, uint64_t entry, uid_t uid, struct buf *out);
/* One write to .fsd/ctl. Return: 0 or negative errno with a sentence. */
int control_ctl(struct fsd *d, const char *data, size_t len, struct err *err);

extern const char fsd_version[];

#endif
