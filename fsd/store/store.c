/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the state directory and locks it, runs work on threads, and removes and renames
 * files. A struct store owns the directories' descriptors and two groups of threads: one
 * for background work, the others for calls on which fibers wait.
 *
 * store_do() runs work on a thread while its fiber pauses; without a fiber it runs at
 * once on the caller's thread. Functions *_it and *_work run on those threads.
 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fsd/base/worker_pool.h"
#include "disk_reserve.h"
#include "fsd/base/remove_tree.h"
#include "fsd/base/fiber.h"

struct store {
	char *dir;
	int root, jobs, trash, unlinked, lock; /* owned */
	struct disk_reserve room;
	bool relaxed;
	char *read_only;      /* owned: the reason, a sentence; NULL: it is not */
	void (*refused)(void *arg, int error);
	void *arg;            /* argument of refused */
	_Atomic bool refusing; /* a thread has called refused() */
	uint64_t next_no;
	_Atomic uint64_t next_trash;
	_Atomic(struct worker_pool *) threads[STORE_THREADS]; /* owned */
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

/* --- deletion, on a worker thread ----------------------------------------- */

struct trash_task {
	struct task task;
	int dir; /* borrowed */
	char name[64];
};

static int trash_work(struct task *t)
{
	struct trash_task *tt = container_of(t, struct trash_task, task);

	remove_tree(tt->dir, tt->name);
	return 0;
}

static void trash_done(struct task *t, int result)
{
	(void)result;
	free(container_of(t, struct trash_task, task));
}

int store_erase_later(struct store *s, int dir, const char *name)
{
	struct trash_task *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM; /* the next start empties the trash */
	t->task.work = trash_work;
	t->task.done = trash_done;
	t->dir = dir;
	snprintf(t->name, sizeof(t->name), "%s", name);
	r = store_add_task(s, STORE_BACKGROUND, &t->task);
	if (r < 0)
		free(t);
	return r;
}

/* --- removing and renaming, on the threads for the disk -------------------- */

struct leave {
	int jobs, trash; /* borrowed */
	const char *path, *to;
	bool is_dir;
	char name[32];   /* name of the directory in the trash */
	bool trashed;
};

static int to_trash(struct leave *l, const char *path)
{
	if (renameat(l->jobs, path, l->trash, l->name) < 0)
		return -errno;
	l->trashed = true;
	return 0;
}

static bool is_large(const struct leave *l, const char *path)
{
	struct stat st;

	return fstatat(l->jobs, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size >= (off_t)STORE_LARGE;
}

static int trash_it(void *arg)
{
	struct leave *l = arg;
	struct stat st;
	int r = to_trash(l, l->path);

	if (r == 0 || r == -ENOENT)
		return 0;
	/* A rename needs free space; without any, deletion makes some. */
	remove_tree(l->jobs, l->path);
	return fstatat(l->jobs, l->path, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		       errno == ENOENT ? 0 : r;
}

/*
 * Moves a job to the trash. A rename needs free space. Without any, the record is deleted
 * first: a start does not take a directory without a record for a job, so the job is
 * removed as a whole or, if that deletion fails, unchanged.
 */
static int remove_it(void *arg)
{
	struct leave *l = arg;
	char record[STORE_ID_SIZE + 8];
	int r = to_trash(l, l->path);

	if (r == 0 || r == -ENOENT)
		return 0;
	snprintf(record, sizeof(record), "%s/meta", l->path);
	if (unlinkat(l->jobs, record, 0) < 0 && errno != ENOENT)
		return r;
	remove_tree(l->jobs, l->path);
	to_trash(l, l->path); /* the rest, if any: now there is free space */
	return 0;
}

static int delete_it(void *arg)
{
	struct leave *l = arg;

	if (!l->is_dir && is_large(l, l->path))
		return to_trash(l, l->path);
	return unlinkat(l->jobs, l->path, l->is_dir ? AT_REMOVEDIR : 0) < 0
		       ? -errno
		       : 0;
}

/*
 * Starts the write-back of a file that will replace another one. With delayed allocation
 * ext4 allocates its blocks inside the rename, under locks that other renames need.
 */
static void write_out(const struct leave *l)
{
	auto_close int fd = openat(l->jobs, l->path,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
					   O_NONBLOCK);

	if (fd >= 0)
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/*
 * Renames. Freeing the blocks of a large file takes long, so a file that will be replaced
 * gets a second name in the trash first, and the rename frees no block. On a file system
 * without hard links the rename is slow instead. The rename is one system call: after a
 * crash it has happened or not. If it fails, the second name is deleted, at the latest by
 * the next start.
 */
static int rename_it(void *arg)
{
	struct leave *l = arg;
	int r = 0;

	if (!l->is_dir && is_large(l, l->path))
		write_out(l);
	l->trashed = !l->is_dir && is_large(l, l->to) &&
		     linkat(l->jobs, l->to, l->trash, l->name, 0) == 0;
	if (renameat(l->jobs, l->path, l->jobs, l->to) < 0)
		r = -errno;
	if (r < 0 && l->trashed)
		unlinkat(l->trash, l->name, 0);
	return r;
}

static int leave(struct store *s, struct leave *l, int (*work)(void *arg))
{
	int r;

	l->jobs = s->jobs;
	l->trash = s->trash;
	snprintf(l->name, sizeof(l->name), "%llu",
		 (unsigned long long)s->next_trash++);
	r = store_do(s, work, l);
	if (r == 0 && l->trashed)
		r = store_erase_later(s, s->trash, l->name);
	return r;
}

int store_trash(struct store *s, const char *path)
{
	struct leave l = { .path = path };

	return leave(s, &l, trash_it);
}

int store_job_remove(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];
	struct leave l = { .path = path };
	int r;

	store_job_path(no, NULL, path);
	r = leave(s, &l, remove_it);
	/* The next start empties the trash. */
	return l.trashed ? 0 : r;
}

int store_delete(struct store *s, const char *path, bool is_dir)
{
	struct leave l = { .path = path, .is_dir = is_dir };

	return leave(s, &l, delete_it);
}

int store_rename(struct store *s, const char *from, const char *to,
		 bool is_file)
{
	struct leave l = { .path = from, .to = to, .is_dir = !is_file };

	return leave(s, &l, rename_it);
}

int store_add_task(struct store *s, enum store_thread thread, struct task *t)
{
	struct worker_pool *w = s->threads[thread];

	if (!w)
		return -ESHUTDOWN;
	worker_pool_add(w, t);
	return 0;
}

/* The argument of a task, on the stack of the fiber that waits. */
struct disk_task {
	struct task task;
	int (*work)(void *arg);
	void *arg;
	struct fiber *fiber;
	int result;
};

static int disk_work(struct task *t)
{
	struct disk_task *d = container_of(t, struct disk_task, task);

	return d->work(d->arg);
}

static void disk_done(struct task *t, int result)
{
	struct disk_task *d = container_of(t, struct disk_task, task);

	d->result = result;
	fiber_resume(d->fiber);
}

int store_do(struct store *s, int (*work)(void *arg), void *arg)
{
	struct disk_task d = {
		.task = { .work = disk_work, .done = disk_done },
		.work = work, .arg = arg, .fiber = fiber_self(),
	};

	if (!d.fiber || store_add_task(s, STORE_DISK, &d.task) < 0)
		return work(arg);
	fiber_pause();
	return d.result;
}

int store_share(struct store *s, int (*work)(void *arg, unsigned i), void *arg,
		unsigned n)
{
	return worker_pool_share(s->threads[STORE_DISK], work, arg, n);
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

void store_close_file(struct store *s, int fd)
{
	struct close_task *c = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)STORE_LARGE)
		c = calloc(1, sizeof(*c));
	if (c) {
		c->task.work = close_work;
		c->task.done = close_done;
		c->fd = fd;
		if (store_add_task(s, STORE_BACKGROUND, &c->task) == 0)
			return;
		free(c);
	}
	fd_close(&fd);
}

/* Deletes the entries of the trash that an earlier server left, on a worker thread. */
static void trash_leftovers(struct store *s)
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
		if (n >= s->next_trash)
			s->next_trash = n + 1;
		store_erase_later(s, s->trash, e->d_name);
	}
	closedir(dir);
}

