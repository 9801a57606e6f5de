/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out one FS request at a time: a table has a function for each operation.
 * An operation runs with the user's file system ids. READ and WRITE may run with init's
 * rights, but only on a file of the user: the host checked its mode when it was opened.
 */
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "guest/os/sys.h"
#include "guest/wire/wire_fs.h"

/* The arguments and the answer of an operation. */
struct call {
	const struct fs_trees *trees;
	int top; /* descriptor of the tree's top */
	bool as_user; /* act with the user's rights */
	const struct wire_fs *fs;
	struct wire_writer *out;
};

#define FILE_FLAGS (O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

static bool is_root(const struct call *c)
{
	return c->fs->tree == WIRE_FS_ROOT;
}

static int open_at(const struct call *c, const char *path, int flags)
{
	return is_root(c) ? beneath_open_all(c->top, path, flags)
			  : beneath_open(c->top, path, flags);
}

static int parent_of(const struct call *c, const char *path,
		     const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[WIRE_PATH_MAX + 1] = "";

	*ret_name = slash ? slash + 1 : path;
	if (slash)
		memcpy(parent, path, (size_t)(slash - path));
	return open_at(c, parent, O_PATH | O_DIRECTORY);
}

/* Accepts only a regular file of the user: a FIFO would block, and READ and
 * WRITE may run with init's rights. */
static int check_file(const struct call *c, int fd_or_error)
{
	auto_close int fd = fd_or_error;
	struct stat st;

	if (fd < 0)
		return fd == -ENXIO ? -ENOENT : fd;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	return c->as_user || st.st_uid == USER_ID ? take_fd(&fd) : -EACCES;
}

static int open_file(const struct call *c, int flags)
{
	return check_file(c, open_at(c, c->fs->path, flags | FILE_FLAGS));
}

/* Opens a file or directory with O_PATH, whatever its mode. */
static int open_any(const struct call *c, struct stat *ret_st)
{
	auto_close int fd = open_at(c, c->fs->path, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st))
		return -errno;
	return S_ISREG(ret_st->st_mode) || S_ISDIR(ret_st->st_mode)
		       ? take_fd(&fd)
		       : -ENOENT;
}

static int put_stat(struct call *c, int fd)
{
	struct wire_fs_stat out;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	out = (struct wire_fs_stat){
		.kind = S_ISDIR(st.st_mode) ? WIRE_FILE_DIR : WIRE_FILE_REG,
		.mode = st.st_mode & 0777,
		.size = S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size,
		.mtime = wire_time_of(&st.st_mtim),
	};
	wire_fs_stat_put(c->out, &out);
	return 0;
}

static int op_stat(struct call *c)
{
	struct stat st;
	auto_close int fd = open_any(c, &st);

	return fd < 0 ? fd : put_stat(c, fd);
}

/* Returns whether the path is in a directory that the root's tree hides. */
static bool is_hidden(const struct call *c, const char *path)
{
	static const char *const hidden[] = {"proc", "sys", "dev"};
	size_t length = strcspn(path, "/");

	for (size_t i = 0; is_root(c) && i < ARRAY_SIZE(hidden); i++)
		if (strlen(hidden[i]) == length &&
		    !memcmp(path, hidden[i], length))
			return true;
	return false;
}

/* Returns the kind of an entry, or -1: it is not shown. */
static int entry_kind(const struct call *c, DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
	    (!c->fs->path[0] && is_hidden(c, e->d_name)))
		return -1;
	if (e->d_type == DT_REG)
		return WIRE_FILE_REG;
	if (e->d_type == DT_DIR)
		return WIRE_FILE_DIR;
	if (e->d_type != DT_UNKNOWN ||
	    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	return S_ISREG(st.st_mode) ? WIRE_FILE_REG
	       : S_ISDIR(st.st_mode) ? WIRE_FILE_DIR : -1;
}

/* Lists entries from offset on, as many as fit. They follow the offset at which the
 * next LIST continues; 0: there are no more. */
static int list(struct call *c, DIR *dir)
{
	struct wire_writer head = {c->out->p + c->out->used, 8, 0};
	uint64_t at = c->fs->offset;
	struct dirent *e;

	wire_put_u64(c->out, 0);
	if (at)
		seekdir(dir, (long)at);
	errno = 0;
	while ((e = readdir(dir))) {
		int kind = entry_kind(c, dir, e);
		size_t need = 8 + strlen(e->d_name);

		if (kind >= 0 && c->out->used + need > WIRE_FS_CHUNK) {
			wire_put_u64(&head, at);
			return 0;
		}
		at = (uint64_t)e->d_off;
		if (kind < 0)
			continue;
		wire_put_u32(c->out, (uint32_t)kind);
		wire_put_str(c->out, e->d_name);
	}
	return -errno;
}

