/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes names, and sets that no name needs any more. A running job has a
 * set's files open, so their data stays until it ends. Owns no state; runs in a
 * command or on a worker thread.
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

/* Finds the parent's id of a set whose other files may be damaged; "base" if there is no
 * such set. Return: 0, or negative errno: its manifest cannot be read. */
static int parent_of(const struct environment_places *places, const char *id,
		     char ret[SHA_HEX])
{
	auto_close int dir = set_find(places, id);
	struct set_manifest m = { 0 };
	int r = dir == -ENOENT ? 0 : dir < 0 ? dir : set_read(dir, id, &m, NULL);

	snprintf(ret, SHA_HEX, "%s", ENVIRONMENT_BASE);
	if (dir >= 0 && r == 0)
		memcpy(ret, m.parent, SHA_HEX);
	set_done(&m);
	return r;
}

/* Returns whether `set` is id, or is built on it; `doubt` if a manifest on the way cannot
 * be read. */
static bool stands_on(const struct environment_places *places, const char *set,
		      const char *id, bool doubt)
{
	char at[SHA_HEX];

	snprintf(at, sizeof(at), "%s", set);
	for (unsigned i = 0; i < ENVIRONMENT_LAYERS_MAX; i++) {
		char next[SHA_HEX];

		if (!strcmp(at, id))
			return true;
		if (!strcmp(at, ENVIRONMENT_BASE))
			return false;
		if (parent_of(places, at, next) < 0)
			return doubt;
		memcpy(at, next, sizeof(at));
	}
	return false;
}

/* Finds another name of the set that n names; NULL: none. */
static const struct environment_name *
other_name(const struct environment_names *names,
	   const struct environment_name *n)
{
	for (size_t i = 0; i < names->count; i++)
		if (&names->name[i] != n && !strcmp(names->name[i].id, n->id))
			return &names->name[i];
	return NULL;
}

/* Finds a name other than `but` whose set needs id, or with `doubt` may need it; NULL:
 * none. */
static const struct environment_name *
needed_by(const struct environment_places *places,
	  const struct environment_names *names, const char *id,
	  const char *but, bool doubt)
{
	for (size_t i = 0; i < names->count; i++)
		if ((!but || strcmp(names->name[i].name, but) != 0) &&
		    names->name[i].id[0] &&
		    stands_on(places, names->name[i].id, id, doubt))
			return &names->name[i];
	return NULL;
}

/* Renames the set first, so that no process opens it half removed. */
static int remove_set(int top, const char *id, uint64_t *bytes)
{
	auto_close int sets = openat(top, "sets", O_RDONLY | O_DIRECTORY |
							  O_CLOEXEC);
	char old[32];

	temp_name(OLD_PREFIX, old);
	if (sets < 0 || renameat(sets, id, sets, old) < 0)
		return -errno;
	return remove_flat(sets, old, bytes);
}

/* Removes a name; call it under the lock of the directory that has it. */
static int remove_locked(const struct environment_places *places, int top,
			 int lock, const struct environment_names *names,
			 const struct environment_name *n, struct err *err)
{
	bool shared = n->id[0] && other_name(names, n);
	const struct environment_name *user =
		n->id[0] && !shared ? needed_by(places, names, n->id, n->name, false)
				    : NULL;
	int r = 0;

	if (user)
		return err_set(err, -EBUSY, "\"%s\" is the parent of \"%s\"; "
			       "remove that first", n->name, user->name);
	if (unlinkat(lock, n->name, 0) < 0)
		return err_sys(err, -errno, "names/%s", n->name);
	if (!shared && n->id[0])
		r = remove_set(top, n->id, NULL);
	/* ENOENT: the set lies in another directory, and stays there */
	return r < 0 && r != -ENOENT ? err_sys(err, r, "sets/%.12s", n->id) : 0;
}

static int no_such(const char *name, struct err *err)
{
	return err_set(err, -ENOENT, "there is no environment \"%.80s\"; "
		       "fsd env list has the names", name);
}

/* Finds the name again under the lock: another process may have changed it. */
static int remove_in(const struct environment_places *places, unsigned place,
		     const char *name, struct err *err)
{
	auto_close int top = top_open(places->dirs[place]);
	auto_close int lock = top < 0 ? top : top_lock(top);
	struct environment_names names;
	const struct environment_name *n;
	int r;

	if (lock < 0)
		return err_sys(err, lock, "%s/names", places->dirs[place]);
	r = environment_names(places, &names, err);
	if (r < 0)
		return r;
	n = environment_names_find(&names, name);
	r = n && n->place == place ?
		    remove_locked(places, top, lock, &names, n, err) :
		    no_such(name, err);
	environment_names_done(&names);
	return r;
}

int environment_remove(const struct environment_places *places,
		       const char *name, struct err *err)
{
	struct environment_names names;
	const struct environment_name *n;
	unsigned place = 0;
	int r = environment_names(places, &names, err);

	if (r < 0)
		return r;
	n = environment_names_find(&names, name);
	if (n)
		place = n->place;
	environment_names_done(&names);
	return n ? remove_in(places, place, name, err) : no_such(name, err);
}

/*
 * Files in DIR/sources that `fsd env build` makes (fsd/env/sources.py): a lock,
 * and a mark. The mark's text shows that builds have made the directory. Older
 * versions made an empty mark.
 */
