/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /files: sends a file of the sandbox, read in pieces as the client takes
 * them. Owns struct download; a worker reads, the loop sends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "fsd/gateway/jobs/ask.h"
#include "layout/base/cleanup.h"

#define KERNEL_MAX (1u << 20) /* most bytes of a file of /proc */
#define PIECE (256u << 10)

struct download {
	/* owns a reference; NULL: the client is gone */
	struct request *request;
	struct gateway *gateway;
	int fd;
	uint64_t at, left;
	struct crew_work work;
	bool busy;
	ssize_t got;
	char *piece;
};

static void close_file(struct crew_work *work)
{
	struct download *d = container_of(work, struct download, work);

	fd_close(&d->fd);
	free(d->piece);
	free(d);
}

static void finish(struct download *d)
{
	if (d->request) {
		d->request->state = NULL;
		request_unref(d->request);
	}
	d->request = NULL;
	d->work.run = close_file;
	d->work.done = NULL;
	crew_put(&d->gateway->crew, &d->work);
}

static void read_piece(struct crew_work *work)
{
	struct download *d = container_of(work, struct download, work);

	d->got = pread(d->fd, d->piece, MIN(d->left, PIECE), (off_t)d->at);
}

static void go_on(struct download *d);

static void piece_read(struct crew_work *work)
{
	struct download *d = container_of(work, struct download, work);

	d->busy = false;
	if (!d->request) {
		finish(d);
		return;
	}
	/* the file became shorter, or the sandbox has ended */
	if (d->got <= 0) {
		stream_cut(d->request);
		finish(d);
		return;
	}
	d->at += (uint64_t)d->got;
	d->left -= (uint64_t)d->got;
	stream_add(d->request, d->piece, (size_t)d->got);
	go_on(d);
}

static void go_on(struct download *d)
{
	if (!d->left) {
		stream_end(d->request);
		finish(d);
		return;
	}
	if (d->busy || stream_waiting(d->request) >= PIECE)
		return;
	d->busy = true;
	d->work.run = read_piece;
	d->work.done = piece_read;
	crew_put(&d->gateway->crew, &d->work);
}

static void on_begun(struct request *r)
{
	struct download *d = r->state;

	piece_read(&d->work); /* the first one */
}

static void on_taken(struct request *r, size_t waiting)
{
	struct download *d = r->state;

	if (d && d->left && waiting < PIECE)
		go_on(d);
}

static void on_gone(struct request *r)
{
	struct download *d = r->state;

	r->state = NULL;
	request_unref(r);
	d->request = NULL;
	if (!d->busy)
		finish(d);
}

static const struct stream_ops ops = {
	.begun = on_begun, .taken = on_taken, .gone = on_gone,
};

/* Parses "bytes=A-B", "bytes=A-", "bytes=-N". Return: 0: there is none; 1:
 * valid; -1: outside of the file. */
static int take_range(const char *text, uint64_t size, uint64_t *at,
		      uint64_t *len)
{
	unsigned long long from, to;
	char end;

	*at = 0;
	*len = size;
	if (!text || strncmp(text, "bytes=", 6) != 0 || strchr(text, ','))
		return 0;
	text += 6;
	if (sscanf(text, "-%llu%c", &to, &end) == 1) {
		*len = MIN((uint64_t)to, size);
		*at = size - *len;
		return *len ? 1 : -1;
	}
	if (sscanf(text, "%llu-%llu%c", &from, &to, &end) == 2) {
		if (to < from)
			return 0;
	} else if (sscanf(text, "%llu-%c", &from, &end) == 1) {
		to = UINT64_MAX - 1;
	} else {
		return 0;
	}
	if (from >= size)
		return -1;
	*at = from;
	*len = MIN((uint64_t)to, size - 1) - from + 1;
	return 1;
}

/* Returns whether the path is a file of the kernel, which the mount does not show. */
static bool is_of_kernel(const struct envd_path *p)
{
	return !strncmp(p->real, "/proc/", 6) || !strncmp(p->real, "/sys/", 5);
}

/* Sends such a file, whose size is known only after reading. */
static void get_of_kernel(struct request *r, const struct envd_path *p)
{
	auto_buf struct buf out = { .cap = KERNEL_MAX };
	struct err err = { 0 };
	int code = ask_machine(r->gateway, r->sandbox->name,
			       json_pack("[s, s, s]", "/usr/bin/cat", "--", p->real),
			       &out, &err);

	if (code > 0)
		reply_error(r, 404, "path '%.400s' does not exist, or cannot be read",
			    p->path);
	else if (code < 0)
		reply_failure(r, code, err.text);
	else
		reply_taken(r, 200, "application/octet-stream", &out);
}

