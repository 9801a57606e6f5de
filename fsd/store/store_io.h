/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that change the state directory, each by store_do(): a fiber
 * waits, the loop does not. Paths are relative to STATE/jobs. For store*.c and
 * node*.c only, but for call_open(), call_write() and call_truncate(). Return:
 * 0 or what the call does, or a negative errno.
 */
#ifndef FSD_STORE_IO_H
#define FSD_STORE_IO_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store.h"

/*
 * openat(), without a link's target and without a new time of access: to note
 * that takes the file system's journal, which may be busy. What somebody else
 * owns (a state directory that was copied) is opened all the same.
 */
static inline int open_quietly(int at, const char *path, int flags)
{
	int fd;

	flags |= O_CLOEXEC | O_NOFOLLOW;
	fd = openat(at, path, flags | O_NOATIME, 0600);
	return fd < 0 && errno == EPERM ? openat(at, path, flags, 0600) : fd;
}

/* By whoever may wait: what a file is, but for this beginning and a newline at its
 * end. Return: 0; -EINVAL: it is something else; negative errno. */
int read_number(int at, const char *path, const char *begins, uint64_t *ret);

int call_mkdir(struct store *s, const char *path);
int call_chmod(struct store *s, const char *path, mode_t mode);
int call_utimens(struct store *s, const char *path,
		 const struct timespec times[2]);
/* O_CLOEXEC and O_NOFOLLOW are added. Return: fd. */
int call_open(struct store *s, const char *path, int flags);
/* All of it. Return: bytes that were written before an error, if any. */
ssize_t call_write(struct store *s, int fd, const void *data, size_t size,
		   off_t off);
int call_truncate(struct store *s, int fd, off_t size);

/*
 * What memory has of a file, without a wait. Return: bytes, all of size or up
 * to the end; -EAGAIN: some of them have to come from the disk. Where a file
 * system cannot tell, they are read.
 */
ssize_t call_read_now(int fd, void *room, size_t size, off_t off);
/* From the disk. */
ssize_t call_read(struct store *s, int fd, void *room, size_t size, off_t off);

/* A new file or directory; its number is in *ret. Nothing is left of one that
 * failed. */
int call_make_file(struct store *s, const char *path, int flags, mode_t mode,
		   struct stat *ret, int *ret_fd);
int call_make_dir(struct store *s, const char *path, mode_t mode,
		  struct stat *ret);

/*
 * A link of a job. On the disk it leads to below STORE_LINK, where nothing can
 * be: whoever goes through the state directory follows none, whatever its target
 * is. Return: 0; the second: the target's length, -EINVAL: it is none of ours;
 * or negative errno.
 */
#define STORE_LINK "/dev/null/"
int call_make_link(struct store *s, const char *path, const char *target,
		   struct stat *ret);
int store_link_read(int at, const char *path, char *room, size_t size);

#endif
