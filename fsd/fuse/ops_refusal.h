/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies to the kernel with errors. Every operation uses these, so that every
 * refusal has a sentence in .fsd/last_error: its own, set by ops_refuse(), or
 * one for the error's number. All functions run on the loop.
 */
#ifndef FSD_OPS_REFUSAL_H
#define FSD_OPS_REFUSAL_H

#include "ops.h"

/* Replies with success. */
void ops_done(fuse_req_t req);
/* Replies with the error -r, of name in the directory ino, or of ino itself
 * (name NULL). */
void ops_fail(fuse_req_t req, fuse_ino_t ino, const char *name, int r);
/*
 * Replies with 0 or the error -r without a sentence: it is no refusal, such as
 * the answer to access(2), or the sentence was set by the code that has
 * examined the job.
 */
void ops_answer(fuse_req_t req, int r);
/* Like ops_refuse(), with the path of name in ino, or of ino itself (name
 * NULL). */
int ops_refuse_at(fuse_req_t req, fuse_ino_t ino, const char *name, int code,
		  const char *sentence);
/*
 * Refuses to write name (NULL: the job itself) because the job is queued or
 * runs. late: name came too late to be an input, as with cp -r; the job's log
 * says so, once a run. Return: -EBUSY.
 */
int ops_refuse_frozen(fuse_req_t req, struct job *job, const char *name,
		      bool late);

#endif
