/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to outlive the host: durability.md. Everything here is for threads,
 * and does nothing if the mount is a relaxed one.
 *
 * A file system that has a journal writes all that was asked of it in one go:
 * so the writing of all files is begun before the first of them is waited for.
 */
#include <fcntl.h>
#include <unistd.h>

#include "depot.h"
#include "entries.h"

static int visit(int at, const char *name, int (*fn)(int fd, bool is_dir));

/* What is in it, then itself. fd is owned. */
static int visit_dir(int fd, int (*fn)(int fd, bool is_dir))
{
	struct dirent *e;
	DIR *dir;
	int r = begin_entries(fd, &dir);

	if (r < 0)
		return r;
	while (r == 0 && (r = next_entry(dir, &e)) == 0 && e)
		r = visit(dirfd(dir), e->d_name, fn);
	if (r == 0)
		r = fn(dirfd(dir), true);
	closedir(dir);
	return r;
}

static int visit(int at, const char *name, int (*fn)(int fd, bool is_dir))
{
	auto_close int fd = openat(
		at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return visit_dir(take_fd(&fd), fn);
	return fn(fd, false);
}

static int begin(int fd, bool is_dir)
{
	/* Of what fails here the next one says so. */
	if (!is_dir)
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return 0;
}

static int finish(int fd, bool is_dir)
{
	(void)is_dir;
	return fsync(fd) < 0 ? -errno : 0;
}

static int sync_path(struct depot *s, const char *path)
{
	auto_close int fd = openat(depot_jobs_fd(s), path,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int sync_part(struct depot *s, uint64_t no, const char *part)
{
	char path[STORE_PATH_MAX], meta[STORE_PATH_MAX], job[STORE_PATH_MAX];
	int r;

	depot_job_path(no, part, path);
	depot_job_path(no, "meta", meta);
	depot_job_path(no, NULL, job);
	r = visit(depot_jobs_fd(s), path, begin);
	if (r == 0)
		r = visit(depot_jobs_fd(s), meta, begin);
	if (r == 0)
		r = visit(depot_jobs_fd(s), path, finish);
	return r < 0 ? r : sync_path(s, job);
}

int depot_sync_inputs(struct depot *s, uint64_t no)
{
	int r = depot_is_relaxed(s) ? 0 : sync_part(s, no, "files");

	return r < 0 || depot_is_relaxed(s) ? r : sync_path(s, ".");
}

int depot_sync_run(struct depot *s, uint64_t no, unsigned run)
{
	char part[32];

	snprintf(part, sizeof(part), "r%u", run);
	return depot_is_relaxed(s) ? 0 : sync_part(s, no, part);
}

int depot_sync_words(struct depot *s, uint64_t no, const char *name)
{
	char path[STORE_PATH_MAX], job[STORE_PATH_MAX];
	int r;

	if (depot_is_relaxed(s))
		return 0;
	depot_job_path(no, name, path);
	depot_job_path(no, NULL, job);
	r = sync_path(s, path);
	return r < 0 && r != -ENOENT ? r : sync_path(s, job);
}

int depot_meta_sync(struct depot *s, uint64_t no)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;

	if (depot_is_relaxed(s))
		return 0;
	depot_job_path(no, "meta", path);
	fd = openat(depot_jobs_fd(s), path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 || fdatasync(fd) < 0 ? -errno : 0;
}

int depot_meta_commit(struct depot *s, const struct job_meta *meta)
{
	int r = depot_meta_write(s, meta);

	return r < 0 ? r : depot_meta_sync(s, meta->no);
}

struct again {
	struct depot *depot;
	const struct job_meta *meta;
};

/* The job is worth more than what became of the attempt before. */
static int do_again(void *arg)
{
	const struct again *a = arg;

	if (depot_sync_words(a->depot, a->meta->no, "attempts") < 0)
		log_warn("job %s: how attempt %u failed may not outlive the "
			 "host", a->meta->name, a->meta->attempt - 1);
	return depot_meta_write(a->depot, a->meta);
}

int depot_meta_again(struct depot *s, const struct job_meta *meta)
{
	struct again a = { s, meta };

	return depot_do(s, do_again, &a);
}
