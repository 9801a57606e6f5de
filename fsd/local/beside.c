/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts new files and directories where old ones may stand. NFS, Lustre and sshfs do not
 * have the renames of rename.h. A plain rename of a directory fails there if a directory
 * with files is in its place, and two renames replace one. Between these two the name is
 * missing.
 */
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"
#include "own_dir.h"
#include "rename.h"

#define ENDING ".fsd-"
#define OLD "old" /* in the directory of BESIDE_NEW: the entry that was replaced */

/* The longest start of a name that fits, without a half of a character. */
static int name_part(const char *name)
{
	int len = (int)strlen(name);

	if (len <= OWN_DIR_PREFIX_MAX - (int)strlen("." ENDING))
		return len;
	len = OWN_DIR_PREFIX_MAX - (int)strlen("." ENDING);
	while (len && (name[len] & 0xc0) == 0x80)
		len--;
	return len;
}

int beside_begin(struct beside *b, int parent, const char *name)
{
	*b = (struct beside){ .parent = parent, .own = -1 };
	if (!name[0] || is_dots(name) || strchr(name, '/') ||
	    strlen(name) > LIMIT_FILE_NAME)
		return -EINVAL;
	snprintf(b->name, sizeof(b->name), "%s", name);
	snprintf(b->prefix, sizeof(b->prefix), ".%.*s" ENDING, name_part(name), name);
	return 0;
}

/* A process was killed between its two renames: moves the old entry back to its name. */
static void put_back(void *arg, const char *name)
{
	const struct beside *b = arg;
	auto_close int made = openat(b->parent, name, O_RDONLY | O_DIRECTORY |
						      O_NOFOLLOW | O_CLOEXEC);

	if (made >= 0 && faccessat(b->parent, b->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT && renameat(made, OLD, b->parent, b->name) < 0)
		return; /* there is none */
}

void beside_clean(struct beside *b)
{
	own_dir_clean(b->parent, b->prefix, put_back, b);
}

int beside_make(struct beside *b)
{
	b->own = own_dir_make(b->parent, b->prefix, b->made);
	return b->own < 0 ? b->own : 0;
}

/* Does the filesystem not know the flag? */
static bool is_unknown(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

/* Return: the file type of the entry that has the name now; 0: none. */
static mode_t old_kind(const struct beside *b)
{
	struct stat st;

	return fstatat(b->parent, b->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ?
		       0 : st.st_mode & S_IFMT;
}

static bool is_there(int at, const char *name)
{
	return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int rename_fresh(int from, const char *name, int to, const char *as)
{
	int r = rename_new(from, name, to, as);

	if (!is_unknown(-r))
		return r;
	/* A file or an empty directory is all that the rename would replace. */
	if (is_there(to, as))
		return -EEXIST;
	r = renameat(from, name, to, as) < 0 ? -errno : 0;
	return r < 0 && is_there(to, as) ? -EEXIST : r;
}

static int put_by_two(const struct beside *b)
{
	int r;

	if (renameat(b->parent, b->name, b->own, OLD) < 0)
		return -errno;
	if (renameat(b->own, BESIDE_NEW, b->parent, b->name) == 0)
		return 0;
	r = -errno;
	return renameat(b->own, OLD, b->parent, b->name) < 0 ? -errno : r;
}

static int put_over(const struct beside *b)
{
	struct stat st;
	int r;

	if (renameat(b->own, BESIDE_NEW, b->parent, b->name) == 0)
		return 0;
	r = -errno; /* a directory with files: ENOTEMPTY, EEXIST; sshfs: EPERM */
	if (fstatat(b->own, BESIDE_NEW, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode) || old_kind(b) != S_IFDIR)
		return r;
	r = rename_swap(b->own, BESIDE_NEW, b->parent, b->name);
	return is_unknown(-r) ? put_by_two(b) : r;
}

int beside_put(struct beside *b, enum beside_how how)
{
	return how == BESIDE_FRESH ?
		       rename_fresh(b->own, BESIDE_NEW, b->parent, b->name) :
		       put_over(b);
}

void beside_end(struct beside *b)
{
	if (b->own >= 0)
		own_dir_remove(b->parent, b->made);
	fd_close(&b->own);
	fd_close(&b->parent);
}
