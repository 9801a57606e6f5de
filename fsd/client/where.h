/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the mount and the jobs that a user names to a command. Uses only files of mounts,
 * and the kernel's table of mounts for the usual place.
 */
#ifndef FSD_WHERE_H
#define FSD_WHERE_H

#include <limits.h>

#include "layout/layout.h"

struct job_place {
	char mnt[PATH_MAX];       /* the mount's root, without a link in it */
	char name[NAME_MAX + 1];  /* the job's name in that mount */
};

/*
 * Finds the mount of a command, as which_mount() chooses it; asked: --mount, or
 * NULL. It must answer.
 * Return: 0; -ENOENT: none of them is there; or negative errno.
 */
int where_mount(const char *asked, char ret[PATH_MAX], struct err *err);

/* Checks that the path is the root of a mount of fsd that answers. Return: 0 or negative
 * errno. */
int where_is_mount(const char *mnt, struct err *err);

/*
 * Checks that a new file or directory can be put into the directory `at` by a rename, as
 * beside.h does it. A mount of fsd refuses most: in its root each directory is a job.
 * Return: 0 or negative errno with a sentence.
 */
int where_takes(int at, const char *path, struct err *err);

/* Reads the last sentence that the mount has for this user, if the name is in it. root: a
 * descriptor of the mount. Return: false: there is none, and ret is "". */
bool where_last_error(int root, const char *name, char *ret, size_t size);

/* Writes the path of a sandbox's directory. Return: 0; -EINVAL: it cannot be a sandbox's
 * name. */
#define WHERE_SANDBOX (PATH_MAX + NAME_MAX + 32)
int where_sandbox(const char *mnt, const char *name, char ret[WHERE_SANDBOX]);

/*
 * Finds a job. text is a path of a job's directory in any mount, or a name. A
 * name is looked for in the mount that where_mount() finds; without --mount the
 * current directory comes first, if it is a mount and has that name.
 * Return: 0 or negative errno.
 */
int where_job(const char *asked, const char *text, struct job_place *ret,
	      struct err *err);

/* Writes the job's path, as a user would write it. */
void where_path(const struct job_place *job, char ret[PATH_MAX + NAME_MAX + 2]);
/* Opens the job's directory. Return: descriptor or negative errno. */
int where_open(const struct job_place *job, struct err *err);

#endif
