/* SPDX-License-Identifier: Apache-2.0 */
#include "depot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chores.h"
#include "erase.h"

struct depot {
	char *dir;
	int root, jobs, trash, lock; /* owned */
	uint64_t next_no, next_trash;
	struct chores *threads[DEPOT_THREADS];
};

/* --- small helpers ------------------------------------------------------ */

static int open_dir(int at, const char *name, struct err *err)
{
	int fd;

	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "cannot make %s", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, -errno, "cannot open %s", name);
	return fd;
}

/* --- deletion, on the worker -------------------------------------------- */

struct trash_task {
	struct task task;
	int trash; /* borrowed */
	char name[32];
};

static int trash_work(struct task *t)
{
	struct trash_task *tt = container_of(t, struct trash_task, task);

	erase_tree(tt->trash, tt->name);
	return 0;
}

static void trash_done(struct task *t, int result)
{
	(void)result;
	free(container_of(t, struct trash_task, task));
}

static int trash_add(struct depot *s, const char *name)
{
	struct trash_task *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM; /* the next start empties the trash */
	t->task.work = trash_work;
	t->task.done = trash_done;
	t->trash = s->trash;
	snprintf(t->name, sizeof(t->name), "%s", name);
	r = depot_chore(s, DEPOT_CHORES, &t->task);
	if (r < 0)
		free(t);
	return r;
}

int depot_trash(struct depot *s, const char *path)
{
	char name[32];

	snprintf(name, sizeof(name), "%llu",
		 (unsigned long long)s->next_trash++);
	if (renameat(s->jobs, path, s->trash, name) < 0)
		return errno == ENOENT ? 0 : -errno;
	return trash_add(s, name);
}

int depot_chore(struct depot *s, enum depot_thread thread, struct task *t)
{
	if (!s->threads[thread])
		return -ESHUTDOWN;
	chores_add(s->threads[thread], t);
	return 0;
}

struct close_task {
	struct task task;
	int fd; /* owned */
};

static int close_work(struct task *t)
{
	fd_close(&container_of(t, struct close_task, task)->fd);
	return 0;
}

static void close_done(struct task *t, int result)
{
	(void)result;
	free(container_of(t, struct close_task, task));
}

void depot_close_file(struct depot *s, int fd)
{
	struct close_task *c = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)DEPOT_LARGE)
		c = calloc(1, sizeof(*c));
	if (c) {
		c->task.work = close_work;
		c->task.done = close_done;
		c->fd = fd;
		if (depot_chore(s, DEPOT_CHORES, &c->task) == 0)
			return;
		free(c);
	}
	fd_close(&fd);
}

/* What an earlier daemon did not get to. */
static void trash_leftovers(struct depot *s)
{
	DIR *dir = fdopendir(openat(s->trash, ".", O_RDONLY | O_DIRECTORY |
							   O_CLOEXEC));
	struct dirent *e;
	uint64_t n;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (parse_u64(e->d_name, 0, UINT64_MAX - 1, &n) < 0)
			continue;
		s->next_trash = MAX(s->next_trash, n + 1);
		trash_add(s, e->d_name);
	}
	closedir(dir);
}

/* --- opening ------------------------------------------------------------ */

