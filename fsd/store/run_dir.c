/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of runs (rN/), sink/ and removed.N/, and the files `log` and `error`.
 * Functions that use store_trash() or call_*() pause the calling fiber; the others do
 * their system calls on the caller's thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_io.h"
#include "fsd/base/read_dir.h"

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static void run_path(uint64_t no, unsigned run, const char *name,
		     char *ret_path)
{
	char tail[NAME_MAX + 32];

	snprintf(tail, sizeof(tail), "r%u%s%s", run, name ? "/" : "",
		 name ? name : "");
	store_job_path(no, tail, ret_path);
}

void store_sink_drop(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	store_job_path(no, "sink", path);
	store_trash(s, path);
}

int store_sink_make(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	store_sink_drop(s, no); /* left by an earlier server */
	store_job_path(no, "sink", path);
	return call_mkdir(s, path);
}

static void removed_path(uint64_t no, uint64_t queued_no, char *ret_path)
{
	char tail[40];

	snprintf(tail, sizeof(tail), STORE_REMOVED "%" PRIu64, queued_no);
	store_job_path(no, tail, ret_path);
}

int store_removed_make(struct store *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX];
	int r;

	removed_path(no, queued_no, path);
	r = call_mkdir(s, path);
	if ((r == -ENOSPC || r == -EDQUOT) && store_give_reserve(s)) {
		store_reserve_used(s);
		r = call_mkdir(s, path);
	}
	return r;
}

void store_removed_drop(struct store *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX];

	removed_path(no, queued_no, path);
	store_trash(s, path);
}

/* True for an empty stream: a reader may have it open and wait for the next run's output. */
static bool is_blank(int dir, const char *name)
{
	struct stat st;

	return (!strcmp(name, "stdout") || !strcmp(name, "stderr")) &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && !st.st_size;
}

int store_run_reset(struct store *s, uint64_t no, unsigned run,
		    const char *keep)
{
	char path[STORE_PATH_MAX];
	struct dirent *e;
	DIR *dir;
	int r;

	run_path(no, run, NULL, path);
	r = begin_entries(openat(store_jobs_fd(s), path,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					 O_NOFOLLOW),
			  &dir);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while ((r = next_entry(dir, &e)) == 0 && e) {
		if (is_blank(dirfd(dir), e->d_name) ||
		    (keep && !strcmp(e->d_name, keep)))
			continue;
		run_path(no, run, e->d_name, path);
		r = store_trash(s, path);
		if (r < 0)
			break;
	}
	closedir(dir);
	return r;
}

int store_run_make(struct store *s, uint64_t no, unsigned run, bool again)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, NULL, path);
	if (mkdirat(store_jobs_fd(s), path, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (again) /* the run was requeued, after store_run_reset() */
		return 0;
	store_trash(s, path); /* left by a crash */
	return mkdirat(store_jobs_fd(s), path, 0700) < 0 ? -errno : 0;
}

void store_run_drop(struct store *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	if (!run)
		return;
	run_path(no, run, NULL, path);
	store_trash(s, path);
}

bool store_run_has(struct store *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, NULL, path);
	return faccessat(store_jobs_fd(s), path, F_OK, 0) == 0 ||
	       errno != ENOENT;
}

int store_stream_open(struct store *s, uint64_t no, unsigned run,
		      const char *name)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return call_open(s, path, O_RDWR | O_CREAT | O_APPEND);
}

int store_output_make(struct store *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, "output", path);
	return call_mkdir(s, path);
}

void store_output_drop(struct store *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, "output", path);
	store_trash(s, path);
}

int store_run_publish(struct store *s, uint64_t no, unsigned run,
		      const char *name, const void *data, size_t len)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	int r;

	run_path(no, run, name, path);
	fd = openat(store_jobs_fd(s), path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	r = fd < 0 ? -errno : write_all(fd, data, len);
	if (r < 0 && fd >= 0)
		unlinkat(store_jobs_fd(s), path, 0);
	return r;
}

int store_run_unpublish(struct store *s, uint64_t no, unsigned run,
			const char *name)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return unlinkat(store_jobs_fd(s), path, 0) < 0 && errno != ENOENT
		       ? -errno
		       : 0;
}

int store_run_open(struct store *s, uint64_t no, unsigned run,
		   const char *name)
{
	char path[STORE_PATH_MAX];
	int fd;

	run_path(no, run, name, path);
	fd = open_quietly(store_jobs_fd(s), path, O_RDONLY);
	return fd < 0 ? -errno : fd;
}