#define BUILD_LOCK "lock"
#define BUILD_MARK "fsd env build keeps its downloads here, and fsd env clean " \
	"removes them.\n"

/* a file in the directory of a build; its text is the directory's name */
#define WORK_MARK ".made-by-fsd"

/* --- clean ------------------------------------------------------------------ */

#define DEPTH_MAX 16 /* deepest level of directories that a build makes */

/* Returns whether the name is that of an incomplete download: SUM.PID. */
static bool is_part(const char *name)
{
	char sum[SHA_HEX] = "";
	size_t len = strlen(name);

	if (len <= SHA_HEX || name[SHA_HEX - 1] != '.')
		return false;
	memcpy(sum, name, SHA_HEX - 1);
	return manifest_is_sum(sum) &&
	       strspn(name + SHA_HEX, "0123456789") == len - SHA_HEX;
}

/* Returns whether the directory is that of a dead build: its mark names it. */
static bool is_work(int at, const char *name)
{
	char path[NAME_MAX + 32], text[NAME_MAX + 64], found[NAME_MAX + 64] = "";
	auto_close int fd = -1;

	if (strncmp(name, ".build-", 7) != 0)
		return false;
	snprintf(path, sizeof(path), "%s/" WORK_MARK, name);
	snprintf(text, sizeof(text), "fsd env build made %s.\n", name);
	fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && read(fd, found, sizeof(found) - 1) > 0 &&
	       !strcmp(found, text);
}

/* Returns whether builds make a file of this name at the top of sources. marked: the mark
 * says that builds have made sources. */
static bool is_of_builds(int at, const char *name, bool marked)
{
	static const char *const names[] = { "apt", "built", "built.new",
					     "npm.index", "sdists.index" };

	for (size_t i = 0; marked && i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return manifest_is_sum(name) || is_part(name) ||
	       (marked && is_work(at, name));
}

static bool is_marked(int lock)
{
	char found[sizeof(BUILD_MARK)] = "";

	return lock >= 0 &&
	       pread(lock, found, sizeof(found), 0) == sizeof(found) - 1 &&
	       !memcmp(found, BUILD_MARK, sizeof(found) - 1);
}

/* Removes the files of builds; counts the downloads. */
static void empty(int at, unsigned depth, bool marked,
		  struct environment_cleaned *ret)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir))) {
		auto_close int sub = -1;

		if (is_dots(e->d_name) ||
		    (depth == 1 && !strcmp(e->d_name, WORK_MARK)) ||
		    (!depth && !is_of_builds(fd, e->d_name, marked)) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY |
						    O_CLOEXEC | O_NOFOLLOW);
		if (sub >= 0)
			empty(sub, depth + 1, marked, ret);
		if (sub >= 0 && !depth)
			/* remove the mark last: if this is killed, the next cleanup
			 * still knows the directory by its mark */
			unlinkat(sub, WORK_MARK, 0);
		if (unlinkat(fd, e->d_name, sub < 0 ? 0 : AT_REMOVEDIR) < 0 ||
		    S_ISDIR(st.st_mode))
			continue;
		ret->bytes += (uint64_t)st.st_size;
		ret->sources += !depth && manifest_is_sum(e->d_name);
	}
	if (dir)
		closedir(dir);
}

/* Empties sources, unless a build runs: it holds the lock from its first
 * download to its end. */
static int clean_sources(int top, struct environment_cleaned *ret,
			 struct err *err)
{
	auto_close int dir = openat(top, "sources", O_RDONLY | O_DIRECTORY |
							    O_CLOEXEC);
	auto_close int lock = dir < 0 ? -1 :
		openat(dir, BUILD_LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "a build is using sources; run fsd "
			       "env clean when it has ended");
	if (dir >= 0)
		empty(dir, 0, is_marked(lock), ret);
	return 0;
}

static void clean_sets(const struct environment_places *places,
		       const struct environment_names *names, int top,
		       struct environment_cleaned *ret)
{
	int fd = openat(top, "sets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir)))
		if (manifest_is_sum(e->d_name) &&
		    !needed_by(places, names, e->d_name, NULL, true) &&
		    remove_set(top, e->d_name, &ret->bytes) == 0)
			ret->sets++;
	if (dir)
		closedir(dir);
}

int environment_clean(const struct environment_places *places, const char *path,
		      struct environment_cleaned *ret, struct err *err)
{
	auto_close int top = top_open(path);
	struct environment_new n = ENVIRONMENT_NEW_INIT;
	struct environment_names names;
	auto_close int lock = -1;
	int r;

	*ret = (struct environment_cleaned){ 0 };
	if (top == -ENOENT)
		return 0;
	/* this also removes leftovers of dead writers */
	r = environment_begin(path, &n, err);
	if (r < 0)
		return r;
	environment_abandon(&n);
	lock = top_lock(top);
	if (lock < 0)
		return err_sys(err, lock, "%s/names", path);
	r = environment_names(places, &names, err);
	if (r < 0)
		return r;
	r = clean_sources(top, ret, err);
	if (r == 0)
		clean_sets(places, &names, top, ret);
	environment_names_done(&names);
	return r;
}
