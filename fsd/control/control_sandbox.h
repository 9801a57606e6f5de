/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries in .fsd/sandboxes, coded as in control.h: the number above the field
 * is that of a sandbox, of one of its sessions, or of a file beside its
 * config.json. All functions run on the loop.
 */
#ifndef FSD_CONTROL_SANDBOX_H
#define FSD_CONTROL_SANDBOX_H

#include "fsd/fsd.h"

struct sandbox;
struct sandbox_file;
struct seat;

/* Like control_find() and the others, for entries whose row is
 * FSD_VFILE_SANDBOXES. */
int control_sandbox_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
		      uint64_t *ret_place);
int control_sandbox_check(struct fsd *d, uid_t uid, uint64_t entry);
bool control_sandbox_is_dir(uint64_t entry);
mode_t control_sandbox_mode(uint64_t entry);
void control_sandbox_list(struct fsd *d, uid_t uid, uint64_t dir,
		       void (*fn)(void *arg, const char *name, uint64_t entry),
		       void *arg);
int control_sandbox_text(struct fsd *d, uint64_t entry, struct buf *out);

/* Returns the sandbox that the entry belongs to; NULL: it is gone, or the entry
 * is elsewhere. */
struct sandbox *control_sandbox(struct fsd *d, uint64_t entry);
/* Returns the sandbox if the entry is its directory, else NULL. */
struct sandbox *control_sandbox_at(struct fsd *d, uint64_t entry);
/* Returns the sandbox that lives until an open file of this entry is closed, or
 * NULL. */
struct sandbox *control_sandbox_held(struct fsd *d, uint64_t entry);
struct seat *control_sandbox_session(struct fsd *d, uint64_t entry);
struct sandbox_file *control_sandbox_file(struct fsd *d, uint64_t entry);
uint64_t control_sandbox_entry(const struct sandbox *s);
uint64_t control_sandbox_file_entry(const struct sandbox_file *f);

#endif
