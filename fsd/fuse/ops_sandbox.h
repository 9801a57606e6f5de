/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, writes and removes entries of .fsd/sandboxes. Call each function with
 * a target of kind T_FSD for which ops_sandbox_is() is true. All functions run
 * on the loop.
 */
#ifndef FSD_OPS_SANDBOX_H
#define FSD_OPS_SANDBOX_H

#include "ops_handle.h"

bool ops_sandbox_is(const struct target *t);

/* Return: 0 or negative errno, with last_error set if there is a reason. */
int ops_sandbox_mkdir(fuse_req_t req, const struct target *dir,
		      const char *name, struct target *ret);
int ops_sandbox_create(fuse_req_t req, const struct target *dir,
		       const char *name, struct target *ret,
		       struct handle **ret_handle);
/* Opens a file for writing. */
int ops_sandbox_open(fuse_req_t req, const struct target *t,
		     const struct fuse_file_info *fi, struct handle **ret);
int ops_sandbox_setattr(fuse_req_t req, const struct target *t,
			const struct stat *attr, int to_set,
			struct fuse_file_info *fi);
int ops_sandbox_unlink(fuse_req_t req, const struct target *t);
int ops_sandbox_rmdir(fuse_req_t req, const struct target *t);
int ops_sandbox_rename(fuse_req_t req, const struct target *from,
		       const struct target *dir, const char *name,
		       unsigned flags);

/* Makes the text of a file, at open and at each read from the start. Return: 0
 * or negative errno. */
int ops_sandbox_text(struct handle *h);
/* Returns events as poll(2). ph: owned, or NULL. */
unsigned ops_sandbox_poll(struct handle *h, struct fuse_pollhandle *ph);

/* Serve an H_STAGED handle. Both answer the request. */
void ops_staged_read(fuse_req_t req, struct handle *h, size_t size, off_t off);
void ops_staged_write(fuse_req_t req, struct handle *h, const char *data,
		      size_t size, off_t off);
/* Applies the written text; close(2) waits for that. Return: 0, or a negative errno after
 * setting last_error. */
int ops_staged_flush(fuse_req_t req, struct handle *h);
void ops_staged_release(struct handle *h);

#endif
