/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.json: what the results of a batch depend on. A later start must have the same
 * program, options and environment; memory, time and other limits may change.
 */
#ifndef FSD_BATCH_IDENTITY_H
#define FSD_BATCH_IDENTITY_H

#include "batch.h"
#include "fsd/client/job_draft.h"
#include "out.h"
#include "vm/os/sha.h"

#define IDENTITY_ID 17 /* 16 hex digits and a NUL */

struct identity {
	char id[IDENTITY_ID];    /* random; the jobs' names contain it */
	char program[SHA_HEX];   /* SHA-256 of the program's bytes; with -C of all files
				  * of the directory */
	struct buf options;      /* owned: a JSON list of texts */
	char environment[256];   /* NAME@ID, or "": the mount's default */
	char image[80];
};

/* Fills m from the options, without id, environment and image. If the program is no
 * regular file, its bytes are read into a memory file and p->fd becomes that file.
 * Return: 0, or an exit code; standard error has the sentence. */
int identity_make(struct identity *m, const struct batch_options *o, struct program *p);
void identity_done(struct identity *m);
/* Sets the environment and the image, as the mount reports them. */
void identity_set_mount(struct identity *m, const struct batch_options *o, int root);

/* Reads batch.json of OUT. Return: 0; -ENOENT; or 2, and standard error has the
 * sentence. */
int identity_read(struct identity *m, struct out *out);
/* Writes batch.json of OUT. replace: an existing one may be replaced. Return: 0; -EEXIST;
 * or 2, and standard error has the sentence. */
int identity_write(const struct identity *m, struct out *out, bool replace);
/* Checks that `now` is the same batch as the one that OUT has. mount: compare the
 * environment, too. Return: 0, or 2; standard error has the sentence. */
int identity_check(const struct identity *was, const struct identity *now,
		   const struct batch_options *o, bool mount);

#endif