static int open_dir(struct call *c, DIR **ret)
{
	auto_close int fd = open_at(c, c->fs->path,
				    O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd;
	*ret = fdopendir(fd);
	if (!*ret)
		return -errno;
	take_fd(&fd);
	return 0;
}

static int op_list(struct call *c)
{
	DIR *dir;
	int r = open_dir(c, &dir);

	if (r)
		return r;
	r = list(c, dir);
	closedir(dir);
	return r;
}

static int op_read(struct call *c)
{
	auto_close int fd = open_file(c, O_RDONLY);
	size_t got = 0;

	while (fd >= 0 && got < c->fs->length) {
		ssize_t n = pread(fd, c->out->p + c->out->used,
				  c->fs->length - got,
				  (off_t)(c->fs->offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		c->out->used += (size_t)n;
		got += (size_t)n;
	}
	return fd < 0 ? fd : 0;
}

static int op_write(struct call *c)
{
	const struct wire_fs *fs = c->fs;
	bool append = fs->flags & WIRE_FS_APPEND;
	auto_close int fd = open_file(c, O_WRONLY | (append ? O_APPEND : 0));
	const char *p = fs->data;
	size_t done = 0;

	while (fd >= 0 && done < fs->size) {
		ssize_t n = append ? write(fd, p + done, fs->size - done)
				   : pwrite(fd, p + done, fs->size - done,
					    (off_t)(fs->offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 && !done)
			return n ? -errno : -EIO;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd < 0)
		return fd;
	wire_put_u32(c->out, (uint32_t)done);
	return 0;
}

static int op_truncate(struct call *c)
{
	auto_close int fd = open_file(c, O_WRONLY);

	if (fd < 0)
		return fd;
	return ftruncate(fd, (off_t)c->fs->offset) ? -errno : put_stat(c, fd);
}

static int open_again(struct call *c, int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | FILE_FLAGS | O_CLOEXEC);

	return check_file(c, fd < 0 ? -errno : fd);
}

static int op_create(struct call *c)
{
	const struct wire_fs *fs = c->fs;
	const char *name;
	auto_close int dir = parent_of(c, fs->path, &name);
	auto_close int fd = -1;
	bool cut = fs->flags & WIRE_FS_EMPTY;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			       O_CLOEXEC, fs->mode);
	if (fd < 0 && errno != EEXIST)
		return -errno;
	/*
	 * fchmod() sets the mode whatever the umask is. It also makes an
	 * inotify event between the creation and the first write. So there are
	 * always three events: inotify merges two equal ones.
	 */
	if (fd >= 0)
		return fchmod(fd, fs->mode) ? -errno : put_stat(c, fd);
	if (fs->flags & WIRE_FS_EXCLUSIVE)
		return -EEXIST;
	fd = open_again(c, dir, name, cut ? O_WRONLY : O_RDONLY);
	if (fd < 0)
		return fd;
	return cut && ftruncate(fd, 0) ? -errno : put_stat(c, fd);
}

static int op_mkdir(struct call *c)
{
	const char *name;
	auto_close int dir = parent_of(c, c->fs->path, &name);

	if (dir < 0)
		return dir;
	return mkdirat(dir, name, c->fs->mode) ? -errno : op_stat(c);
}

static int unlink_in(struct call *c, int flags)
{
	const char *name;
	auto_close int dir = parent_of(c, c->fs->path, &name);

	if (dir < 0)
		return dir;
	return unlinkat(dir, name, flags) ? -errno : 0;
}

static int op_unlink(struct call *c)
{
	return unlink_in(c, 0);
}

static int op_rmdir(struct call *c)
{
	return unlink_in(c, AT_REMOVEDIR);
}

static int op_rename(struct call *c)
{
	const struct wire_fs *fs = c->fs;
	const char *from, *to;
	auto_close int dir = parent_of(c, fs->path, &from);
	auto_close int to_dir = parent_of(c, fs->to, &to);
	unsigned flags = fs->flags & WIRE_FS_EXCLUSIVE ? RENAME_NOREPLACE : 0;

	if (dir < 0 || to_dir < 0)
		return dir < 0 ? dir : to_dir;
	return renameat2(dir, from, to_dir, to, flags) ? -errno : 0;
}

static int op_chmod(struct call *c)
{
	struct stat st;
	auto_close int fd = open_any(c, &st);
	char path[64];

	if (fd < 0)
		return fd;
	/* fchmod() does not accept O_PATH; this path names the same inode. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, c->fs->mode) ? -errno : put_stat(c, fd);
}

static int op_times(struct call *c)
{
	struct timespec times[2] = {wire_time_to_set(c->fs->atime),
				    wire_time_to_set(c->fs->mtime)};
	struct stat st;
	auto_close int fd = open_any(c, &st);

	if (fd < 0)
		return fd;
	return utimensat(fd, "", times, AT_EMPTY_PATH) ? -errno
						       : put_stat(c, fd);
}

/* Counts the entries that op_list() does not show. */
static int op_hidden(struct call *c)
{
	struct dirent *e;
	uint32_t hidden = 0;
	DIR *dir;
	int r = open_dir(c, &dir);

	if (r)
		return r;
	while ((e = readdir(dir)))
		hidden += entry_kind(c, dir, e) < 0 && strcmp(e->d_name, ".") &&
			  strcmp(e->d_name, "..");
	closedir(dir);
	wire_put_u32(c->out, hidden);
	return 0;
}

static int op_processes(struct call *c)
{
	return c->trees->processes ? c->trees->processes(c->trees->arg, c->out)
				   : -EOPNOTSUPP;
}

static int (*const ops[WIRE_FS_MAX])(struct call *c) = {
	[WIRE_FS_STAT] = op_stat,         [WIRE_FS_LIST] = op_list,
	[WIRE_FS_READ] = op_read,         [WIRE_FS_WRITE] = op_write,
	[WIRE_FS_TRUNCATE] = op_truncate, [WIRE_FS_CREATE] = op_create,
	[WIRE_FS_MKDIR] = op_mkdir,       [WIRE_FS_UNLINK] = op_unlink,
	[WIRE_FS_RMDIR] = op_rmdir,       [WIRE_FS_RENAME] = op_rename,
	[WIRE_FS_CHMOD] = op_chmod,       [WIRE_FS_TIMES] = op_times,
	[WIRE_FS_HIDDEN] = op_hidden,     [WIRE_FS_PROCESSES] = op_processes,
};

/*
 * Runs the operation. user: with the user's rights; init's own rights to files are gone
 * meanwhile. carry_out() calls it without for READ and WRITE: the host has checked the
 * mode when the file was opened, and cp writes to files that it has made read-only.
 */
static int call_as(struct call *c, bool user)
{
	mode_t mask = umask(0);
	size_t used = c->out->used;
	int r;

	c->as_user = user;
	setfsgid(USER_ID);
	setfsuid(user ? USER_ID : 0);
	r = ops[c->fs->op](c);
	setfsuid(0);
	setfsgid(0);
	umask(mask);
	if (r)
		c->out->used = used;
	return r;
}

/* Returns whether the path's directory is in the read-only base, where the user can
 * change nothing. A mount has another device. */
static bool is_base(const struct call *c)
{
	const char *name;
	auto_close int dir = parent_of(c, c->fs->path, &name);
	struct stat st, top;

	return dir >= 0 && !fstat(dir, &st) && !fstat(c->top, &top) &&
	       st.st_dev == top.st_dev;
}

static bool is_change(uint32_t op)
{
	return op >= WIRE_FS_WRITE && op <= WIRE_FS_TIMES;
}

static int carry_out(struct call *c)
{
	const struct wire_fs *fs = c->fs;
	bool opened = fs->op == WIRE_FS_READ || fs->op == WIRE_FS_WRITE;
	int r;

	c->top = is_root(c) ? c->trees->root : c->trees->home;
	if (c->top < 0)
		return -EOPNOTSUPP;
	if (is_hidden(c, fs->path) || is_hidden(c, fs->to))
		return -ENOENT;
	if (fs->op == WIRE_FS_PROCESSES)
		return ops[fs->op](c);
	r = is_root(c) || !opened ? call_as(c, true) : -EACCES;
	if (opened && r == -EACCES)
		r = call_as(c, false);
	if (is_root(c) && is_change(fs->op) && (r == -EACCES || r == -EPERM) &&
	    is_base(c))
		r = -EROFS;
	return r;
}

int fs_answer(const struct fs_trees *trees, struct port *port, const struct frame *frame,
	      struct err *err)
{
	uint8_t *room = port_room(port);
	struct wire_writer head = {room, 8, 0};
	/* the operation writes behind id and errno */
	struct wire_writer out = {room + 8, WIRE_PAYLOAD_MAX - 8, 0};
	struct wire_fs fs;
	struct call call = {.trees = trees, .fs = &fs, .out = &out};
	int r = wire_fs_get(frame->payload, frame->header.length, &fs);

	if (r)
		return err_set(err, r, "an FS that breaks the rules");
	r = carry_out(&call);
	wire_put_u32(&head, fs.id);
	wire_put_u32(&head, (uint32_t)-r);
	port_commit(port, WIRE_FS_REPLY, 0, 8 + (r ? 0 : out.used));
	wire_fs_done(&fs);
	return 0;
}
