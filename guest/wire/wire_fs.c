/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads FS requests and FS_REPLY, for the host and the guest alike. A
 * message comes from the other side, so every length and path is checked here.
 */
#include "wire_fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ERRNO_MAX 4095u

enum { NEEDS_PATH = 1, NEEDS_TO = 2, HAS_DATA = 4, HAS_LENGTH = 8, NO_PATH = 16 };

static const unsigned operands[WIRE_FS_MAX] = {
	[WIRE_FS_READ] = NEEDS_PATH | HAS_LENGTH,
	[WIRE_FS_WRITE] = NEEDS_PATH | HAS_DATA,
	[WIRE_FS_TRUNCATE] = NEEDS_PATH,
	[WIRE_FS_CREATE] = NEEDS_PATH,
	[WIRE_FS_MKDIR] = NEEDS_PATH,
	[WIRE_FS_UNLINK] = NEEDS_PATH,
	[WIRE_FS_RMDIR] = NEEDS_PATH,
	[WIRE_FS_RENAME] = NEEDS_PATH | NEEDS_TO,
	[WIRE_FS_PROCESSES] = NO_PATH,
};

void wire_fs_put(struct wire_writer *w, const struct wire_fs *fs)
{
	wire_put_u32(w, fs->id);
	wire_put_u32(w, fs->op);
	wire_put_str(w, fs->path);
	wire_put_u64(w, fs->offset);
	wire_put_u32(w, fs->length);
	wire_put_u32(w, fs->mode);
	wire_put_u32(w, fs->flags);
	wire_put_u32(w, fs->tree);
	wire_put_str(w, fs->to ? fs->to : "");
	wire_put_bytes(w, fs->data, fs->size);
	if (fs->op != WIRE_FS_TIMES)
		return;
	wire_put_time(w, fs->atime);
	wire_put_time(w, fs->mtime);
}

static bool in_range(const struct wire_fs *fs)
{
	unsigned has = fs->op < WIRE_FS_MAX ? operands[fs->op] : 0;

	if (fs->op >= WIRE_FS_MAX || fs->flags > WIRE_FS_FLAGS ||
	    fs->tree >= WIRE_FS_TREE_MAX || fs->mode > 0777)
		return false;
	if (fs->path[0] ? !wire_path_ok(fs->path) || has & NO_PATH
			: has & NEEDS_PATH)
		return false;
	if (has & NEEDS_TO ? !wire_path_ok(fs->to) : fs->to[0])
		return false;
	if (fs->length > (has & HAS_LENGTH ? WIRE_FS_CHUNK : 0) ||
	    fs->size > (has & HAS_DATA ? WIRE_FS_CHUNK : 0))
		return false;
	return fs->offset <= WIRE_FS_SIZE_MAX;
}

int wire_fs_get(const void *payload, size_t length, struct wire_fs *ret)
{
	struct wire_fs fs = {0};
	struct wire_cursor c;

	wire_begin(&c, payload, length);
	fs.id = wire_get_u32(&c);
	fs.op = wire_get_u32(&c);
	fs.path = wire_get_str(&c, WIRE_PATH_MAX);
	fs.offset = wire_get_u64(&c);
	fs.length = wire_get_u32(&c);
	fs.mode = wire_get_u32(&c);
	fs.flags = wire_get_u32(&c);
	fs.tree = wire_get_u32(&c);
	fs.to = wire_get_str(&c, WIRE_PATH_MAX);
	if (fs.op == WIRE_FS_TIMES) {
		fs.atime = wire_get_time(&c);
		fs.mtime = wire_get_time(&c);
	}
	fs.data = c.p;
	fs.size = (size_t)(c.end - c.p);
	if (c.failed || !fs.path || !fs.to || !in_range(&fs)) {
		wire_fs_done(&fs);
		return -EPROTO;
	}
	*ret = fs;
	return 0;
}

void wire_fs_done(struct wire_fs *fs)
{
	free(fs->path);
	free(fs->to);
	memset(fs, 0, sizeof(*fs));
}

void wire_fs_stat_put(struct wire_writer *w, const struct wire_fs_stat *st)
{
	wire_put_u32(w, st->kind);
	wire_put_u32(w, st->mode);
	wire_put_u64(w, st->size);
	wire_put_time(w, st->mtime);
}

