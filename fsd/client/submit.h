/* SPDX-License-Identifier: Apache-2.0 */
/* fsd submit: a directory or a program becomes a job, whole or not at all. */
#ifndef FSD_SUBMIT_H
#define FSD_SUBMIT_H

#include "where.h"

struct submit {
	const char *source; /* a directory, or the program */
	const char *name;   /* of the job; NULL: the source's */
	const char *main;   /* of a directory: the file that becomes code.*, or
			       NULL */
	const char *mount;  /* as of where_mount() */
	bool keep;          /* a draft that was refused stays */
	bool follow;        /* links */
};

/*
 * Prepares the job under a name with a dot and renames it, and prints its path.
 * What the mount refuses, and what a signal ends, is removed.
 * Return: 0, 1 or 2 with a sentence on standard error, or 128 + a signal.
 */
int submit_client(const struct submit *s);

#endif
