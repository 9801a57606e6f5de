/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes sets: a directory `.new-*` that its maker keeps locked, then sets/ID by
 * one rename, then the name by another. All writers lock DIR/names for the
 * renames, so that no parent is removed while its child is added. Owns no
 * state; runs in a command or on a worker thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "layout/base/dots.h"
#include "layout/base/num.h"
#include "write_int.h"

/* --- the directory ---------------------------------------------------------- */

int top_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int top_lock(int top)
{
	int fd = openat(top, "names", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX) < 0)
		fd_close(&fd);
	return fd < 0 ? -errno : fd;
}

int remove_flat(int at, const char *name, uint64_t *bytes)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					  O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!dir) {
		int r = -errno;

		fd_close(&fd);
		return r;
	}
	while ((e = readdir(dir)))
		if (!is_dots(e->d_name) &&
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    unlinkat(fd, e->d_name, 0) == 0 && bytes)
			*bytes += (uint64_t)st.st_size;
	closedir(dir);
	return unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Returns whether the maker of a directory is dead: a living one holds a lock
 * on it. */
static bool is_leftover(int sets, const char *name)
{
	auto_close int dir = -1;

	if (!is_temp_name(name, NEW_PREFIX) &&
	    !is_temp_name(name, OLD_PREFIX))
		return false;
	dir = openat(sets, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					 O_NOFOLLOW);
	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0;
}

static void remove_leftovers(int sets)
{
	int fd = openat(sets, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir)))
		if (is_leftover(sets, e->d_name))
			remove_flat(sets, e->d_name, NULL);
	if (dir)
		closedir(dir);
}

/* Returns whether the link leads to a set, as place_name() makes them. */
static bool leads_to_set(int names, const char *link)
{
	char to[SHA_HEX + 16] = "";
	ssize_t n = readlinkat(names, link, to, sizeof(to) - 1);

	return n > 0 && !strncmp(to, "../sets/", 8) && manifest_is_sum(to + 8);
}

/* Removes temporary links; call it under the lock, when no writer can be using
 * one. */
static void remove_links(int names)
{
	int fd = openat(names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir)))
		if (is_temp_name(e->d_name, NEW_PREFIX) &&
		    leads_to_set(names, e->d_name))
			unlinkat(names, e->d_name, 0);
	if (dir)
		closedir(dir);
}

/* Makes DIR and its missing parents. */
static int make_dirs(const char *path)
{
	auto_free char *part = strdup(path);

	if (!part)
		return -ENOMEM;
	for (char *p = part + 1;; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = was;
		if (!was)
			return 0;
	}
}

/* Makes DIR and the three directories in it. */
static int make_top(const char *path)
{
	static const char *const folders[] = { "names", "sets", "sources" };
	int r = *path ? make_dirs(path) : -ENOENT;
	auto_close int top = r < 0 ? r : top_open(path);

	if (top < 0)
		return top;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (mkdirat(top, folders[i], 0755) < 0 && errno != EEXIST)
			return -errno;
	return take_fd(&top);
}

/* Makes a locked directory. Between mkdir and its lock it looks like a
 * leftover, so the lock of names keeps other writers out meanwhile. */