/* --- opening ------------------------------------------------------------ */

int store_make_dirs(const char *dir)
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

int store_open_own(const struct store *s, const char *name)
{
	int fd = openat(s->root, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			0600);

	if (fd < 0 && errno == EROFS)
		fd = openat(s->root, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int take_lock(struct store *s, struct err *err)
{
	s->lock = store_open_own(s, "lock");
	if (s->lock < 0)
		return err_sys(err, s->lock, "cannot open %s/lock", s->dir);
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY,
			       "another fsd serves the state directory %s; "
			       "stop it, or give this one its own with --state",
			       s->dir);
	return 0;
}

static int open_parts(struct store *s, struct err *err)
{
	int r = store_make_dirs(s->dir);
	bool fresh;

	if (r < 0)
		return err_sys(err, r, "cannot make the state directory %s",
			       s->dir);
	s->root = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return err_sys(err, -errno, "the state directory %s", s->dir);
	r = take_lock(s, err);
	if (r < 0)
		return r;
	fresh = faccessat(s->root, "jobs", F_OK, 0) < 0 && errno == ENOENT;
	r = store_format_check(s->root, s->dir, fresh, err);
	if (r < 0)
		return r;
	s->jobs = open_dir(s->root, "jobs", err);
	s->trash = s->jobs < 0 ? s->jobs : open_dir(s->root, "trash", err);
	s->unlinked = s->trash < 0 ? s->trash : open_dir(s->root, "unlinked", err);
	if (s->unlinked < 0)
		err_wrap(err, "the state directory %s", s->dir);
	disk_reserve_open(&s->room, s->root);
	return MIN(s->unlinked, 0);
}

bool store_is_gone(const struct store *s)
{
	struct stat st;

	return fstat(s->jobs, &st) == 0 && !st.st_nlink;
}

static const unsigned threads[STORE_THREADS] = {
	[STORE_BACKGROUND] = 1,
	[STORE_DISK] = WORKER_POOL_THREADS,
};

int store_open(struct loop *loop, const char *dir, struct store **ret_store,
	       struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_sys(err, -ENOMEM, "state directory");
	s->root = s->jobs = s->trash = s->unlinked = s->lock = -1;
	disk_reserve_init(&s->room);
	s->dir = strdup(dir);
	r = s->dir ? open_parts(s, err) : -ENOMEM;
	for (int i = 0; r == 0 && i < STORE_THREADS; i++) {
		struct worker_pool *w = NULL;

		r = worker_pool_new(loop, threads[i], &w);
		s->threads[i] = w;
	}
	if (r < 0) {
		store_close(s);
		return r;
	}
	/* The clock makes numbers larger than those of removed jobs. If the clock went
	 * back, store_scan() raises next_no above every number that it finds. */
	s->next_no = realtime_ns() / 1000;
	trash_leftovers(s);
	*ret_store = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_finish_tasks(s);
	fd_close(&s->jobs);
	fd_close(&s->trash);
	fd_close(&s->unlinked);
	fd_close(&s->lock);
	disk_reserve_close(&s->room);
	fd_close(&s->root);
	free(s->read_only);
	free(s->dir);
	free(s);
}

void store_finish_tasks(struct store *s)
{
	for (int i = 0; s && i < STORE_THREADS; i++)
		worker_pool_free(atomic_exchange(&s->threads[i], NULL));
}

struct disk_reserve *disk_reserve_of(struct store *s)
{
	return &s->room;
}

int store_jobs_fd(const struct store *s)
{
	return s->jobs;
}

int store_unlinked_fd(const struct store *s)
{
	return s->unlinked;
}

int store_root_fd(const struct store *s)
{
	return s->root;
}

void store_seen_no(struct store *s, uint64_t no)
{
	s->next_no = MAX(s->next_no, no + 1);
}

void store_set_relaxed(struct store *s, bool relaxed)
{
	s->relaxed = relaxed;
}

bool store_is_relaxed(const struct store *s)
{
	return s->relaxed;
}

/* --- writes that the disk refuses ------------------------------------------ */

void store_on_refusal(struct store *s, void (*refused)(void *arg, int error),
		      void *arg)
{
	s->refused = refused;
	s->arg = arg;
}

void store_set_read_only(struct store *s, const char *why)
{
	free(s->read_only);
	s->read_only = strdup(why);
}

const char *store_read_only(const struct store *s)
{
	return s->read_only;
}

bool store_is_short(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -ENOMEM || r == -EMFILE ||
	       r == -ENFILE;
}

int store_check_record(struct store *s, int r)
{
	/* ENOENT: the directory was removed; store_is_gone() reports that. */
	if (r == 0 || r == -ENOENT || store_is_short(r) || !s->refused)
		return r;
	while (atomic_exchange(&s->refusing, true))
		pause(); /* the thread in refused() ends the process */
	s->refused(s->arg, -r);
	return r;
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

uint64_t store_next_no(struct store *s)
{
	/* Users see numbers. Taken from the clock, a number does not tell how many jobs
	 * other users have made. */
	s->next_no = MAX(s->next_no, realtime_ns() / 1000);
	return s->next_no++;
}

void store_id(uint64_t no, char ret_id[STORE_ID_SIZE])
{
	snprintf(ret_id, STORE_ID_SIZE, "%014llx", (unsigned long long)no);
}

void store_job_path(uint64_t no, const char *tail, char *ret_path)
{
	char id[STORE_ID_SIZE];

	store_id(no, id);
	snprintf(ret_path, STORE_PATH_MAX, "%s%s%s", id, tail ? "/" : "",
		 tail ? tail : "");
}
