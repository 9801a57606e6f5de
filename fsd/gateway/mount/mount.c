/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens, reads, writes, makes and removes files of the mount: all that the
 * gateway does there. Errors have the mount's own sentence, if there is one.
 * Owns struct mount. On workers.
 */
#include "mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fsd/gateway/base/crew.h"
#include "layout/base/cleanup.h"
#include "layout/base/dots.h"
#include "layout/limits.h"
#include "layout/tree.h"

int mount_open(struct mount *m, const char *path, struct err *err)
{
	auto_close int health = -1;

	m->path = path;
	*m->below = '\0';
	m->fd = m->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->fd < 0)
		return err_sys(err, -errno, "the mount %s", path);
	health = openat(m->fd, ".fsd/health", O_RDONLY | O_CLOEXEC);
	if (health < 0)
		return err_sys(err, -errno,
			       "%s is no mount of fsd: .fsd/health", path);
	return 0;
}

static bool is_part(const char *part, size_t len)
{
	return len && !(len == 1 && *part == '.') &&
	       !(len == 2 && !memcmp(part, "..", 2));
}

/* Refuses a path that could lead out of the directory that it begins at. */
static int check_path(const char *path, struct err *err)
{
	size_t len = strlen(path);

	if (!strcmp(path, "."))
		return 0;
	for (size_t at = 0, part; at <= len; at += part + 1) {
		part = strcspn(path + at, "/");
		if (!is_part(path + at, part))
			return err_set(err, -EINVAL, "the path \"%.200s\" has a "
				       "part that is empty, \".\" or \"..\"",
				       path);
	}
	return 0;
}

static int open_file(const struct mount *m, const char *path, int flags,
		     unsigned mode, struct err *err)
{
	int r = check_path(path, err);
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (r < 0)
		return r;
	fd = syscall(SYS_openat2, m->fd, path, &how, sizeof(how));
	return fd < 0 ? mount_why(m, path, -errno, err) : (int)fd;
}

int mount_below(const struct mount *m, const char *job, struct mount *ret,
		struct err *err)
{
	int r = job_name_check(job);

	if (r < 0)
		return err_set(err, r, "\"%.200s\" is no name of a job", job);
	*ret = (struct mount){ .root = m->root, .path = m->path };
	snprintf(ret->below, sizeof(ret->below), "%s", job);
	r = ret->fd = mount_file(m, job, O_PATH | O_DIRECTORY, err);
	return r < 0 ? r : 0;
}

void mount_close(struct mount *m)
{
	fd_close(&m->fd);
}

int mount_file(const struct mount *m, const char *path, int flags,
	       struct err *err)
{
	return open_file(m, path, flags, 0600, err);
}

int mount_create(const struct mount *m, const char *path, unsigned mode,
		 struct err *err)
{
	return open_file(m, path, O_WRONLY | O_CREAT | O_TRUNC, mode, err);
}

int mount_stat(const struct mount *m, const char *path, struct stat *ret,
	       struct err *err)
{
	auto_close int fd = mount_file(m, path, O_PATH | O_NOFOLLOW, err);

	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? mount_why(m, path, -errno, err) : 0;
}

