/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls on the state directory, each by store_do(): a fiber waits, the loop does
 * not. Paths are relative to STATE/jobs. For this room and fsd/files; other rooms may use
 * call_open(), call_write() and call_truncate(). Return: 0 or the call's own result, or
 * a negative errno.
 */
#ifndef FSD_STORE_IO_H
#define FSD_STORE_IO_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store.h"

/*
 * openat() that follows no link and updates no access time: writing that time needs the
 * file system's journal, which may be busy. O_NOATIME fails with EPERM on files of
 * another owner (in a copied state directory); they are opened without it.
 */
static inline int open_quietly(int at, const char *path, int flags)
{
	int fd;

	flags |= O_CLOEXEC | O_NOFOLLOW;
	fd = openat(at, path, flags | O_NOATIME, 0600);
	return fd < 0 && errno == EPERM ? openat(at, path, flags, 0600) : fd;
}

/* Reads a file that must be `begins`, a decimal number, and a newline. Blocks. Return: 0;
 * -EINVAL: the file has other text; another negative errno. */
int read_number(int at, const char *path, const char *begins, uint64_t *ret);

int call_mkdir(struct store *s, const char *path);
int call_chmod(struct store *s, const char *path, mode_t mode);
int call_utimens(struct store *s, const char *path,
		 const struct timespec times[2]);
/* Adds O_CLOEXEC, O_NOFOLLOW and O_NOATIME (open_quietly()). Return: an owned descriptor,
 * or negative errno. */
int call_open(struct store *s, const char *path, int flags);
/* Writes all of data. Return: the bytes written; fewer than size if an error came after
 * some of them; negative errno if it came first. */
ssize_t call_write(struct store *s, int fd, const void *data, size_t size,
		   off_t off);
int call_truncate(struct store *s, int fd, off_t size);

/*
 * Reads from the page cache alone (RWF_NOWAIT). Return: bytes: size, or fewer at the end
 * of the file; -EAGAIN: some of them are on the disk only; another negative errno. On a
 * file system without RWF_NOWAIT it reads, and may block.
 */
ssize_t call_read_now(int fd, void *room, size_t size, off_t off);
/* pread(2) on a thread for the disk. */
ssize_t call_read(struct store *s, int fd, void *room, size_t size, off_t off);

/* Makes a file or a directory that must not exist; *ret is its stat(2). *ret_fd is owned.
 * On failure it removes what it made. */
int call_make_file(struct store *s, const char *path, int flags, mode_t mode,
		   struct stat *ret, int *ret_fd);
int call_make_dir(struct store *s, const char *path, mode_t mode,
		  struct stat *ret);

/*
 * A symbolic link of a job. Its target on the disk begins with STORE_LINK, a path that
 * cannot exist. So a program that walks through the state directory (a backup) never
 * follows a link to a target that a user chose. call_make_link() returns 0;
 * store_link_read() copies the user's target without that prefix and returns its length,
 * or -EINVAL for a link without the prefix; each may return another negative errno.
 */
#define STORE_LINK "/dev/null/"
int call_make_link(struct store *s, const char *path, const char *target,
		   struct stat *ret);
int store_link_read(int at, const char *path, char *room, size_t size);

#endif
