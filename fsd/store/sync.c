/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syncs inputs, runs and records, as durability.md promises. All functions block and run
 * on threads, except store_meta_again(), which uses store_do(). On a relaxed mount they
 * sync nothing.
 *
 * A journal commits everything that is pending at once, and a disk takes several writes
 * at a time. So files are synced in batches: the write-back of each file starts at once,
 * and several threads call fsync(2) for one batch.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store.h"
#include "fsd/base/read_dir.h"

/* Files and directories in one batch. */
#define TOGETHER 16

struct batch {
	struct store *store;
	int fd[TOGETHER]; /* owned */
	int result[TOGETHER];
	unsigned count;
	const char *below;    /* borrowed: "/ID/files/", the prefix of noted paths */
	struct buf *unsynced; /* borrowed: gets the path of each file that fails; or NULL */
};

static int sync_one(void *arg, unsigned i)
{
	struct batch *b = arg;

	return b->result[i] = fsync(b->fd[i]) < 0 ? -errno : 0;
}

/* Notes the path of a file whose fsync(2) failed. Directories are left out: a file system
 * that cannot write a directory stops, but after a failed data write it continues. */
static void note_unsynced(struct batch *b, int fd)
{
	char link[32], path[STORE_PATH_MAX];
	const char *name = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n > 0 && n < (ssize_t)sizeof(path)) {
		path[n] = '\0';
		name = strstr(path, b->below);
	}
	/* An empty name means any file. */
	name = name ? name + strlen(b->below) : "";
	buf_add(b->unsynced, name, strlen(name) + 1);
}

static int finish(struct batch *b)
{
	int r = store_share(b->store, sync_one, b, b->count);

	for (unsigned i = 0; i < b->count; i++) {
		if (b->result[i] < 0 && b->unsynced)
			note_unsynced(b, b->fd[i]);
		fd_close(&b->fd[i]);
	}
	b->count = 0;
	return r;
}

/* Adds fd (owned; or -1 with errno) to the batch. */
static int add(struct batch *b, int fd)
{
	if (fd < 0)
		return -errno;
	/* An error here is ignored: fsync(2) reports it. */
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	b->fd[b->count++] = fd;
	return b->count == TOGETHER ? finish(b) : 0;
}

static int add_path(struct batch *b, const char *path)
{
	return add(b, openat(store_jobs_fd(b->store), path,
			     O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
}

static int visit(struct batch *b, int at, const char *name);

/* Adds the entries of a directory, then the directory. fd is owned. */
static int visit_dir(struct batch *b, int fd)
{
	struct dirent *e;
	DIR *dir;
	int r = begin_entries(fd, &dir);

	if (r < 0)
		return r;
	while (r == 0 && (r = next_entry(dir, &e)) == 0 && e)
		r = visit(b, dirfd(dir), e->d_name);
	if (r == 0)
		r = add(b, fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0));
	closedir(dir);
	return r;
}

static int visit(struct batch *b, int at, const char *name)
{
	auto_close int fd = openat(
		at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	/* ELOOP: a symbolic link is durable with its directory. */
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	return S_ISDIR(st.st_mode) ? visit_dir(b, take_fd(&fd))
				   : add(b, take_fd(&fd));
}

static int sync_path(struct store *s, const char *path)
{
	auto_close int fd = openat(store_jobs_fd(s), path,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Starts the write-back of the record; store_meta_commit() syncs it later. */
static void begin_record(struct store *s, const char *path)
{
	auto_close int fd = openat(store_jobs_fd(s), path,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0)
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Syncs ID/part and the job's directory. above: the directory of the job's directory, or
 * NULL if its entry is durable already. unsynced: gets the files that failed, or NULL. */
static int sync_part(struct store *s, uint64_t no, const char *part,
		     const char *above, struct buf *unsynced)
{
	char path[STORE_PATH_MAX], id[STORE_ID_SIZE], below[80];
	struct batch b = { .store = s, .below = below, .unsynced = unsynced };
	int r, last;

	store_id(no, id);
	snprintf(below, sizeof(below), "/%s/%s/", id, part);

	store_job_path(no, "meta", path);
	begin_record(s, path);
	store_job_path(no, part, path);
	r = visit(&b, store_jobs_fd(s), path);
	store_job_path(no, NULL, path);
	if (r == 0)
		r = add_path(&b, path);
	if (r == 0 && above)
		r = add_path(&b, above);
	last = finish(&b);
	return r < 0 ? r : last;
}

int store_sync_inputs(struct store *s, uint64_t no, struct buf *ret_unsynced)
{
	const struct buf all = { .data = (char[]){ "" }, .len = 1 };
	int r = store_is_relaxed(s)
			? 0
			: sync_part(s, no, "files", ".", ret_unsynced);

	if ((ret_unsynced->len || ret_unsynced->failed) &&
	    store_unsynced_write(s, no, ret_unsynced->failed ? &all
							     : ret_unsynced) < 0)
		log_warn("%s: which inputs the disk has not taken cannot be "
			 "stored", store_dir(s));
	return r;
}

int store_sync_run(struct store *s, uint64_t no, unsigned run)
{
	char part[32];

	snprintf(part, sizeof(part), "r%u", run);
	return store_is_relaxed(s) ? 0 : sync_part(s, no, part, NULL, NULL);
}

int store_sync_result(struct store *s, uint64_t no, unsigned run)
{
	char path[STORE_PATH_MAX], name[48];
	int r = 0;

	if (store_is_relaxed(s))
		return 0;
	snprintf(name, sizeof(name), "r%u/result.json", run);
	store_job_path(no, name, path);
	r = sync_path(s, path);
	*strrchr(path, '/') = '\0';
	return r < 0 ? r : sync_path(s, path);
}

int store_sync_words(struct store *s, uint64_t no, const char *name)
{
	char path[STORE_PATH_MAX], job[STORE_PATH_MAX];
	int r;

	if (store_is_relaxed(s))
		return 0;
	store_job_path(no, name, path);
	store_job_path(no, NULL, job);
	r = sync_path(s, path);
	return r < 0 && r != -ENOENT ? r : sync_path(s, job);
}

struct again {
	struct store *store;
	const struct job_meta *meta;
};

/* Syncs `attempts`, then writes meta. A failed sync is only logged: losing `attempts`
 * costs less than the job. */
static int do_again(void *arg)
{
	const struct again *a = arg;

	if (store_sync_words(a->store, a->meta->no, "attempts") < 0)
		log_warn("job %s: how attempt %u failed may not outlive the "
			 "host", a->meta->name, a->meta->attempt - 1);
	return store_meta_write(a->store, a->meta);
}

int store_meta_again(struct store *s, const struct job_meta *meta)
{
	struct again a = { s, meta };

	return store_do(s, do_again, &a);
}