static int make_new(struct environment_new *n)
{
	auto_close int lock = top_lock(n->top);
	auto_close int sets = openat(n->top, "sets", O_RDONLY | O_DIRECTORY |
							     O_CLOEXEC);

	if (lock < 0 || sets < 0)
		return lock < 0 ? lock : -errno;
	remove_leftovers(sets);
	remove_links(lock);
	temp_name(NEW_PREFIX, n->name);
	if (mkdirat(sets, n->name, 0755) < 0)
		return -errno;
	n->dir = openat(sets, n->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (n->dir < 0 || flock(n->dir, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return fchmod(n->dir, 0755) < 0 ? -errno : 0;
}

int environment_begin(const char *top, struct environment_new *ret,
		      struct err *err)
{
	struct environment_new n = ENVIRONMENT_NEW_INIT;
	int r = n.top = make_top(top);

	if (r >= 0)
		r = make_new(&n);
	if (r < 0) {
		environment_abandon(&n);
		return err_sys(err, r, "a new environment in %s", top);
	}
	*ret = n;
	return 0;
}

void environment_abandon(struct environment_new *n)
{
	auto_close int sets = n->top < 0 ? -1 :
		openat(n->top, "sets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (sets >= 0 && n->name[0])
		remove_flat(sets, n->name, NULL);
	n->name[0] = '\0';
	fd_close(&n->dir);
	fd_close(&n->top);
}

/* --- content ------------------------------------------------------------ */

static int read_text(int dir, const char *name, struct buf *out,
		     struct err *err)
{
	auto_close int fd = set_open_file(dir, name);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? fd : -errno, "%s", name);
	if (!S_ISREG(st.st_mode) || st.st_size > ENVIRONMENT_TEXT_MAX)
		return err_set(err, -EINVAL, "%s: it must be a file of at most "
			       "%u bytes", name, ENVIRONMENT_TEXT_MAX);
	out->cap = ENVIRONMENT_TEXT_MAX + 1;
	if (buf_reserve(out, (size_t)st.st_size) < 0)
		return err_sys(err, -ENOMEM, "%s", name);
	while (n > 0 && out->len < (size_t)st.st_size) {
		n = read(fd, out->data + out->len,
			 (size_t)st.st_size - out->len);
		out->len += (size_t)MAX(n, 0);
	}
	out->data[out->len] = '\0';
	return n < 0 ? err_sys(err, -errno, "%s", name) : 0;
}

int check_texts(int dir, uint64_t *ret_packages, struct err *err)
{
	auto_buf struct buf lock = { 0 }, warm = { 0 }, recipe = { 0 },
			    shown = { 0 };
	struct environment_warm w = { 0 };
	int r = read_text(dir, set_files[SET_LOCK], &lock, err);

	if (r == 0)
		r = environment_lock_read(lock.data, lock.len, NULL, NULL, err);
	if (r < 0)
		return r;
	*ret_packages = (uint64_t)r;
	r = read_text(dir, set_files[SET_WARM], &warm, err);
	if (r == 0)
		r = environment_warm_read(warm.data, warm.len, &w, err);
	environment_warm_done(&w);
	if (r == 0)
		r = read_text(dir, set_files[SET_RECIPE], &recipe, err);
	if (r == 0)
		r = environment_recipe_read(recipe.data, recipe.len, &shown,
					    err);
	return r;
}

static int sum_part(int dir, const char *name, struct manifest_part *ret,
		    struct err *err)
{
	auto_close int fd = set_open_file(dir, name);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? fd : -errno, "%s", name);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > SET_LAYER_MAX)
		return err_set(err, -EINVAL, "%s: it must be a file below 8 "
			       "GiB", name);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->size = (uint64_t)st.st_size;
	r = sha_file(fd, NULL, ret->sum);
	return r < 0 ? err_sys(err, r, "%s", name) : 0;
}

static int take_facts(const struct environment_facts *facts,
		      struct set_manifest *m, struct err *err)
{
	if (strlen(facts->abi) >= sizeof(m->abi))
		return err_set(err, -EINVAL, "the abi \"%.100s\" is too long",
			       facts->abi);
	snprintf(m->abi, sizeof(m->abi), "%s", facts->abi);
	snprintf(m->parent, sizeof(m->parent), "%s",
		 facts->parent ? facts->parent : ENVIRONMENT_BASE);
	m->heap = facts->heap;
	for (const char *const *need = facts->needs; need && *need; need++)
		buf_add(&m->needs, *need, strlen(*need) + 1);
	return m->needs.failed ? err_sys(err, -ENOMEM, "manifest") : 0;
}

int write_manifest(int dir, const struct set_manifest *m, struct err *err)
{
	auto_buf struct buf text = { .cap = MANIFEST_MAX };
	auto_close int fd = -1;
	struct set_manifest again;
	int r = set_print(m, &text);

	/* check that it can be read again */
	if (r == 0) {
		r = set_parse(text.data, text.len, &again, err);
		set_done(&again);
	}
	if (r < 0)
		return r == -EFBIG ? err_set(err, r, "manifest: it has more "
					     "than %u bytes", MANIFEST_MAX) : r;
	fd = openat(dir, "manifest", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0444);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len)
		return err_sys(err, fd < 0 ? -errno : -EIO, "manifest");
	return 0;
}