int mount_read_all(int fd, struct buf *out)
{
	for (;;) {
		ssize_t n;
		int r = buf_reserve(out, 1u << 14);

		if (r < 0)
			return r;
		n = read(fd, out->data + out->len, 1u << 14);
		if (n < 0 && (errno != EINTR || crew_is_late()))
			return -errno;
		if (n == 0)
			return 0;
		if (n > 0)
			out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

int mount_read(const struct mount *m, const char *path, struct buf *out,
	       struct err *err)
{
	auto_close int fd = mount_file(m, path, O_RDONLY, err);
	int r;

	if (fd < 0)
		return fd;
	r = mount_read_all(fd, out);
	return r < 0 ? err_sys(err, r, "%s", path) : 0;
}

int mount_line(const struct mount *m, const char *path, struct buf *ret)
{
	int r;

	buf_clear(ret);
	r = mount_read(m, path, ret, NULL);
	if (r < 0) {
		buf_clear(ret);
		return r;
	}
	ret->len = strcspn(ret->data, "\n");
	ret->data[ret->len] = '\0';
	return 0;
}

int mount_write(const struct mount *m, const char *path, const void *data,
		size_t len, struct err *err)
{
	auto_close int fd =
		mount_file(m, path, O_WRONLY | O_CREAT | O_TRUNC, err);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = write(fd, data, len);
	if (n < 0)
		return mount_why(m, path, -errno, err);
	if ((size_t)n < len)
		return err_set(err, -EIO, "%s took %zd of %zu bytes", path, n,
			       len);
	/* the close reports what is wrong with the whole file */
	if (close(take_fd(&fd)) < 0)
		return mount_why(m, path, -errno, err);
	return 0;
}

#define VALUE_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

/* Reads a result that the library has refused, with its value apart: an integer beyond 64
 * bits becomes a double, which most clients make of it anyway. */
static int read_apart(const struct buf *text, json_t **ret, struct err *err)
{
	struct json_raw raw = { .key = "value" };
	int r = json_read(text->data, text->len, LIMIT_VALUE_DEPTH + 8, &raw, ret, err);
	json_t *value;

	if (r < 0 || !raw.text)
		return r;
	value = json_loadb(raw.text, raw.len, VALUE_FLAGS, NULL);
	if (!value && !json_is_string(json_object_get(*ret, "message")))
		json_object_set_new(*ret, "message", json_string(
			"the program's value has a number beyond a double, or a key "
			"with U+0000, which the gateway cannot give"));
	json_object_set_new(*ret, "value", value ? value : json_null());
	return 0;
}

static int read_json(const struct mount *m, const char *path, bool is_result,
		     json_t **ret, struct err *err)
{
	auto_buf struct buf b = { .cap = LIMIT_RESULT_BYTES };
	int r = mount_read(m, path, &b, err);

	if (r < 0)
		return r;
	r = json_read(b.data ? b.data : "", b.len, LIMIT_VALUE_DEPTH + 8, NULL, ret, err);
	if (r == -EINVAL && is_result)
		r = read_apart(&b, ret, err);
	return r < 0 ? err_wrap(err, "%s", path) : 0;
}

int mount_json(const struct mount *m, const char *path, json_t **ret, struct err *err)
{
	return read_json(m, path, false, ret, err);
}

int mount_result(const struct mount *m, const char *path, json_t **ret, struct err *err)
{
	return read_json(m, path, true, ret, err);
}

/* Opens the parent directory of a path; *name: its last name. */
static int parent_of(const struct mount *m, const char *path, const char **name,
		     struct err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int r = check_path(path, err);

	if (r < 0)
		return r;
	if (!strcmp(path, "."))
		return err_set(err, -EINVAL, "\".\" is no name in a directory");
	*name = slash ? slash + 1 : path;
	if (slash && (size_t)(slash - path) >= sizeof(dir))
		return err_set(err, -ENAMETOOLONG, "the path is too long");
	if (slash) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
	}
	return mount_file(m, dir, O_PATH | O_DIRECTORY, err);
}

int mount_mkdir(const struct mount *m, const char *path, struct err *err)
{
	return mount_mkdir_mode(m, path, 0700, err);
}

int mount_mkdir_mode(const struct mount *m, const char *path, unsigned mode,
		     struct err *err)
{
	const char *name;
	auto_close int dir = parent_of(m, path, &name, err);

	if (dir < 0)
		return dir;
	return mkdirat(dir, name, mode) < 0 ? mount_why(m, path, -errno, err)
					    : 0;
}

int mount_unlink(const struct mount *m, const char *path, struct err *err)
{
	const char *name;
	auto_close int dir = parent_of(m, path, &name, err);

	if (dir < 0)
		return dir;
	return unlinkat(dir, name, 0) < 0 ? mount_why(m, path, -errno, err) : 0;
}

int mount_rmdir(const struct mount *m, const char *path, struct err *err)
{
	const char *name;
	auto_close int dir = parent_of(m, path, &name, err);

	if (dir < 0)
		return dir;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0
		       ? mount_why(m, path, -errno, err)
		       : 0;
}

int mount_rename(const struct mount *m, const char *from, const char *to,
		 struct err *err)
{
	const char *old, *new;
	auto_close int from_dir = parent_of(m, from, &old, err);
	auto_close int to_dir = -1;

	if (from_dir < 0)
		return from_dir;
	to_dir = parent_of(m, to, &new, err);
	if (to_dir < 0)
		return to_dir;
	return renameat(from_dir, old, to_dir, new) < 0
		       ? mount_why(m, from, -errno, err)
		       : 0;
}

int mount_list(const struct mount *m, const char *path,
	       int (*fn)(void *arg, const char *name), void *arg,
	       struct err *err)
{
	int fd = mount_file(m, path, O_RDONLY | O_DIRECTORY, err);
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return err_sys(err, r, "%s", path);
	}
	while (r >= 0 && (errno = 0, entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			r = fn(arg, entry->d_name);
	if (r >= 0 && errno)
		r = err_sys(err, -errno, "%s", path);
	closedir(dir);
	return r < 0 ? r : 0;
}

/* Returns whether a sentence is ours: other clients' requests write to the same
 * file. It is, if it names the same job or sandbox. */
static bool is_about(const char *text, const struct mount *m, const char *path)
{
	const char *name = *m->below ? m->below : path;
	char word[NAME_MAX + 1];
	size_t len;

	if (!strncmp(name, ".fsd/", 5)) {
		name += 5;
		name += strcspn(name, "/");
		name += *name == '/';
	}
	len = strcspn(name, "/");
	if (!len || len >= sizeof(word))
		return false;
	memcpy(word, name, len);
	word[len] = '\0';
	return strstr(text, word) != NULL;
}

int mount_why(const struct mount *m, const char *path, int code,
	      struct err *err)
{
	auto_close int fd =
		openat(m->root, ".fsd/last_error", O_RDONLY | O_CLOEXEC);
	char text[400];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n > 0) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		if (is_about(text, m, path))
			return err_set(err, code, "%s", text);
	}
	return err_sys(err, code, "%s", path);
}

