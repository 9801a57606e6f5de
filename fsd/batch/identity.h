/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.json: what the results of a batch depend on. A later start must have the same program,
 * options and environment; memory, time and other limits may change.
 */
#ifndef FSD_BATCH_IDENTITY_H
#define FSD_BATCH_IDENTITY_H

#include "batch.h"
#include "fsd/client/job_draft.h"
#include "out.h"
#include "vm/os/sha.h"

#define IDENTITY_ID 17 /* 16 hex digits and a NUL */

struct identity {
	char id[IDENTITY_ID];    /* random; names of jobs have it */
	char program[SHA_HEX];   /* of its bytes; with -C of all files of the directory */
	struct buf options;      /* owned: a JSON list of texts */
	char environment[256];   /* NAME@ID, or "": the mount's default */
	char image[80];
};

/* Fills it from the options, without id, environment and image. A program that is no regular
 * file is read into memory, and p->fd is that. Return: 0, or an exit code, and standard error
 * has the sentence. */
int identity_make(struct identity *m, const struct batch_options *o, struct program *p);
void identity_done(struct identity *m);
/* Sets environment and image by what the mount says. */
void identity_set_mount(struct identity *m, const struct batch_options *o, int root);

/* Reads that of OUT. Return: 0; -ENOENT; or 2, and standard error has the sentence. */
int identity_read(struct identity *m, struct out *out);
/* Makes that of OUT. replace: another one may be there. Return: 0; -EEXIST; or 2, and
 * standard error has the sentence. */
int identity_write(const struct identity *m, struct out *out, bool replace);
/* Is `now` what OUT began with? mount: it has an environment. Return: 0, or 2, and standard
 * error has the sentence. */
int identity_check(const struct identity *was, const struct identity *now,
		   const struct batch_options *o, bool mount);

#endif
