/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /files: the body is one file, or a form of several; either may be
 * compressed. Pieces come on a worker, in order, and are written at once. If a
 * file's end does not come, the file is removed, so that a part does not look
 * like the whole. Owns struct upload.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "envd.h"
#include "fsd/gateway/base/multipart.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "seed.h"
#include "upload_name.h"

#define RATIO_MAX 200u /* most bytes out of one compressed byte */
#define FILES_MAX 65536u
#define FILE_BYTES 512u /* memory for one written file in the answer, without its path */
#define HOLD_BYTES (64u << 10) /* bytes taken from the budget at a time */

struct upload {
	struct gateway *gateway;
	struct request *request; /* borrowed */
	const char *path;        /* the path given in the query, or NULL */
	struct envd_path to;
	int fd; /* the file being written, or -1 */
	bool open;               /* the file's end has not come */
	/* bytes of the file that were written; that may have been */
	uint64_t at, tried;
	struct upload_name name; /* taken while the file is open */
	struct crew_work work;
	json_t *written;         /* [{path, name, type}] */
	json_t *paths; /* a member for each path that was written */
	size_t unpaid; /* bytes of both, not yet taken from the budget */
	bool in_form, packed;
	bool unpacked; /* a member of gzip is complete */
	struct multipart form;
	z_stream unpack;
	uint64_t packed_bytes, bytes;
};

/* Replies an error. Return: -1. */
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

/* --- incomplete files --------------------------------------------------- */

/* Removes the open file, whose rest will not come. A file of another size is
 * kept: a program has written to it. */
static void drop_part(struct upload *u)
{
	const struct mount *m = &u->gateway->mount;
	struct stat st;

	u->open = false;
	fd_close(&u->fd);
	if (upload_name_hold(u->gateway, &u->name) &&
	    mount_stat(m, u->to.mount, &st, NULL) == 0 &&
	    (uint64_t)st.st_size >= u->at && (uint64_t)st.st_size <= u->tried)
		mount_unlink(m, u->to.mount, NULL);
	upload_name_leave(u->gateway, &u->name);
}

static void free_parts(struct upload *u)
{
	json_decref(u->written);
	json_decref(u->paths);
	multipart_done(&u->form);
	if (u->packed)
		inflateEnd(&u->unpack);
	free(u);
}

static void drop_later(struct crew_work *work)
{
	struct upload *u = container_of(work, struct upload, work);

	drop_part(u);
	free_parts(u);
}

/* Frees the upload; on the loop, so it makes no call on the mount. */
static void free_upload(void *state)
{
	struct upload *u = state;

	if (!u->open) {
		free_parts(u);
		return;
	}
	u->work.run = drop_later;
	crew_put(&u->gateway->crew, &u->work);
}

/* --- one file ------------------------------------------------------------------ */

/* Takes the upload's name, and makes or empties the file. Return: as mount_create(). */
static int create(struct upload *u, struct err *err)
{
	int fd;

	upload_name_take(u->gateway, &u->name, u->to.mount);
	fd = mount_create(&u->gateway->mount, u->to.mount, 0644, err);
	if (fd < 0)
		upload_name_leave(u->gateway, &u->name);
	return fd;
}

/* The same after resolving links; makes the parent directories. */
static int create_behind(struct upload *u, const char *path, struct err *err)
{
	struct request *r = u->request;
	int code = envd_locate(r->gateway, r->sandbox->name, path, true, &u->to, err);

	if (code == 0)
		code = envd_make_parents(r->gateway, &u->to, err);
	return code < 0 ? code : create(u, err);
}

static int open_to(struct upload *u, const char *path)
{
	struct request *r = u->request;
	struct err err = { 0 };

	if (envd_resolve(r->sandbox->name, path, &u->to) < 0)
		return fail(u, -ENAMETOOLONG, "the path is too long");
	if (json_object_get(u->paths, u->to.path)) {
		reply_error(r, 400, "path '%.400s' is there twice", u->to.path);
		return -1;
	}
	if (json_array_size(u->written) == FILES_MAX) {
		reply_error(r, 400, "the form has more than %u files; upload "
			    "the rest by another request", FILES_MAX);
		return -1;
	}
	u->at = u->tried = 0;
	u->fd = create(u, &err);
	if (u->fd == -ENOENT || u->fd == -ELOOP)
		u->fd = create_behind(u, path, &err);
	u->open = u->fd >= 0;
	return u->open ? 0 : fail(u, u->fd, err.text);
}

static int refuse_overtaken(struct upload *u)
{
	reply_error(u->request, 409, "another upload of path '%.400s' has begun",
		    u->to.path);
	return -1;
}

static int write_all(struct upload *u, const char *data, size_t len)
{
	struct err err = { 0 };

	if (atomic_load(&u->name.overtaken))
		return refuse_overtaken(u);
	u->tried = u->at + len;
	while (len) {
		ssize_t n = write(u->fd, data, len);

		if (n < 0 && errno == EINTR && !crew_is_late())
			continue;
		if (n < 0)
			return fail(u, mount_why(&u->request->gateway->mount,
						 u->to.mount, -errno, &err),
				    err.text);
		data += n;
		len -= (size_t)n;
		u->at += (uint64_t)n;
	}
	return 0;
}

/* Takes memory of the budget for one more file in the answer, which needs the path three
 * times. */
static int pay(struct upload *u)
{
	u->unpaid += FILE_BYTES + 3 * strlen(u->to.path);
	if (u->unpaid < HOLD_BYTES)
		return 0;
	if (!request_hold(u->request, u->unpaid))
		return fail(u, -EAGAIN, "the forms of this client have more files than "
			    "there is memory for; upload the rest by another request");
	u->unpaid = 0;
	return 0;
}

