/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the five files of an archive, in one pass and in pieces of any size.
 * The manifest comes first and limits the sizes of the others. Owns no state
 * but struct archive. Runs on a worker thread.
 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define ZEROS_MAX 64 /* blocks at the end: tar programs fill up to 20 */

const char *const archive_members[ARCHIVE_MEMBERS] = {
	"manifest", "lock.json", "warm.json", "recipe.json", "layer.erofs",
};

static const struct manifest_part *part_of(const struct archive *a)
{
	for (unsigned i = 0; i < SET_FILES; i++)
		if (!strcmp(set_files[i], archive_members[a->member]))
			return &a->m.part[i];
	return NULL; /* the manifest: it does not list itself */
}

static int open_file(struct archive *a, const char *name, struct err *err)
{
	a->sum = sha_new();
	if (!a->sum)
		return err_sys(err, -ENOMEM, "%s", name);
	/* the manifest is written only once it was parsed */
	if (a->dir < 0 || !a->member)
		return 0;
	a->fd = openat(a->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       0444);
	return a->fd < 0 ? err_sys(err, -errno, "%s", name) : 0;
}

static int begin_file(struct archive *a, struct err *err)
{
	const char *name = archive_members[a->member];
	const struct manifest_part *part = part_of(a);
	uint64_t size;
	int r = tar_read(a->block, name, &size, err);

	if (r < 0)
		return r;
	if (!part && size > MANIFEST_MAX)
		return err_set(err, -EBADMSG, "its manifest has %" PRIu64
			       " bytes; at most %u are allowed", size,
			       MANIFEST_MAX);
	if (part && size != part->size)
		return err_set(err, -EBADMSG, "%s has %" PRIu64 " bytes, its "
			       "manifest says %" PRIu64, name, size,
			       part->size);
	a->left = size;
	a->pad = (unsigned)(-size % TAR_BLOCK);
	a->in_file = true;
	return open_file(a, name, err);
}

static int end_file(struct archive *a, struct err *err)
{
	const char *name = archive_members[a->member];
	const struct manifest_part *part = part_of(a);
	char sum[SHA_HEX];

	sha_hex(take_ptr(a->sum), sum);
	fd_close(&a->fd);
	a->in_file = false;
	a->member++;
	if (!part)
		return set_parse(a->text.data ? a->text.data : "", a->text.len,
				 &a->m, err);
	return strcmp(sum, part->sum) ?
		       err_set(err, -EBADMSG, "%s is not what its manifest "
			       "says", name) : 0;
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Takes bytes of the present file. *ret: how many. */
static int take_data(struct archive *a, const uint8_t *data, size_t len,
		     size_t *ret, struct err *err)
{
	int r = 0;

	*ret = (size_t)MIN(a->left, len);
	sha_add(a->sum, data, *ret);
	if (!a->member)
		r = buf_add(&a->text, data, *ret);
	else if (a->fd >= 0)
		r = write_all(a->fd, data, *ret);
	a->left -= *ret;
	return r < 0 ? err_sys(err, r, "%s", archive_members[a->member]) : 0;
}

static bool all_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i])
			return false;
	return true;
}

static int take_pad(struct archive *a, const uint8_t *data, size_t len,
		    size_t *ret, struct err *err)
{
	*ret = MIN(a->pad, len);
	a->pad -= (unsigned)*ret;
	return all_zero(data, *ret) ? 0 :
		       err_set(err, -EBADMSG, "something stands behind %s",
			       archive_members[a->member]);
}

static int too_early(const struct archive *a, struct err *err)
{
	return err_set(err, -EBADMSG, "it ends in %s, too early",
		       archive_members[a->member]);
}

/* Handles a whole block outside of a file: a header, or zeros at the archive's end. */
static int take_block(struct archive *a, struct err *err)
{
	if (a->member < ARCHIVE_MEMBERS)
		return all_zero(a->block, TAR_BLOCK) ? too_early(a, err) :
						       begin_file(a, err);
	if (!all_zero(a->block, TAR_BLOCK) || ++a->zeros > ZEROS_MAX)
		return err_set(err, -EBADMSG, "something stands behind %s, "
			       "which must be the last",
			       archive_members[ARCHIVE_MEMBERS - 1]);
	return 0;
}

static int take(struct archive *a, const uint8_t *data, size_t len,
		size_t *ret, struct err *err)
{
	int r = 0;

	if (a->in_file && a->left)
		return take_data(a, data, len, ret, err);
	if (a->in_file && a->pad)
		return take_pad(a, data, len, ret, err);
	*ret = MIN(TAR_BLOCK - a->have, len);
	memcpy(a->block + a->have, data, *ret);
	a->have += *ret;
	if (a->have == TAR_BLOCK) {
		a->have = 0;
		r = take_block(a, err);
	}
	return r;
}

int archive_feed(struct archive *a, const void *data, size_t len,
		 struct err *err)
{
	const uint8_t *p = data;
	int r = 0;

	while (r == 0 && len) {
		size_t n;

		r = take(a, p, len, &n, err);
		p += n;
		len -= n;
		/* a loop, because a file may have no bytes */
		while (r == 0 && a->in_file && !a->left && !a->pad)
			r = end_file(a, err);
	}
	return r;
}

int archive_end(const struct archive *a, struct err *err)
{
	if (a->member < ARCHIVE_MEMBERS)
		return too_early(a, err);
	if (a->have || a->zeros < 2)
		return err_set(err, -EBADMSG, "it ends too early");
	return 0;
}

void archive_done(struct archive *a)
{
	fd_close(&a->fd);
	sha_free(take_ptr(a->sum));
	buf_done(&a->text);
	set_done(&a->m);
}
