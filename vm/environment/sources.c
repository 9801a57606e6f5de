/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the downloads of which a set was made; each file is named by its
 * SHA-256. Owns no state; runs in a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "write_int.h"

struct copying {
	const struct environment_places *places;
	int to;
	struct err *err;
};

/* Return: a descriptor or negative errno. */
static int find_source(const struct environment_places *places, const char *sum)
{
	for (unsigned i = 0; i < ENVIRONMENT_PLACES && places->dirs[i]; i++) {
		auto_close int top = top_open(places->dirs[i]);
		auto_close int dir = top < 0 ? -1 :
			openat(top, "sources", O_RDONLY | O_DIRECTORY |
					       O_CLOEXEC);
		int fd = dir < 0 ? -1 : set_open_file(dir, sum);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

static int copy(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) < 0)
		return -errno;
	while (at < st.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
	}
	return 0;
}

static int copy_one(void *arg, const struct environment_package *p)
{
	struct copying *c = arg;
	auto_close int from = find_source(c->places, p->sum), to = -1;
	int r;

	if (from < 0)
		return err_sys(c->err, from, "the download %s (%.12s) of %s",
			       p->file, p->sum, p->name);
	to = openat(c->to, p->sum, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0644);
	if (to < 0 && errno == EEXIST)
		return 0; /* two packages came in one file */
	r = to < 0 ? -errno : copy(from, to);
	return r < 0 ? err_sys(c->err, r, "%s", p->file) : 0;
}

int environment_export_sources(const struct environment_places *places,
			       const struct environment *e, const char *dir,
			       struct err *err)
{
	auto_buf struct buf text = { 0 };
	auto_close int to = -1;
	struct copying c = { .places = places, .err = err };
	int r = environment_read(e, ENV_LOCK, &text, err);

	if (r < 0)
		return r;
	if (mkdir(dir, 0755) < 0)
		return err_sys(err, -errno, "%s", dir);
	to = c.to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return err_sys(err, -errno, "%s", dir);
	r = environment_lock_read(text.data, text.len, copy_one, &c, err);
	return MIN(r, 0);
}