/* --- jobs ---------------------------------------------------------------------- */

int mount_ctl(const struct mount *m, const char *name, const char *verb,
	    struct err *err)
{
	char path[NAME_MAX + 16];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "%s/ctl", name);
	fd = mount_file(m, path, O_WRONLY, err);
	if (fd < 0)
		return fd;
	return write(fd, verb, strlen(verb)) < 0
		       ? mount_why(m, path, -errno, err)
		       : 0;
}

/* Removes files in the job, because rmdir(2) fails while a user's files are in
 * it. */
static int clear_dir(int at, const char *name, unsigned depth)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		int r = -errno;

		close(fd);
		return r;
	}
	while (!crew_is_late() && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) ||
		    unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			continue;
		if (errno == EISDIR && depth < LIMIT_DEPTH)
			clear_dir(dirfd(dir), entry->d_name, depth + 1);
	}
	closedir(dir);
	return unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int mount_remove(const struct mount *m, const char *path, struct err *err)
{
	const char *name;
	auto_close int dir = parent_of(m, path, &name, err);
	int r;

	if (dir < 0)
		return dir;
	r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
	if (r == -EISDIR)
		r = clear_dir(dir, name, 0);
	return r < 0 ? mount_why(m, path, r, err) : 0;
}

int mount_remove_job(const struct mount *m, const char *name, struct err *err)
{
	char config[NAME_MAX + 16];
	int r = job_name_check(name);

	if (r < 0)
		return err_set(err, r, "\"%.200s\" is no name of a job", name);
	/* most jobs have no other file of a user */
	snprintf(config, sizeof(config), "%s/config.json", name);
	unlinkat(m->fd, config, 0);
	r = unlinkat(m->fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	if (r == -ENOTEMPTY || r == -EBUSY)
		r = clear_dir(m->fd, name, 0);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? mount_why(m, name, r, err) : 0;
}
