/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the inputs of a job from FILE frames, one open file at a time, and remembers each
 * by inode, times and digest. After the program's end it tells inputs that are as they
 * were from files that the program has changed. Runs in PID 1, or in the agent of a lane.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "guest/os/sys.h"
#include "guest/wire/wire.h"

#define DEPTH_MAX 64
#define TICK_TRIES 10
#define SMALL 16384 /* a single input up to this size is compared by its digest, without
		     * fanotify */

int files_open(struct files *f, struct err *err)
{
	*f = (struct files){.fd = -1, .own_dir = -1, .given_at = RUNNER_INPUT};
	f->home = open(HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->home < 0)
		return err_sys(err, -errno, "cannot open %s", HOME);
	return 0;
}

/* Adds an input. digest: of its content; NULL: not known. */
static int remember(struct files *f, const struct stat *st,
		    const uint64_t *digest)
{
	if (f->count == f->size) {
		size_t size = f->size ? 2 * f->size : 16;
		void *list = realloc(f->list, size * sizeof(*f->list));

		if (!list)
			return -ENOMEM;
		f->list = list;
		f->size = size;
	}
	f->list[f->count++] = (struct input){
		.ino = st->st_ino,
		.size = st->st_size,
		.mode = st->st_mode,
		.ctime = st->st_ctim,
		.digest = digest ? *digest : 0,
		.digested = digest,
	};
	return 0;
}

/* Sets the modification time of the file that was just written, if the host sent one. */
static int set_mtime(const struct files *f)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		wire_time_to_set(f->mtime),
	};

	return f->mtime.known && futimens(f->fd, times) ? -errno : 0;
}

/* Gives fd's file to the user and remembers its attributes. */
static int finish(struct files *f, int fd, const uint64_t *digest)
{
	struct stat st;
	int r = fd == f->fd ? set_mtime(f) : 0;

	if (!r && (fchown(fd, USER_ID, USER_ID) || fstat(fd, &st)))
		r = -errno;
	return r ? r : remember(f, &st, digest);
}

static int make_dir(struct files *f, int at, const char *name, mode_t mode)
{
	if (mkdirat(at, name, 0700) && (errno != EEXIST || !f->replace))
		return -errno;
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY |
					     O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode))
		return -errno;
	return finish(f, fd, NULL);
}

static int make_file(struct files *f, int at, const char *name, mode_t mode)
{
	if (f->replace && unlinkat(at, name, 0) && errno != ENOENT)
		return -errno;
	f->fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				 O_CLOEXEC, 0600);
	if (f->fd < 0 || fchmod(f->fd, mode))
		return -errno;
	return 0;
}

static int make_link(struct files *f, int at, const char *name,
		     const char *target)
{
	struct stat st;

	if (f->replace && unlinkat(at, name, 0) && errno != ENOENT)
		return -errno;
	if (symlinkat(target, at, name) ||
	    fchownat(at, name, USER_ID, USER_ID, AT_SYMLINK_NOFOLLOW) ||
	    fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return remember(f, &st, NULL);
}

static const struct files_own *find_own(const struct files *f, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->own); i++)
		if (f->own[i].name[0] && !strcmp(f->own[i].name, path))
			return &f->own[i];
	return NULL;
}

/* Makes an entry without following links: a session's program may change the
 * way to path meanwhile. */
static int make(struct files *f, uint8_t kind, const char *path, mode_t mode,
		const char *target)
{
	const struct files_own *own = find_own(f, path);
	const char *name = own ? own->alias : path;
	auto_close int parent = -1;
	int at;

	if (strchr(path, '/')) {
		parent = beneath_parent(f->home, path, &name);
		if (parent < 0)
			return parent;
	}
	at = parent >= 0 ? parent
	     : own && f->own_dir >= 0 ? f->own_dir : f->home;
	return kind == WIRE_FILE_LINK ? make_link(f, at, name, target)
	       : kind == WIRE_FILE_DIR ? make_dir(f, at, name, mode)
				       : make_file(f, at, name, mode);
}

/* Begins standard input as a file. It belongs to root: the program can read it
 * and open it as /dev/stdin. */
