/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a reserve of 64 KiB for the results of runs, and finds out whether the disk has
 * free space. Only an allocation reveals a quota, so store_find_space() allocates and
 * gives back.
 *
 * The lock protects the reserve: it is held from store_give_reserve() to
 * store_reserve_used(), on the thread that writes. `full` may be set by any thread.
 */
#include "disk_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Bytes: enough for result.json of a few ordinary runs. */
#define RESERVE (64u << 10)

void disk_reserve_init(struct disk_reserve *r)
{
	*r = (struct disk_reserve){ .root = -1, .reserve = -1 };
	pthread_mutex_init(&r->lock, NULL);
}

static void reserve(struct disk_reserve *r)
{
	if (r->reserve >= 0 && !r->reserved &&
	    fallocate(r->reserve, 0, 0, RESERVE) == 0)
		r->reserved = true;
}

void disk_reserve_open(struct disk_reserve *r, int root)
{
	r->root = root;
	r->reserve = openat(root, "reserve",
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	reserve(r);
}

void disk_reserve_close(struct disk_reserve *r)
{
	fd_close(&r->reserve);
	pthread_mutex_destroy(&r->lock);
}

bool store_give_reserve(struct store *s)
{
	struct disk_reserve *r = disk_reserve_of(s);

	r->full = true;
	pthread_mutex_lock(&r->lock);
	if (r->reserve >= 0 && r->reserved && ftruncate(r->reserve, 0) == 0) {
		r->reserved = false;
		return true;
	}
	pthread_mutex_unlock(&r->lock);
	return false;
}

void store_reserve_used(struct store *s)
{
	pthread_mutex_unlock(&disk_reserve_of(s)->lock);
}

void store_note_error(struct store *s, int result)
{
	if (result == -ENOSPC || result == -EDQUOT)
		disk_reserve_of(s)->full = true;
}

/* True if the file system reports space for one run. The blocks that it reserves for
 * root count if the server is root. */
static bool has_some(const struct disk_reserve *r)
{
	struct statvfs st;
	uint64_t blocks, files;

	if (fstatvfs(r->root, &st) < 0)
		return true;
	blocks = geteuid() ? st.f_bavail : st.f_bfree;
	files = geteuid() ? st.f_favail : st.f_ffree;
	return blocks * (st.f_frsize ? st.f_frsize : st.f_bsize) >= RESERVE &&
	       (files || !st.f_files);
}

bool store_is_full(struct store *s)
{
	return disk_reserve_of(s)->full;
}

void store_recheck_space(struct store *s)
{
	struct disk_reserve *r = disk_reserve_of(s);

	if (!has_some(r))
		r->full = true;
}

/* Asks for twice the reserve: with less, one run would use up all free space at once.
 * fallocate(2), because statvfs(3) does not show a disk quota. */
static bool find_room(struct disk_reserve *r)
{
	int found = r->reserve < 0 ? -EOPNOTSUPP
				   : fallocate(r->reserve, 0, 0, 2 * RESERVE);

	if (found < 0)
		found = r->reserve < 0 ? found : -errno;
	if (found == -EOPNOTSUPP)
		return has_some(r);
	if (ftruncate(r->reserve, found < 0 && !r->reserved ? 0 : RESERVE) < 0)
		return false;
	if (found == 0)
		r->reserved = true;
	else
		reserve(r);
	return found == 0 && has_some(r);
}

/* True if a directory can be made: a run needs one, too, and a quota may forbid it. */
static bool may_make(const struct disk_reserve *r)
{
	int e = mkdirat(r->root, "room", 0700) < 0 ? errno : 0;

	unlinkat(r->root, "room", AT_REMOVEDIR);
	return e != ENOSPC && e != EDQUOT;
}

bool store_find_space(struct store *s)
{
	struct disk_reserve *r = disk_reserve_of(s);
	bool found;

	pthread_mutex_lock(&r->lock);
	r->full = false; /* a call that fails from here on sets it again */
	found = find_room(r) && may_make(r);
	pthread_mutex_unlock(&r->lock);
	if (!found)
		r->full = true;
	return found;
}