static int stat_at(struct store *s, const char *path, struct stat *ret)
{
	return fstatat(store_jobs_fd(s), path, ret, AT_SYMLINK_NOFOLLOW) < 0
		       ? -errno
		       : 0;
}

int store_run_stat(struct store *s, uint64_t no, unsigned run,
		   const char *name, struct stat *ret)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return stat_at(s, path, ret);
}

/* Appends all of data, or nothing: the caller will append it again. */
static int append_all(int fd, const void *data, size_t len, off_t *ret_size)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_size = st.st_size + (off_t)len;
	r = write_all(fd, data, len);
	if (r < 0 && ftruncate(fd, st.st_size) < 0)
		return -errno;
	return r;
}

int store_run_append(struct store *s, uint64_t no, unsigned run,
		     const char *name, const void *data, size_t len)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	off_t size;

	run_path(no, run, name, path);
	fd = openat(store_jobs_fd(s), path,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	return fd < 0 ? -errno : append_all(fd, data, len, &size);
}

int store_run_cut(struct store *s, uint64_t no, unsigned run, const char *name,
		  uint64_t size)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;

	run_path(no, run, name, path);
	fd = openat(store_jobs_fd(s), path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 || ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

/* Longer than any sentence that fsd writes. */
#define ERROR_MAX 8192

int store_error_write(struct store *s, uint64_t no, const char *text)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;

	store_job_path(no, "error", path);
	if (!text)
		return unlinkat(store_jobs_fd(s), path, 0) < 0 &&
				       errno != ENOENT
			       ? -errno
			       : 0;
	fd = openat(store_jobs_fd(s), path,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	return fd < 0 ? -errno : write_all(fd, text, strlen(text));
}

char *store_error_read(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX], text[ERROR_MAX];
	auto_close int fd = -1;
	ssize_t n;

	store_job_path(no, "error", path);
	fd = openat(store_jobs_fd(s), path,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	return n > 0 ? strndup(text, (size_t)n) : NULL;
}

/* Reads the newer half of a log, from the start of a line on. Return: its length, or
 * negative errno. */
static ssize_t log_tail(int fd, off_t size, char room[LIMIT_LOG_BYTES / 2])
{
	const size_t keep = LIMIT_LOG_BYTES / 2;
	ssize_t n = pread(fd, room, keep, size - (off_t)keep);
	char *line = n > 0 ? memchr(room, '\n', (size_t)n) : NULL;

	if (n < 0)
		return -errno;
	if (!line)
		return 0;
	n -= ++line - room;
	memmove(room, line, (size_t)n);
	return n;
}

/* Replaces the log by a new file with its newer half. A reader of the old file reads on to
 * that file's end. */
static int log_cut(struct store *s, uint64_t no, int fd, off_t size)
{
	char path[STORE_PATH_MAX], new_path[STORE_PATH_MAX], when[32];
	auto_free char *tail = malloc(LIMIT_LOG_BYTES / 2);
	ssize_t n = tail ? log_tail(fd, size, tail) : -ENOMEM;
	auto_buf struct buf text = { .cap = LIMIT_LOG_BYTES };
	auto_close int new_fd = -1;
	int r;

	if (n < 0)
		return (int)n;
	time_render(realtime_ns(), when);
	buf_fmt(&text, "%s what was here before is left out: at most %llu KiB "
		"are kept\n", when, (unsigned long long)LIMIT_LOG_BYTES >> 10);
	if (buf_add(&text, tail, (size_t)n) < 0)
		return text.failed;
	store_job_path(no, "log", path);
	store_job_path(no, "log.new", new_path);
	new_fd = openat(store_jobs_fd(s), new_path,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	r = new_fd < 0 ? -errno : write_all(new_fd, text.data, text.len);
	if (r == 0 && renameat(store_jobs_fd(s), new_path, store_jobs_fd(s),
			       path) < 0)
		r = -errno;
	return r;
}

int store_log(struct store *s, uint64_t no, const char *lines, size_t len)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	off_t size = 0;
	int r;

	store_job_path(no, "log", path);
	fd = openat(store_jobs_fd(s), path,
		    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : append_all(fd, lines, len, &size);
	if (r == 0 && size > (off_t)LIMIT_LOG_BYTES)
		r = log_cut(s, no, fd, size);
	return r;
}

int store_log_stat(struct store *s, uint64_t no, struct stat *ret)
{
	char path[STORE_PATH_MAX];

	store_job_path(no, "log", path);
	return stat_at(s, path, ret);
}

int store_log_open(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];
	int fd;

	store_job_path(no, "log", path);
	fd = open_quietly(store_jobs_fd(s), path, O_RDONLY);
	return fd < 0 ? -errno : fd;
}
