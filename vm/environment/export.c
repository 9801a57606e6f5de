/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads archives: zstd around the tar of archive.h. Owns the
 * compressor's buffers during a call. Runs on a worker thread or in a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <zstd.h>

#include "archive.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "write_int.h"

#define LEVEL 3       /* zstd's own default */
#define WINDOW_LOG 27 /* the most memory that a frame may ask for: 128 MiB */

/* --- writing ---------------------------------------------------------------- */

/* the end of the tar, and padding */
static const uint8_t zeros[2 * TAR_BLOCK];

struct writer {
	int to;
	ZSTD_CCtx *z; /* owned */
	char *out;    /* owned; of out_size bytes */
	size_t out_size;
	const atomic_bool *cancel;
};

static int put_out(struct writer *w, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(w->to, w->out + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

/* Compresses and writes bytes. last: ends the frame. */
static int put(struct writer *w, const void *data, size_t len, bool last)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t more;

	if (w->cancel && atomic_load(w->cancel))
		return -ECANCELED;
	do {
		ZSTD_outBuffer out = { w->out, w->out_size, 0 };
		int r;

		more = ZSTD_compressStream2(w->z, &out, &in, last ?
					    ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(more))
			return -ENOMEM;
		r = put_out(w, out.pos);
		if (r < 0)
			return r;
	} while (last ? more : in.pos < in.size);
	return 0;
}

static int put_header(struct writer *w, const char *name, uint64_t size)
{
	uint8_t block[TAR_BLOCK];

	tar_write(name, size, block);
	return put(w, block, sizeof(block), false);
}

/* Writes zeros up to a whole block. */
static int put_pad(struct writer *w, uint64_t size)
{
	return put(w, zeros, (size_t)(-size % TAR_BLOCK), false);
}

static int put_file(struct writer *w, const char *name,
		    const struct environment_layer *file)
{
	size_t room = ZSTD_CStreamInSize();
	auto_free uint8_t *data = malloc(room);
	int r = data ? put_header(w, name, file->size) : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < file->size;) {
		ssize_t n = pread(file->fd, data, MIN(file->size - at, room),
				  (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		r = put(w, data, (size_t)n, false);
		at += (uint64_t)n;
	}
	return r < 0 ? r : put_pad(w, file->size);
}

/* Prints the text that set_parse() has read. */
static int print_manifest(const struct environment *e, struct buf *out)
{
	struct set_manifest m = { .heap = e->heap, .packages = e->packages };
	int r;

	memcpy(m.id, e->id, SHA_HEX);
	memcpy(m.abi, e->abi, sizeof(m.abi));
	memcpy(m.parent, e->parent, SHA_HEX);
	for (char **need = e->needs; *need; need++)
		buf_add(&m.needs, *need, strlen(*need) + 1);
	for (unsigned i = 0; i < SET_FILES; i++) {
		const struct environment_layer *file = set_file(e, i);

		m.part[i].size = file->size;
		memcpy(m.part[i].sum, file->sum, SHA_HEX);
	}
	r = m.needs.failed ? m.needs.failed : set_print(&m, out);
	set_done(&m);
	return r;
}

static int writer_open(struct writer *w)
{
	w->out_size = ZSTD_CStreamOutSize();
	w->out = malloc(w->out_size);
	w->z = ZSTD_createCCtx();
	if (!w->out || !w->z)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
	return 0;
}

static int put_all(struct writer *w, const struct environment *e)
{
	static const unsigned order[] = { SET_LOCK, SET_WARM, SET_RECIPE,
					  SET_LAYER };
	auto_buf struct buf text = { 0 };
	int r = print_manifest(e, &text);

	if (r == 0)
		r = put_header(w, archive_members[0], text.len);
	if (r == 0)
		r = put(w, text.data, text.len, false);
	if (r == 0)
		r = put_pad(w, text.len);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(order); i++)
		r = put_file(w, set_files[order[i]], set_file(e, order[i]));
	return r < 0 ? r : put(w, zeros, sizeof(zeros), true);
}

int environment_export(const struct environment *e, int to,
		       const atomic_bool *cancel, struct err *err)
{
	struct writer w = { .to = to, .cancel = cancel };
	int r = writer_open(&w);

	if (r == 0)
		r = put_all(&w, e);
	ZSTD_freeCCtx(w.z);
	free(w.out);
	return r < 0 ? err_sys(err, r, "export of %s", e->name) : 0;
}

/* --- reading ---------------------------------------------------------------- */

struct reader {
	int from;
	ZSTD_DCtx *z; /* owned */
	char *in, *out; /* owned */
	size_t in_size, out_size;
	bool open; /* inside a frame */
	const atomic_bool *cancel;
	struct archive *a;
};

static int take_in(struct reader *r, size_t len, struct err *err)
{
	ZSTD_inBuffer in = { r->in, len, 0 };
	ZSTD_outBuffer out = { r->out, r->out_size, r->out_size };

	/* again while the decompressor has more output */
	while (in.pos < in.size || out.pos == out.size) {
		size_t left;
		int failed;

		if (in.pos == in.size && !r->open)
			break;
		out.pos = 0;
		left = ZSTD_decompressStream(r->z, &out, &in);
		if (ZSTD_isError(left))
			return err_set(err, -EBADMSG, "it is no zstd archive, "
				       "or a damaged one (%s)",
				       ZSTD_getErrorName(left));
		r->open = left != 0;
		failed = archive_feed(r->a, r->out, out.pos, err);
		if (failed < 0)
			return failed;
	}
	return 0;
}

static int read_all(struct reader *r, struct err *err)
{
	ssize_t n = 1;
	int failed = 0;

	while (failed == 0 && n > 0) {
		if (r->cancel && atomic_load(r->cancel))
			return err_sys(err, -ECANCELED, "import");
		n = read(r->from, r->in, r->in_size);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return err_sys(err, -errno, "import");
		else
			failed = take_in(r, (size_t)n, err);
	}
	if (failed < 0)
		return failed;
	if (r->open)
		return err_set(err, -EBADMSG, "it ends too early");
	return archive_end(r->a, err);
}

static int unpack(int from, struct archive *a, const atomic_bool *cancel,
		  struct err *err)
{
	struct reader r = { .from = from, .a = a, .cancel = cancel,
			    .in_size = ZSTD_DStreamInSize(),
			    .out_size = ZSTD_DStreamOutSize() };
	int failed = 0;

	r.in = malloc(r.in_size);
	r.out = malloc(r.out_size);
	r.z = ZSTD_createDCtx();
	if (!r.in || !r.out || !r.z)
		failed = err_sys(err, -ENOMEM, "import");
	if (failed == 0) {
		ZSTD_DCtx_setParameter(r.z, ZSTD_d_windowLogMax, WINDOW_LOG);
		failed = read_all(&r, err);
	}
	ZSTD_freeDCtx(r.z);
	free(r.in);
	free(r.out);
	return failed;
}

int environment_import(const struct environment_places *places,
		       const char *top, int from, const char *name,
		       const atomic_bool *cancel, char ret_id[SHA_HEX],
		       struct err *err)
{
	struct environment_new n = ENVIRONMENT_NEW_INIT;
	struct archive a = ARCHIVE_INIT;
	uint64_t packages;
	int r = environment_name_check(name, err);

	if (r == 0)
		r = environment_begin(top, &n, err);
	if (r < 0)
		return r;
	a.dir = n.dir;
	r = unpack(from, &a, cancel, err);
	if (r == 0)
		r = check_texts(n.dir, &packages, err);
	if (r == 0 && packages != a.m.packages)
		r = err_set(err, -EBADMSG, "its manifest says %llu packages "
			    "and its lock.json has %llu",
			    (unsigned long long)a.m.packages,
			    (unsigned long long)packages);
	if (r == 0)
		r = write_manifest(n.dir, &a.m, err);
	if (r == 0)
		r = publish(places, &n, &a.m, name, err);
	if (r == 0)
		memcpy(ret_id, a.m.id, SHA_HEX);
	archive_done(&a);
	environment_abandon(&n);
	return r;
}
