/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small client of the mount. All calls may wait for the daemon, so they are made on
 * workers only. A path is relative to the mount's root, or to the directory of
 * mount_below(). A call refuses a path that is absolute or has a part that is empty, "."
 * or ".." (-EINVAL), and follows no link. So "PREFIX/" and any text behind it never leads
 * out of PREFIX. The one exception is the path ".", the directory itself.
 */
#ifndef GATEWAY_MOUNT_H
#define GATEWAY_MOUNT_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"
#include "layout/json.h"

struct mount {
	int fd; /* directory at which paths start */
	int root; /* the mount's root; borrowed if it differs from fd */
	const char *path;           /* path of the mount; borrowed */
	char below[NAME_MAX + 1];   /* the job of mount_below(); "": the root */
};

/* Return: 0 or negative errno with a sentence, also in all functions below. */
int mount_open(struct mount *m, const char *path, struct err *err);
/* Opens the directory of one job: a path of ret cannot lead out of it. ret
 * borrows from m; end it with mount_close(). */
int mount_below(const struct mount *m, const char *job, struct mount *ret,
		struct err *err);
void mount_close(struct mount *m);

/* flags as of open(2). Return: a descriptor. */
int mount_file(const struct mount *m, const char *path, int flags,
	       struct err *err);
/* Append all of a file, or of an open one; the buffer's cap limits it. */
int mount_read(const struct mount *m, const char *path, struct buf *out,
	       struct err *err);
int mount_read_all(int fd, struct buf *out);
/* Sets ret to the first line of a file, without its end. Return: 0 (ret is a
 * string), or negative errno, and ret is empty. */
int mount_line(const struct mount *m, const char *path, struct buf *ret);
/* Writes a file with one call; makes it if it is missing. */
int mount_write(const struct mount *m, const char *path, const void *data,
		size_t len, struct err *err);
int mount_json(const struct mount *m, const char *path, json_t **ret,
	       struct err *err);
/* Reads a result.json, whose "value" may have any numbers: integers beyond 64 bits become
 * doubles. A value that the JSON library cannot give is null, and "message" says so unless
 * it has another sentence. */
int mount_result(const struct mount *m, const char *path, json_t **ret, struct err *err);
int mount_mkdir(const struct mount *m, const char *path, struct err *err);
int mount_mkdir_mode(const struct mount *m, const char *path, unsigned mode,
		     struct err *err);
/* Makes or empties a file, and opens it to write. Return: a descriptor. */
int mount_create(const struct mount *m, const char *path, unsigned mode,
		 struct err *err);
/* stat(2) of a path; no link is followed. */
int mount_stat(const struct mount *m, const char *path, struct stat *ret,
	       struct err *err);
int mount_rename(const struct mount *m, const char *from, const char *to,
		 struct err *err);
/* Removes a file, or a directory with everything in it. */
int mount_remove(const struct mount *m, const char *path, struct err *err);
/* Removes a file; a directory fails with -EISDIR. */
int mount_unlink(const struct mount *m, const char *path, struct err *err);
int mount_rmdir(const struct mount *m, const char *path, struct err *err);
/*
 * Calls fn for each name except "." and ".."; a negative result ends the call.
 */
int mount_list(const struct mount *m, const char *path,
	       int (*fn)(void *arg, const char *name), void *arg,
	       struct err *err);

/* Sets the sentence of .fsd/last_error, if the last refusal was at that path or
 * below; else the errno's text. Return: code. */
int mount_why(const struct mount *m, const char *path, int code,
	      struct err *err);

/* Writes a verb of jobtree(5) to a job's ctl. */
int mount_ctl(const struct mount *m, const char *name, const char *verb,
	    struct err *err);
/* Removes a job with everything in it; a missing job is no failure. */
int mount_remove_job(const struct mount *m, const char *name, struct err *err);

#endif
