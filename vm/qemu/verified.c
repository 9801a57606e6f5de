/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the sums of the image and of templates, on a worker's thread. The
 * entries lie in memory that outlives the server (struct vm_known), so it may die
 * in the middle of one: `valid` is cleared before and set behind the others.
 */
#include "verified.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "vm/os/loop.h"

/* A write within one tick of the ctime's clock may leave it as it was. A file that
 * was written this recently is compared again. */
#define SETTLED_S 2

_Static_assert(sizeof(((struct vm_verified *)0)->sum) == SHA_HEX,
	       "an entry has room for a sum");

static bool is_of(const struct vm_verified *v, const struct stat *st)
{
	return v->dev == st->st_dev && v->ino == st->st_ino;
}

static bool is_unchanged(const struct vm_verified *v, const struct stat *st)
{
	return is_of(v, st) && v->size == (uint64_t)st->st_size &&
	       v->mtime.tv_sec == st->st_mtim.tv_sec &&
	       v->mtime.tv_nsec == st->st_mtim.tv_nsec &&
	       v->ctime.tv_sec == st->st_ctim.tv_sec &&
	       v->ctime.tv_nsec == st->st_ctim.tv_nsec;
}

static bool was_right(const struct vm_known *known, const struct stat *st,
		      const char *want)
{
	for (size_t i = 0; i < VM_VERIFIED_MAX; i++) {
		const struct vm_verified *v = &known->verified[i];

		if (v->valid && is_unchanged(v, st) &&
		    !memcmp(v->sum, want, SHA_HEX))
			return true;
	}
	return false;
}

/* Its own entry; else a free one; else one of the others. */
static struct vm_verified *entry_of(struct vm_known *known,
				    const struct stat *st)
{
	struct vm_verified *free = NULL;

	for (size_t i = 0; i < VM_VERIFIED_MAX; i++) {
		struct vm_verified *v = &known->verified[i];

		if (v->valid && is_of(v, st))
			return v;
		if (!v->valid && !free)
			free = v;
	}
	return free ? free : &known->verified[st->st_ino % VM_VERIFIED_MAX];
}

static void remember(struct vm_known *known, const struct stat *st,
		     const char *sum)
{
	struct vm_verified *v = entry_of(known, st);

	v->valid = 0;
	atomic_thread_fence(memory_order_release);
	v->dev = st->st_dev;
	v->ino = st->st_ino;
	v->size = (uint64_t)st->st_size;
	v->mtime = st->st_mtim;
	v->ctime = st->st_ctim;
	memcpy(v->sum, sum, SHA_HEX);
	atomic_thread_fence(memory_order_release);
	v->valid = 1;
	known->unrecorded = 1;
}

static bool has_settled(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec + SETTLED_S <
	       realtime_ns() / NS_PER_S;
}

int verified_compare(struct vm_known *known, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel)
{
	char sum[SHA_HEX];
	struct stat st;
	bool settled;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (known && was_right(known, &st, want))
		return 0;
	settled = has_settled(&st);
	r = sparse ? sha_sparse(fd, cancel, sum) : sha_file(fd, cancel, sum);
	if (r < 0)
		return r;
	if (strcmp(sum, want))
		return -EBADMSG;
	if (known && settled)
		remember(known, &st, sum);
	return 0;
}