static int begin_input(struct files *f, uint64_t size, struct err *err)
{
	/* an earlier step's file; its readers keep it open */
	unlink(f->given_at);
	f->fd = open(f->given_at,
		     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (f->fd < 0)
		return err_sys(err, -errno, "cannot make standard input");
	f->left = size;
	f->input = true;
	return 0;
}

static int end_input(struct files *f)
{
	f->input = false;
	f->given = true;
	return set_mtime(f);
}

int files_begin(struct files *f, uint8_t kind, const void *payload,
		size_t length, struct err *err)
{
	struct wire_cursor c;
	int r;

	wire_begin(&c, payload, length);
	mode_t mode = wire_get_u32(&c) & 0777;
	uint64_t size = wire_get_u64(&c);
	f->mtime = wire_get_time(&c);
	auto_free char *path = wire_get_str(&c, WIRE_PATH_MAX);
	auto_free char *target = kind == WIRE_FILE_LINK
					 ? wire_get_str(&c, WIRE_PATH_MAX)
					 : NULL;

	if (wire_end(&c) || !path || !wire_path_ok(path) || f->fd >= 0 ||
	    (kind > WIRE_FILE_LINK && kind != WIRE_FILE_STDIN))
		return err_set(err, -EPROTO, "a FILE frame breaks the rules");
	if (kind == WIRE_FILE_STDIN)
		return begin_input(f, size, err);
	r = make(f, kind, path, mode, target);
	f->left = kind == WIRE_FILE_REG ? size : 0;
	digest_begin(&f->digest);
	free(f->only);
	f->only = kind == WIRE_FILE_REG && f->count == 0 && !strchr(path, '/')
			  ? take_ptr(path)
			  : NULL;
	if (r && f->only)
		path = take_ptr(f->only);
	return r ? err_sys(err, r, "cannot make the input %s", path) : 0;
}

int files_data(struct files *f, const void *data, size_t length,
	       struct err *err)
{
	const char *p = data;

	if (f->fd < 0 || length > f->left)
		return err_set(err, -EPROTO, "FILE_DATA beyond the file's size");
	f->left -= length;
	if (!f->input)
		digest_add(&f->digest, data, length);
	while (length) {
		ssize_t n = write(f->fd, p, length);

		if (n < 0 && errno != EINTR)
			return err_sys(err, -errno, "cannot write an input");
		if (n > 0) {
			p += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

int files_end(struct files *f, struct err *err)
{
	uint64_t digest = digest_end(&f->digest);
	int r;

	if (f->fd < 0 || f->left)
		return err_set(err, -EPROTO, "FILE_END before the file's end");
	r = f->input ? end_input(f) : finish(f, f->fd, &digest);
	fd_close(&f->fd);
	return r ? err_sys(err, r, "cannot finish an input") : 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct input *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void watch(struct files *f)
{
	written_watch(&f->written, f->home);
	f->watched = true;
}

void files_seal(struct files *f)
{
	struct stat st;

	if (f->count == 1 && !fstat(f->home, &st)) {
		f->sealed = st.st_ctim;
	} else {
		free(f->only);
		f->only = NULL;
	}
	/* A single small file need not be watched: its digest is compared at the end. */
	if (f->count > 1 || (f->count && f->list[0].size > SMALL))
		watch(f);
}

struct knowing {
	struct files *files;
	struct inodes *open;
	const char *program; /* the program's file name in the home */
	unsigned depth;
	struct timespec *newest;
};

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static int open_input(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
				 O_NOCTTY | O_CLOEXEC);
}

static int digest_of(int dir, const char *name, uint64_t *ret)
{
	auto_close int fd = open_input(dir, name);

	return fd < 0 ? -errno : digest_file(fd, ret);
}

static struct inodes take_inodes(struct inodes *s)
{
	struct inodes taken = *s;

	*s = (struct inodes){0};
	return taken;
}

static int know(void *arg, int dir, const char *name)
{
	struct knowing k = *(struct knowing *)arg;
	struct stat st;
	uint64_t digest;
	bool known;
	int fd, r;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) && is_later(&st.st_ctim, k.newest) &&
	    (k.depth || strcmp(name, k.program) != 0))
		*k.newest = st.st_ctim;
	known = S_ISREG(st.st_mode) && inodes_has(k.open, st.st_ino) &&
		!digest_of(dir, name, &digest);
	r = k.files->count < FILES_MAX
		    ? remember(k.files, &st, known ? &digest : NULL) : -E2BIG;
	if (r || !S_ISDIR(st.st_mode) || k.depth++ >= DEPTH_MAX)
		return r;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : beneath_each(fd, know, &k);
}

/*
 * Waits for the clock's next tick: a change of a file within the present one could leave
 * its ctime as it is.
 */
static void wait_tick(const struct timespec *newest)
{
	struct timespec now;

	for (int i = 0; i < TICK_TRIES; i++) {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (is_later(&now, newest))
			return;
		poll(NULL, 0, 1);
	}
}

int files_seal_all(struct files *f, const char *program)
{
	const char *slash = strrchr(program, '/');
	struct timespec newest = {0};
	struct inodes open = take_inodes(&f->open);
	struct knowing k = {.files = f, .open = &open, .newest = &newest,
			    .program = slash ? slash + 1 : program};
	int home = openat(f->home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = home < 0 ? -errno : 0;

	free(f->only);
	f->only = NULL;
	f->count = 0;
	f->sorted = false;
	watch(f); /* start to watch before any file is read */
	if (!r)
		r = beneath_each(home, know, &k);
	if (!r)
		wait_tick(&newest);
	inodes_done(&open);
	return r;
}

void files_forget(struct files *f)
{
	fd_close(&f->fd);
	free(f->only);
	f->only = NULL;
	f->count = 0;
	f->sorted = false;
	f->replace = true;
	f->watched = false;
	f->given = false;
}

void files_settle(struct files *f, bool mapped)
{
	f->mapped = mapped;
	if (f->watched)
		written_hear(&f->written);
}

bool files_are_as_sealed(struct files *f)
{
	struct stat st;

	return f->only && !fstat(f->home, &st) &&
	       st.st_ctim.tv_sec == f->sealed.tv_sec &&
	       st.st_ctim.tv_nsec == f->sealed.tv_nsec &&
	       !fstatat(f->home, f->only, &st, AT_SYMLINK_NOFOLLOW) &&
	       files_is_untouched(f, f->home, f->only, &st);
}

/* Returns whether a process has had the input open for writing since watch(). If one
 * still has, notes that for the next step. */
static bool was_written(struct files *f, const struct input *in, int fd)
{
	bool open = written_is_open(fd);

	/* call it after written_is_open(): a close between both is noticed */
	written_hear(&f->written);
	if (open)
		inodes_add(&f->open, in->ino);
	return open || written_was_closed(&f->written, in->ino);
}

/* Returns whether the content of `in`, whose times are unchanged, is unchanged,
 * too. */
static bool is_same(struct files *f, int dir, const char *name,
		    const struct input *in)
{
	uint64_t digest;

	if (f->watched && !f->mapped && !f->written.lost &&
	    !written_was_closed(&f->written, in->ino))
		return true;
	auto_close int fd = open_input(dir, name);

	if (fd < 0 || (f->watched && !was_written(f, in, fd) &&
		       !(f->written.lost && in->digested)))
		return true;
	return in->digested && !digest_file(fd, &digest) &&
	       digest == in->digest;
}

bool files_is_untouched(struct files *f, int dir, const char *name,
			const struct stat *st)
{
	struct input key = {.ino = st->st_ino};
	const struct input *found;

	if (!f->count)
		return false;
	if (!f->sorted)
		qsort(f->list, f->count, sizeof(*f->list), by_inode);
	f->sorted = true;
	found = bsearch(&key, f->list, f->count, sizeof(*f->list), by_inode);
	if (!found)
		return false;
	/* A directory's times change when a file is made in it; that is no
	 * output. */
	if (S_ISDIR(st->st_mode))
		return S_ISDIR(found->mode);
	if (found->size != st->st_size || found->mode != st->st_mode ||
	    found->ctime.tv_sec != st->st_ctim.tv_sec ||
	    found->ctime.tv_nsec != st->st_ctim.tv_nsec)
		return false;
	return !S_ISREG(st->st_mode) || is_same(f, dir, name, found);
}

void files_close(struct files *f)
{
	fd_close(&f->home);
	fd_close(&f->fd);
	fd_close(&f->own_dir);
	free(f->list);
	free(f->only);
	written_done(&f->written);
	inodes_done(&f->open);
	*f = (struct files){.home = -1, .fd = -1, .own_dir = -1};
}