static void note_written(struct upload *u)
{
	json_t *path = text_string(u->to.path, strlen(u->to.path));
	const char *name = envd_name(&u->to);

	json_object_set_new_nocheck(u->paths, u->to.path, json_null());
	json_array_append_new(u->written,
			      json_pack("{s:o, s:o, s:s}", "path", path, "name",
					text_string(name, strlen(name)), "type",
					"file"));
}

static int close_to(struct upload *u)
{
	struct err err = { 0 };

	if (atomic_load(&u->name.overtaken))
		return refuse_overtaken(u);
	if (close(take_fd(&u->fd)) < 0)
		return fail(u, mount_why(&u->request->gateway->mount,
					 u->to.mount, -errno, &err), err.text);
	u->open = false;
	upload_name_leave(u->gateway, &u->name);
	note_written(u);
	return pay(u);
}

/* --- a form --------------------------------------------------------------------- */

static int part_begin(void *arg, const char *name, const char *filename)
{
	struct upload *u = arg;
	const char *path = u->path ? u->path : filename;

	if (strcmp(name, "file") != 0)
		return 0; /* the form has another field: ignore it */
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

	return u->open ? write_all(u, data, len) : 0;
}

static int part_end(void *arg)
{
	struct upload *u = arg;

	return u->open ? close_to(u) : 0;
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

static bool unpacks_too_much(const struct upload *u)
{
	return u->bytes > (1u << 20) && u->bytes / RATIO_MAX > u->packed_bytes;
}

/* Decompresses a piece. Return: 1: there is more, 0, or -1: it has replied. */
static int unpack_some(struct upload *u)
{
	char plain[16384];
	z_stream *z = &u->unpack;
	int code;

	if (u->unpacked) /* the next member begins */
		inflateReset(z);
	z->next_out = (Bytef *)plain;
	z->avail_out = sizeof(plain);
	code = inflate(z, Z_NO_FLUSH);
	u->unpacked = code == Z_STREAM_END;
	if (take_plain(u, plain, sizeof(plain) - z->avail_out) < 0)
		return -1;
	if (unpacks_too_much(u)) {
		reply_error(u->request, 413, "the body unpacks to more than %u "
			    "times its length", RATIO_MAX);
		return -1;
	}
	if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
		reply_error(u->request, 400, "the body is no gzip%s", z->total_out
			    ? " behind its first bytes" : "");
		return -1;
	}
	return z->avail_in || (!z->avail_out && !u->unpacked);
}

static int take_packed(struct upload *u, const char *data, size_t len)
{
	int r = len > 0;

	u->packed_bytes += len;
	u->unpack.next_in = (Bytef *)(uintptr_t)data;
	u->unpack.avail_in = (uInt)len;
	while (r > 0)
		r = unpack_some(u);
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

/* Refuses a body that cannot fit, before any byte is written. Files may use
 * half of a sandbox's memory. */
static int check_room(struct request *r)
{
	const char *text = request_header(r, "Content-Length");
	json_t *memory = json_object_get(r->sandbox->config, "memory_mb");
	uint64_t bytes, room = (uint64_t)json_integer_value(memory) << 19;

	if (!room || !text || parse_u64(text, 0, INT64_MAX, &bytes) < 0 ||
	    bytes <= room)
		return 0;
	reply_error(r, 507, "the body has %" PRIu64 " bytes, and the sandbox has "
		    "room for %" PRIu64 " of files, half of its memory", bytes,
		    room);
	return -1;
}

/* Starts the upload, at the first piece. Return: 0, or -1: it has replied. */
static int begin(struct request *r)
{
	struct upload *u = calloc(1, sizeof(*u));

	if (!u) {
		reply_failure(r, -ENOMEM, "no memory for an upload");
		return -1;
	}
	u->gateway = r->gateway;
	u->request = r;
	u->fd = -1;
	u->path = request_query(r, "path");
	u->written = json_array();
	u->paths = json_object();
	r->state = u;
	r->state_free = free_upload;
	return check_room(r) < 0 || take_encoding(u) < 0 ? -1 : take_type(u);
}

/* Removes the incomplete file before the client gets the refusal. */
static int refused(struct request *r)
{
	struct upload *u = r->state;

	if (u && u->open) {
		crew_clears_up();
		drop_part(u);
	}
	return -1;
}

int post_files_chunk(struct request *r, const char *data, size_t len)
{
	struct upload *u;

	if (r->reply.status || (!r->state && begin(r) < 0))
		return refused(r);
	u = r->state;
	return (u->packed ? take_packed : take_plain)(u, data, len) < 0
		       ? refused(r)
		       : 0;
}

/* Checks that the whole body has come. Return: 0, or -1: it has replied. */
static int end_body(struct upload *u)
{
	struct request *r = u->request;

	if (u->packed && !u->unpacked)
		reply_error(r, 400, "the body ends before its gzip does");
	else if (u->in_form && !multipart_over(&u->form))
		reply_error(r, 400, "the form ends before its last boundary");
	else
		return u->in_form ? 0 : close_to(u);
	return -1;
}

void post_files(struct request *r)
{
	struct err err = { 0 };
	struct upload *u;
	int code;

	if (!r->state && begin(r) < 0)
		return;
	u = r->state;
	if (end_body(u) < 0) {
		refused(r);
		return;
	}
	if (seed_is_wanted(r)) {
		code = seed_add(r->gateway, u->written, &err);
		if (code < 0) {
			reply_failure(r, code, err.text);
			return;
		}
	}
	reply_json(r, 200, json_incref(u->written));
}