int depot_make_dirs(const char *dir)
{
	char path[4096];
	char *slash;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int take_lock(struct depot *s, struct err *err)
{
	s->lock = openat(s->root, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_sys(err, -errno, "cannot open %s/lock", s->dir);
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY,
			       "another fsd serves the state directory %s; "
			       "stop it, or give this one its own with --state",
			       s->dir);
	return 0;
}

static int open_parts(struct depot *s, struct err *err)
{
	int r = depot_make_dirs(s->dir);
	bool fresh;

	if (r < 0)
		return err_sys(err, r, "cannot make the state directory %s",
			       s->dir);
	s->root = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return err_sys(err, -errno, "cannot open %s", s->dir);
	r = take_lock(s, err);
	if (r < 0)
		return r;
	fresh = faccessat(s->root, "jobs", F_OK, 0) < 0 && errno == ENOENT;
	r = depot_format_check(s->root, s->dir, fresh, err);
	if (r < 0)
		return r;
	s->jobs = open_dir(s->root, "jobs", err);
	s->trash = s->jobs < 0 ? s->jobs : open_dir(s->root, "trash", err);
	return MIN(s->trash, 0);
}

int depot_open(struct loop *loop, const char *dir, struct depot **ret_depot,
	       struct err *err)
{
	struct depot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_sys(err, -ENOMEM, "state directory");
	s->root = s->jobs = s->trash = s->lock = -1;
	s->dir = strdup(dir);
	r = s->dir ? open_parts(s, err) : -ENOMEM;
	for (int i = 0; r == 0 && i < DEPOT_THREADS; i++)
		r = chores_new(loop, &s->threads[i]);
	if (r < 0) {
		depot_close(s);
		return r;
	}
	/* Numbers are never used twice, even if the clock goes back a little:
	 * depot_scan() raises this above every number that it finds. */
	s->next_no = realtime_ns() / 1000; /* not what a daemon before us gave */
	trash_leftovers(s);
	*ret_depot = s;
	return 0;
}

void depot_close(struct depot *s)
{
	if (!s)
		return;
	depot_finish_chores(s);
	fd_close(&s->jobs);
	fd_close(&s->trash);
	fd_close(&s->lock);
	fd_close(&s->root);
	free(s->dir);
	free(s);
}

void depot_finish_chores(struct depot *s)
{
	for (int i = 0; s && i < DEPOT_THREADS; i++)
		chores_free(take_ptr(s->threads[i]));
}

int depot_jobs_fd(const struct depot *s)
{
	return s->jobs;
}

int depot_root_fd(const struct depot *s)
{
	return s->root;
}

void depot_seen_no(struct depot *s, uint64_t no)
{
	s->next_no = MAX(s->next_no, no + 1);
}

const char *depot_dir(const struct depot *s)
{
	return s->dir;
}

uint64_t depot_next_no(struct depot *s)
{
	/* Users see it: by the clock it tells no one of the others' jobs. */
	s->next_no = MAX(s->next_no, realtime_ns() / 1000);
	return s->next_no++;
}

void depot_id(uint64_t no, char ret_id[STORE_ID_SIZE])
{
	snprintf(ret_id, STORE_ID_SIZE, "%014llx", (unsigned long long)no);
}

void depot_job_path(uint64_t no, const char *tail, char *ret_path)
{
	char id[STORE_ID_SIZE];

	depot_id(no, id);
	snprintf(ret_path, STORE_PATH_MAX, "%s%s%s", id, tail ? "/" : "",
		 tail ? tail : "");
}

/* --- jobs --------------------------------------------------------------- */

/*
 * One write of one sector over the old one: nobody sees half of it, and no new
 * file is made for each state of a job.
 */
#define META_SIZE 512

int depot_meta_write(struct depot *s, const struct job_meta *m)
{
	char path[STORE_PATH_MAX], record[META_SIZE];
	auto_buf struct buf text = { 0 };
	auto_close int fd = -1;
	ssize_t n;

	if (depot_meta_print(m, &text) < 0)
		return text.failed;
	if (text.len > META_SIZE)
		return -ENAMETOOLONG;
	memcpy(record, text.data, text.len);
	memset(record + text.len, '\n', META_SIZE - text.len);
	depot_job_path(m->no, "meta", path);
	fd = openat(s->jobs, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, record, META_SIZE, 0);
	return n == META_SIZE ? 0 : n < 0 ? -errno : -ENOSPC;
}

int depot_job_make(struct depot *s, const struct job_meta *meta)
{
	char path[STORE_PATH_MAX];
	int r = 0;

	depot_job_path(meta->no, NULL, path);
	if (mkdirat(s->jobs, path, 0700) < 0)
		return -errno;
	depot_job_path(meta->no, "files", path);
	if (mkdirat(s->jobs, path, 0700) < 0)
		r = -errno;
	if (r == 0)
		r = depot_meta_write(s, meta);
	if (r < 0) {
		depot_job_path(meta->no, NULL, path);
		depot_trash(s, path);
	}
	return r;
}