int wire_fs_stat_get(const void *data, size_t length, struct wire_fs_stat *ret)
{
	struct wire_fs_stat st;
	struct wire_cursor c;

	wire_begin(&c, data, length);
	st.kind = wire_get_u32(&c);
	st.mode = wire_get_u32(&c);
	st.size = wire_get_u64(&c);
	st.mtime = wire_get_time(&c);
	if (wire_end(&c) || st.kind > WIRE_FILE_DIR || st.mode > 0777 ||
	    st.size > WIRE_FS_SIZE_MAX)
		return -EPROTO;
	*ret = st;
	return 0;
}

int wire_fs_reply_get(const void *payload, size_t length, uint32_t *ret_id,
		      uint32_t *ret_errno, const uint8_t **ret_data,
		      size_t *ret_size)
{
	struct wire_cursor c;

	wire_begin(&c, payload, length);
	*ret_id = wire_get_u32(&c);
	*ret_errno = wire_get_u32(&c);
	*ret_data = c.p;
	*ret_size = (size_t)(c.end - c.p);
	if (c.failed || *ret_errno > ERRNO_MAX || (*ret_errno && *ret_size))
		return -EPROTO;
	return 0;
}

static int check_stat(const struct wire_fs *fs, const uint8_t *data,
		      size_t size)
{
	struct wire_fs_stat st;

	(void)fs;
	return wire_fs_stat_get(data, size, &st);
}

static int check_list(const struct wire_fs *fs, const uint8_t *data,
		      size_t size)
{
	struct wire_cursor c;

	(void)fs;
	wire_begin(&c, data, size);
	if (wire_get_u64(&c) > WIRE_FS_SIZE_MAX)
		return -EPROTO;
	while (!c.failed && c.p < c.end) {
		uint32_t kind = wire_get_u32(&c);
		char *name = wire_get_str(&c, WIRE_NAME_MAX);

		free(name);
		if (kind > WIRE_FILE_DIR)
			return -EPROTO;
	}
	return wire_end(&c);
}

static int check_read(const struct wire_fs *fs, const uint8_t *data,
		      size_t size)
{
	(void)data;
	return size > fs->length ? -EPROTO : 0;
}

static int check_write(const struct wire_fs *fs, const uint8_t *data,
		       size_t size)
{
	struct wire_cursor c;
	uint32_t n;

	wire_begin(&c, data, size);
	n = wire_get_u32(&c);
	return wire_end(&c) || n > fs->size || (!n && fs->size) ? -EPROTO : 0;
}

static int check_hidden(const struct wire_fs *fs, const uint8_t *data,
			size_t size)
{
	struct wire_cursor c;

	(void)fs;
	wire_begin(&c, data, size);
	wire_get_u32(&c);
	return wire_end(&c);
}

/* Skips the digits at p and the space behind them. Return: what follows, or
 * NULL. */
static const uint8_t *skip_number(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *from = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p > from && p - from <= 10 && p < end && *p == ' ' ? p + 1 : NULL;
}

static int check_processes(const struct wire_fs *fs, const uint8_t *data,
			   size_t size)
{
	const uint8_t *p = data, *end = data + size;

	(void)fs;
	if (size > WIRE_FS_CHUNK)
		return -EPROTO;
	while (p < end) {
		p = skip_number(p, end);
		p = p ? skip_number(p, end) : NULL;
		while (p && p < end && *p >= ' ' && *p <= '~')
			p++;
		if (!p || p == end || *p++ != '\n')
			return -EPROTO;
	}
	return 0;
}

static int check_nothing(const struct wire_fs *fs, const uint8_t *data,
			 size_t size)
{
	(void)fs;
	(void)data;
	return size ? -EPROTO : 0;
}

int wire_fs_reply_check(const struct wire_fs *fs, const uint8_t *data,
			size_t size)
{
	static int (*const checks[WIRE_FS_MAX])(const struct wire_fs *fs,
						const uint8_t *data,
						size_t size) = {
		[WIRE_FS_STAT] = check_stat,
		[WIRE_FS_LIST] = check_list,
		[WIRE_FS_READ] = check_read,
		[WIRE_FS_WRITE] = check_write,
		[WIRE_FS_TRUNCATE] = check_stat,
		[WIRE_FS_CREATE] = check_stat,
		[WIRE_FS_MKDIR] = check_stat,
		[WIRE_FS_UNLINK] = check_nothing,
		[WIRE_FS_RMDIR] = check_nothing,
		[WIRE_FS_RENAME] = check_nothing,
		[WIRE_FS_CHMOD] = check_stat,
		[WIRE_FS_TIMES] = check_stat,
		[WIRE_FS_HIDDEN] = check_hidden,
		[WIRE_FS_PROCESSES] = check_processes,
	};

	return checks[fs->op](fs, data, size);
}