/* --- giving names ------------------------------------------------------- */

static int make_durable(int dir)
{
	for (unsigned i = 0; i <= SET_FILES; i++) {
		const char *name = i < SET_FILES ? set_files[i] : "manifest";
		auto_close int fd = set_open_file(dir, name);

		if (fd < 0)
			return fd;
		if (fchmod(fd, 0444) < 0 || fsync(fd) < 0)
			return -errno;
	}
	return fsync(dir) < 0 ? -errno : 0;
}

/* Renames the new set to sets/ID. It replaces a set of that id: this one is
 * complete, and the other one may be damaged. */
static int place_set(struct environment_new *n, const char *id)
{
	auto_close int sets = openat(n->top, "sets", O_RDONLY | O_DIRECTORY |
							     O_CLOEXEC);
	int r;

	if (sets < 0)
		return -errno;
	if (renameat2(sets, n->name, sets, id, RENAME_NOREPLACE) == 0)
		n->name[0] = '\0';
	else if (errno != EEXIST ||
		 renameat2(sets, n->name, sets, id, RENAME_EXCHANGE) < 0)
		return -errno;
	r = fsync(sets) < 0 ? -errno : 0;
	if (n->name[0])
		remove_flat(sets, n->name, NULL);
	n->name[0] = '\0';
	return r;
}

static int place_name(int names, const char *name, const char *id)
{
	char to[SHA_HEX + 16], link[32];

	snprintf(to, sizeof(to), "../sets/%s", id);
	temp_name(NEW_PREFIX, link);
	if (symlinkat(to, names, link) < 0)
		return -errno;
	if (renameat(names, link, names, name) < 0) {
		int r = -errno;

		unlinkat(names, link, 0);
		return r;
	}
	return fsync(names) < 0 ? -errno : 0;
}

static int check_parent(const struct environment_places *places,
			const struct set_manifest *m, struct err *err)
{
	struct environment *parent;
	int r;

	if (!strcmp(m->parent, ENVIRONMENT_BASE))
		return 0;
	r = environment_open_id(places, m->parent, &parent, err);
	if (r < 0)
		return err_set(err, r, "its parent %.12s is not here, or is "
			       "damaged; import or build that first",
			       m->parent);
	if (parent->layer_count == ENVIRONMENT_LAYERS_MAX)
		r = err_set(err, -EINVAL, "its parent has %u layers already, "
			    "and no more are allowed", ENVIRONMENT_LAYERS_MAX);
	else if (strcmp(parent->abi, m->abi) != 0)
		r = err_set(err, -EINVAL, "its parent was made for %s and it "
			    "for %s", parent->abi, m->abi);
	environment_unref(parent);
	return r;
}

int publish(const struct environment_places *places, struct environment_new *n,
	    const struct set_manifest *m, const char *name, struct err *err)
{
	auto_close int lock = top_lock(n->top);
	int r = lock < 0 ? lock : 0;

	if (r == 0)
		r = make_durable(n->dir);
	if (r < 0)
		err_sys(err, r, "the new environment");
	if (r == 0)
		r = check_parent(places, m, err);
	if (r == 0) {
		r = place_set(n, m->id);
		if (r == 0 && name)
			r = place_name(lock, name, m->id);
		if (r < 0)
			err_sys(err, r, "sets/%.12s", m->id);
	}
	environment_abandon(n);
	return r;
}

int environment_seal(const struct environment_places *places,
		     struct environment_new *n,
		     const struct environment_facts *facts, const char *name,
		     char ret_id[SHA_HEX], struct err *err)
{
	struct set_manifest m = { 0 };
	int r = name ? environment_name_check(name, err) : 0;

	if (r == 0)
		r = take_facts(facts, &m, err);
	if (r == 0)
		r = check_texts(n->dir, &m.packages, err);
	for (unsigned i = 0; r == 0 && i < SET_FILES; i++)
		r = sum_part(n->dir, set_files[i], &m.part[i], err);
	if (r == 0)
		r = set_id(&m, m.id);
	if (r == 0)
		r = write_manifest(n->dir, &m, err);
	if (r == 0)
		r = publish(places, n, &m, name, err);
	memcpy(ret_id, m.id, SHA_HEX);
	set_done(&m);
	environment_abandon(n);
	return r;
}
