/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every error of an operation goes to the kernel through here, so that no
 * refusal is without its sentence in .fsd/last_error: its own, by ops_refuse(),
 * or one that is made of the error's number.
 */
#ifndef FSD_OPS_REFUSAL_H
#define FSD_OPS_REFUSAL_H

#include "ops.h"

/* Answers that it was done. */
void ops_done(fuse_req_t req);
/* Answers with the error -r, of name in the directory ino, or of ino itself
 * (name: NULL). */
void ops_fail(fuse_req_t req, fuse_ino_t ino, const char *name, int r);
/* Answers 0 or the error -r, which is no refusal, or whose sentence was said by
 * somebody else than this request: one that waited for the job to be examined,
 * a probe such as access(2). */
void ops_answer(fuse_req_t req, int r);
/* As ops_refuse(), with the path of name in ino, or of ino itself (NULL). */
int ops_refuse_at(fuse_req_t req, fuse_ino_t ino, const char *name, int code,
		  const char *sentence);
/* The job is queued or runs, and name is not to be written (NULL: the job itself
 * is meant). late: it is a file that was to come with the others, as cp -r does
 * it; the job's log says so, once a run. Return: -EBUSY. */
int ops_refuse_frozen(fuse_req_t req, struct job *job, const char *name,
		      bool late);

#endif
