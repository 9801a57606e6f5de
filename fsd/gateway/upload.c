/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /files: the body is one file, or a form of several; either may be compressed.
 * Pieces come on a worker, in order, and are written as they come.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "envd.h"
#include "layout/base/cleanup.h"
#include "multipart.h"
#include "seed.h"

#define RATIO_MAX 200u /* of what is packed */
#define FILES_MAX 1024u

struct upload {
	struct request *request; /* borrowed */
	const char *path;        /* of the query, or NULL */
	struct envd_path to;
	int fd;                  /* of the file that is written */
	json_t *written;         /* [{path, name, type}] */
	bool in_form, packed;
	struct multipart form;
	z_stream unpack;
	uint64_t packed_bytes, bytes;
};

static void free_upload(void *state)
{
	struct upload *u = state;

	fd_close(&u->fd);
	json_decref(u->written);
	multipart_done(&u->form);
	if (u->packed)
		inflateEnd(&u->unpack);
	free(u);
}

/* Return: -1, and the reply is there. */
static int fail(struct upload *u, int code, const char *sentence)
{
	struct request *r = u->request;

	if (r->reply.status)
		return -1;
	if (code == -EISDIR)
		reply_error(r, 400, "path '%.400s' is a directory", u->to.path);
	else
		reply_failure(r, code, sentence);
	return -1;
}

/* --- one file ------------------------------------------------------------------ */

static bool is_written(const struct upload *u, const char *path)
{
	json_t *one;
	size_t i;

	json_array_foreach(u->written, i, one)
		if (!strcmp(text_member(one, "path"), path))
			return true;
	return false;
}

static int open_to(struct upload *u, const char *path)
{
	struct request *r = u->request;
	struct err err = { 0 };
	int code = envd_resolve(r->sandbox->name, path, &u->to);

	if (code < 0)
		return fail(u, code, "the path is too long");
	if (is_written(u, u->to.path)) {
		reply_error(r, 400, "path '%.400s' is there twice", u->to.path);
		return -1;
	}
	if (json_array_size(u->written) == FILES_MAX) {
		reply_error(r, 400, "at most %u files at a time", FILES_MAX);
		return -1;
	}
	code = envd_make_parents(r->gateway, &u->to, &err);
	if (code == 0)
		code = u->fd = mount_create(&r->gateway->mount, u->to.mount,
					    0644, &err);
	return code < 0 ? fail(u, code, err.text) : 0;
}

