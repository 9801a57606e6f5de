/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in .fsd/sandboxes, as face.h has them: the number above the field is a
 * sandbox's, of one of its sessions, or of a file beside its config.json.
 */
#ifndef FSD_FACE_SANDBOX_H
#define FSD_FACE_SANDBOX_H

#include "fsd/fsd.h"

struct sandbox;
struct sandbox_file;
struct seat;

/* As face_find() and its like, of a place whose row is FSD_ROW_SANDBOXES. */
int face_sandbox_find(struct fsd *d, uid_t uid, uint64_t dir, const char *name,
		      uint64_t *ret_place);
int face_sandbox_check(struct fsd *d, uid_t uid, uint64_t place);
bool face_sandbox_is_dir(uint64_t place);
mode_t face_sandbox_mode(uint64_t place);
void face_sandbox_list(struct fsd *d, uid_t uid, uint64_t dir,
		       void (*fn)(void *arg, const char *name, uint64_t place),
		       void *arg);
int face_sandbox_text(struct fsd *d, uint64_t place, struct buf *out);

/* The sandbox that a place is in, and what the place is; NULL: another's. */
struct sandbox *face_sandbox(struct fsd *d, uint64_t place);
/* The sandbox's own directory, or NULL. */
struct sandbox *face_sandbox_at(struct fsd *d, uint64_t place);
/* The sandbox that an open file of the place holds, or NULL. */
struct sandbox *face_sandbox_held(struct fsd *d, uint64_t place);
struct seat *face_sandbox_session(struct fsd *d, uint64_t place);
struct sandbox_file *face_sandbox_file(struct fsd *d, uint64_t place);
uint64_t face_sandbox_place(const struct sandbox *s);
uint64_t face_sandbox_file_place(const struct sandbox_file *f);

#endif