/* Opens the file. Resolves links only if the mount has no such file, which is
 * rare. Return: a descriptor, or negative errno with a sentence. */
static int find_file(struct request *r, const char *path, struct envd_path *p,
		     struct err *err)
{
	int fd = envd_resolve(r->sandbox->name, path, p);

	if (fd == 0)
		fd = mount_file(&r->gateway->mount, p->mount, O_RDONLY, err);
	if (fd != -ENOENT)
		return fd;
	fd = envd_locate(r->gateway, r->sandbox->name, path, true, p, err);
	return fd < 0 ? fd : mount_file(&r->gateway->mount, p->mount, O_RDONLY, err);
}

/* Opens the file; replies on an error. */
static int open_file(struct request *r, const char *path, struct envd_path *p,
		     uint64_t *size)
{
	struct err err = { 0 };
	struct stat st;
	int fd = find_file(r, path, p, &err);

	if (fd >= 0 && fstat(fd, &st) < 0)
		fd = -errno;
	if (fd == -ENOENT && is_of_kernel(p))
		get_of_kernel(r, p);
	else if (fd == -ENAMETOOLONG)
		reply_error(r, 400, "the path is too long");
	else if (fd == -ENOENT)
		reply_error(r, 404, "path '%.400s' does not exist", p->path);
	else if (fd == -EISDIR || (fd >= 0 && S_ISDIR(st.st_mode)))
		reply_error(r, 400, "path '%.400s' is a directory", p->path);
	else if (fd < 0)
		reply_failure(r, fd, err.text);
	else
		*size = (uint64_t)st.st_size;
	if (r->reply.status && fd >= 0)
		fd_close(&fd);
	return fd;
}

static struct download *new_download(struct request *r, int fd, uint64_t at,
				     uint64_t len)
{
	struct download *d = calloc(1, sizeof(*d));

	if (d)
		d->piece = malloc(PIECE);
	if (!d || !d->piece) {
		free(d);
		return NULL;
	}
	*d = (struct download){ .fd = fd, .gateway = r->gateway, .at = at,
				.left = len, .piece = d->piece };
	memcpy(d->work.owner, r->work.owner, sizeof(d->work.owner));
	return d;
}

/* Reads the first piece before the head: so a file that cannot be read gets an
 * error status. Return: false: it has replied. */
static bool read_first(struct request *r, struct download *d,
		       const struct envd_path *p)
{
	struct err err = { 0 };
	/* an empty file needs a read, too */
	size_t ask = d->left ? MIN(d->left, PIECE) : 1;
	ssize_t got = pread(d->fd, d->piece, ask, (off_t)d->at);

	d->got = got;
	if (got > 0 || (got == 0 && !d->left))
		return true;
	if (got < 0)
		reply_failure(r, mount_why(&r->gateway->mount, p->mount, -errno,
					   &err), err.text);
	else
		reply_error(r, 409, "path '%.400s' became shorter while it was "
			    "read", p->path);
	return false;
}

static void refuse_range(struct request *r, uint64_t size)
{
	char text[48];

	snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
	reply_error(r, 416, "the file has %" PRIu64 " bytes", size);
	reply_header(r, "Content-Range", text);
}

static void add_headers(struct request *r, bool range, const struct download *d,
			uint64_t size)
{
	char text[80];

	reply_header(r, "Content-Disposition", "inline");
	reply_header(r, "Accept-Ranges", "bytes");
	if (!range)
		return;
	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
		 d->at, d->at + d->left - 1, size);
	reply_header(r, "Content-Range", text);
}

/* Takes d. */
static void reply_file(struct request *r, bool range, struct download *d,
		       uint64_t size)
{
	add_headers(r, range, d, size);
	if (!d->left) {
		reply_text(r, 200, "application/octet-stream", "", 0);
		close_file(&d->work);
		return;
	}
	d->request = request_ref(r);
	r->state = d;
	reply_stream(r, range ? 206 : 200, "application/octet-stream", d->left,
		     &ops);
}

void get_files(struct request *r)
{
	const char *path = request_query(r, "path");
	uint64_t size = 0, at, len;
	struct envd_path p;
	struct download *d;
	int range, fd = open_file(r, path ? path : "", &p, &size);

	if (r->reply.status)
		return;
	range = take_range(request_header(r, "Range"), size, &at, &len);
	d = range < 0 ? NULL : new_download(r, fd, at, len);
	if (!d)
		close(fd);
	if (range < 0)
		refuse_range(r, size);
	else if (!d)
		reply_failure(r, -ENOMEM, "no memory for a file");
	else if (read_first(r, d, &p))
		reply_file(r, range, d, size);
	else
		close_file(&d->work);
}
