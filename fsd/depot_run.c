/* SPDX-License-Identifier: Apache-2.0 */
/* What the state directory keeps of a job's runs, and of its log. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "depot_calls.h"

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
	char tail[64];

	snprintf(tail, sizeof(tail), "r%u%s%s", run, name ? "/" : "",
		 name ? name : "");
	depot_job_path(no, tail, ret_path);
}

void depot_sink_drop(struct depot *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	depot_job_path(no, "sink", path);
	depot_trash(s, path);
}

int depot_sink_make(struct depot *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	depot_sink_drop(s, no); /* of an earlier daemon */
	depot_job_path(no, "sink", path);
	return call_mkdir(s, path);
}

int depot_run_make(struct depot *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, NULL, path);
	if (mkdirat(depot_jobs_fd(s), path, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	depot_trash(s, path); /* a crash has left it */
	return mkdirat(depot_jobs_fd(s), path, 0700) < 0 ? -errno : 0;
}

void depot_run_tidy(struct depot *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX], id[STORE_ID_SIZE];
	struct dirent *e;
	uint64_t n;
	DIR *dir;

	depot_id(no, id);
	dir = fdopendir(openat(depot_jobs_fd(s), id,
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] != 'r' ||
		    parse_u64(e->d_name + 1, 0, UINT32_MAX, &n) < 0 || n == run)
			continue;
		snprintf(path, sizeof(path), "%s/%s", id, e->d_name);
		depot_trash(s, path);
	}
	if (dir)
		closedir(dir);
}

bool depot_run_has(struct depot *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, NULL, path);
	return faccessat(depot_jobs_fd(s), path, F_OK, 0) == 0;
}

int depot_stream_open(struct depot *s, uint64_t no, unsigned run,
		      const char *name)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return call_open(s, path, O_RDWR | O_CREAT | O_APPEND);
}

int depot_output_make(struct depot *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, "output", path);
	return call_mkdir(s, path);
}

int depot_run_publish(struct depot *s, uint64_t no, unsigned run,
		      const char *name, const void *data, size_t len)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	int r;

	run_path(no, run, name, path);
	fd = openat(depot_jobs_fd(s), path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	r = fd < 0 ? -errno : write_all(fd, data, len);
	if (r < 0 && fd >= 0)
		unlinkat(depot_jobs_fd(s), path, 0);
	return r;
}

int depot_run_open(struct depot *s, uint64_t no, unsigned run,
		   const char *name)
{
	char path[STORE_PATH_MAX];
	int fd;

	run_path(no, run, name, path);
	fd = openat(depot_jobs_fd(s), path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int stat_at(struct depot *s, const char *path, struct stat *ret)
{
	return fstatat(depot_jobs_fd(s), path, ret, AT_SYMLINK_NOFOLLOW) < 0
		       ? -errno
		       : 0;
}

int depot_run_stat(struct depot *s, uint64_t no, unsigned run,
		   const char *name, struct stat *ret)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return stat_at(s, path, ret);
}

struct append {
	int at;
	const char *path;
	const void *data;
	size_t len;
};

/* What was not written whole is taken back: it will be tried again. */
static int do_append(void *arg)
{
	const struct append *a = arg;
	auto_close int fd = openat(a->at, a->path, O_WRONLY | O_APPEND |
						  O_CREAT | O_CLOEXEC |
						  O_NOFOLLOW,
				   0600);
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno
					     : write_all(fd, a->data, a->len);

	if (r < 0 && fd >= 0 && ftruncate(fd, st.st_size) < 0)
		return -errno;
	return r;
}

static int append(struct depot *s, const char *path, const void *data,
		  size_t len)
{
	struct append a = { depot_jobs_fd(s), path, data, len };

	return depot_do(s, do_append, &a);
}

int depot_run_append(struct depot *s, uint64_t no, unsigned run,
		     const char *name, const void *data, size_t len)
{
	char path[STORE_PATH_MAX];

	run_path(no, run, name, path);
	return append(s, path, data, len);
}

int depot_log(struct depot *s, uint64_t no, const char *lines, size_t len)
{
	char path[STORE_PATH_MAX];

	depot_job_path(no, "log", path);
	return append(s, path, lines, len);
}

int depot_log_stat(struct depot *s, uint64_t no, struct stat *ret)
{
	char path[STORE_PATH_MAX];

	depot_job_path(no, "log", path);
	return stat_at(s, path, ret);
}

int depot_log_open(struct depot *s, uint64_t no)
{
	char path[STORE_PATH_MAX];
	int fd;

	depot_job_path(no, "log", path);
	fd = openat(depot_jobs_fd(s), path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}