static int write_all(struct upload *u, const char *data, size_t len)
{
	struct err err = { 0 };

	while (len) {
		ssize_t n = write(u->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(u, mount_why(&u->request->gateway->mount,
						 u->to.mount, -errno, &err),
				    err.text);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int close_to(struct upload *u)
{
	json_t *path = text_string(u->to.path, strlen(u->to.path));
	const char *name = envd_name(&u->to);
	struct err err = { 0 };

	json_array_append_new(u->written,
			      json_pack("{s:o, s:o, s:s}", "path", path, "name",
					text_string(name, strlen(name)), "type",
					"file"));
	if (close(take_fd(&u->fd)) < 0)
		return fail(u, mount_why(&u->request->gateway->mount,
					 u->to.mount, -errno, &err), err.text);
	return 0;
}

/* --- a form --------------------------------------------------------------------- */

static int part_begin(void *arg, const char *name, const char *filename)
{
	struct upload *u = arg;
	const char *path = u->path ? u->path : filename;

	if (strcmp(name, "file") != 0)
		return 0; /* another field */
	if (!*path) {
		reply_error(u->request, 400, "a file has neither the query "
			    "\"path\" nor a filename");
		return -1;
	}
	return open_to(u, path);
}

static int part_data(void *arg, const char *data, size_t len)
{
	struct upload *u = arg;

	return u->fd < 0 ? 0 : write_all(u, data, len);
}

static int part_end(void *arg)
{
	struct upload *u = arg;

	return u->fd < 0 ? 0 : close_to(u);
}

static const struct multipart_ops form_ops = { part_begin, part_data, part_end };

/* --- the body --------------------------------------------------------------------- */

static int take_plain(struct upload *u, const char *data, size_t len)
{
	struct request *r = u->request;
	int code;

	u->bytes += len;
	if (u->bytes > r->gateway->options.max_upload) {
		reply_error(r, 413, "what is unpacked is longer than %" PRIu64
			    " bytes", r->gateway->options.max_upload);
		return -1;
	}
	if (!u->in_form)
		return write_all(u, data, len);
	code = multipart_add(&u->form, data, len);
	if (code < 0 && !r->reply.status)
		reply_error(r, 400, "the body is no multipart/form-data");
	return code;
}

static int take_packed(struct upload *u, const char *data, size_t len)
{
	char plain[16384];
	int code = Z_OK, r = 0;

	u->packed_bytes += len;
	u->unpack.next_in = (Bytef *)(uintptr_t)data;
	u->unpack.avail_in = (uInt)len;
	while (r == 0 && code == Z_OK) {
		u->unpack.next_out = (Bytef *)plain;
		u->unpack.avail_out = sizeof(plain);
		code = inflate(&u->unpack, Z_NO_FLUSH);
		r = take_plain(u, plain, sizeof(plain) - u->unpack.avail_out);
		if (r == 0 && u->bytes > (1u << 20) &&
		    u->bytes / RATIO_MAX > u->packed_bytes) {
			reply_error(u->request, 413, "the body unpacks to more "
				    "than %u times its length", RATIO_MAX);
			r = -1;
		}
	}
	if (r == 0 && code != Z_STREAM_END && code != Z_BUF_ERROR) {
		reply_error(u->request, 400, "the body is no gzip");
		r = -1;
	}
	return r;
}

static bool begins_with(const char *text, const char *start)
{
	return text && !strncasecmp(text, start, strlen(start));
}

static int take_encoding(struct upload *u)
{
	const char *encoding = request_header(u->request, "Content-Encoding");

	if (!encoding || text_is(encoding, "identity"))
		return 0;
	if (!text_is(encoding, "gzip")) {
		reply_error(u->request, 415, "Content-Encoding %.60s: gzip is "
			    "the one that is known", encoding);
		return -1;
	}
	if (inflateInit2(&u->unpack, 15 + 16) != Z_OK)
		return fail(u, -ENOMEM, "no memory to unpack");
	u->packed = true;
	return 0;
}

static int take_type(struct upload *u)
{
	struct request *r = u->request;
	const char *type = request_header(r, "Content-Type");

	if (begins_with(type, "multipart/form-data")) {
		u->in_form = true;
		if (multipart_begin(&u->form, type, &form_ops, u) == 0)
			return 0;
		reply_error(r, 400, "Content-Type: the form has no boundary");
		return -1;
	}
	if (!begins_with(type, "application/octet-stream")) {
		reply_error(r, 400, "Content-Type %.80s: it is application/"
			    "octet-stream or multipart/form-data",
			    type ? type : "(none)");
		return -1;
	}
	if (u->path && *u->path)
		return open_to(u, u->path);
	reply_error(r, 400, "the query \"path\" is missing");
	return -1;
}

/* At the first piece. Return: 0, or -1: the reply is there. */
static int begin(struct request *r)
{
	struct upload *u = calloc(1, sizeof(*u));

	if (!u) {
		reply_failure(r, -ENOMEM, "no memory for an upload");
		return -1;
	}
	u->request = r;
	u->fd = -1;
	u->path = request_query(r, "path");
	u->written = json_array();
	r->state = u;
	r->state_free = free_upload;
	return take_encoding(u) < 0 || take_type(u) < 0 ? -1 : 0;
}

int post_files_chunk(struct request *r, const char *data, size_t len)
{
	struct upload *u;

	if (!r->state && begin(r) < 0)
		return -1;
	u = r->state;
	return (u->packed ? take_packed : take_plain)(u, data, len);
}

void post_files(struct request *r)
{
	struct err err = { 0 };
	struct upload *u;
	int code;

	if (!r->state && begin(r) < 0)
		return;
	u = r->state;
	if (u->in_form && !multipart_over(&u->form)) {
		reply_error(r, 400, "the form ends before its last boundary");
		return;
	}
	if (!u->in_form && close_to(u) < 0)
		return;
	if (seed_is_wanted(r)) {
		code = seed_add(r->gateway, u->written, &err);
		if (code < 0) {
			reply_failure(r, code, err.text);
			return;
		}
	}
	reply_json(r, 200, json_incref(u->written));
}
