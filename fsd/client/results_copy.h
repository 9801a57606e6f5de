/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the results of a job that is done into a directory. The caller opens that
 * directory, and renames it when it is complete, so a reader never sees half of the
 * results.
 */
#ifndef FSD_RESULTS_COPY_H
#define FSD_RESULTS_COPY_H

#include <stdbool.h>
#include <sys/types.h>

#include "fsd/local/tree_copy.h"

/* Names of files and directories in a job, NULL at the end: stdout stderr result.json
 * output exit_code. */
extern const char *const result_names[];

struct results_copy {
	const char *const *names; /* NULL: copy all names in result_names */
	int job;       /* borrowed: the job's directory */
	int to;        /* borrowed: gets the copies */
	mode_t mask;   /* the umask: a job is private to its user, the copies are not */
	bool filled;   /* without empty files and directories */
	struct tree_copy copy; /* may: the caller's; ret, of an error: path, why, writing */
};

/* Copies the files. Streams are left out for a job that never ran. exit_code comes last.
 * Return: 0, the value that copy.may() returned, or negative errno with c->copy. */
int results_copy(struct results_copy *c);

#endif
