/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers FS requests from the fake machine's list of files. A path exists as a
 * directory if the list has it as one, or if it is the beginning of another
 * path. All functions run on the loop.
 */
#include "fake_guest_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/wire/wire_fs.h"
#include "layout/base/cleanup.h"

struct call {
	struct fake_guest *g;
	const struct wire_fs *fs;
	struct list *files[2]; /* lists of files of the request's tree; new files go to
			        * the first one */
	unsigned lists;
	struct fake_file *file; /* the file at the path, or NULL */
	struct wire_writer out;
};

static struct fake_file *find(struct call *c, const char *path)
{
	struct fake_file *f = NULL;

	for (unsigned i = c->lists; i-- && !f;)
		f = fake_file_find(c->files[i], path);
	return f;
}

/* Returns the part of path below dir ("" is the top), or NULL. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (!n)
		return path;
	return !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static bool has_children(struct call *c, const char *dir)
{
	for (unsigned i = 0; i < c->lists; i++)
		list_for_each(pos, tmp, c->files[i])
			if (below(list_entry(pos, struct fake_file, node)->path,
				  dir))
				return true;
	return false;
}

static bool is_dir(struct call *c, const char *path)
{
	struct fake_file *f = path[0] ? find(c, path) : NULL;

	return !path[0] || (f ? f->kind == WIRE_FILE_DIR
			      : has_children(c, path));
}

static int check_parent(struct call *c, const char *path)
{
	auto_free char *parent = strdup(path);
	char *slash = strrchr(parent, '/');

	if (!slash)
		return 0;
	*slash = '\0';
	return is_dir(c, parent) ? 0 : find(c, parent) ? -ENOTDIR : -ENOENT;
}

static int op_stat(struct call *c)
{
	struct wire_fs_stat st = { .kind = WIRE_FILE_DIR, .mode = 0755 };

	if (c->file) {
		st.kind = c->file->kind;
		st.mode = c->file->mode & 0777;
		st.size = c->file->data.len;
		st.mtime = c->file->mtime;
	} else if (!is_dir(c, c->fs->path)) {
		return -ENOENT;
	}
	wire_fs_stat_put(&c->out, &st);
	return 0;
}

/* Lists the entries directly in the directory, from the request's offset on. The reply's
 * offset is where the next request continues. */
static int op_list(struct call *c)
{
	struct wire_writer head = { .p = c->out.p, .size = 8 };
	uint64_t at = 0;

	if (!is_dir(c, c->fs->path))
		return c->file ? -ENOTDIR : -ENOENT;
	wire_put_u64(&c->out, 0);
	for (unsigned i = 0; i < c->lists; i++)
		list_for_each(pos, tmp, c->files[i]) {
			struct fake_file *f =
				list_entry(pos, struct fake_file, node);
			const char *name = below(f->path, c->fs->path);

			if (!name || strchr(name, '/') || at++ < c->fs->offset)
				continue;
			if (c->out.used + 8 + strlen(name) > WIRE_FS_CHUNK) {
				wire_put_u64(&head, at - 1);
				return 0;
			}
			wire_put_u32(&c->out, f->kind);
			wire_put_str(&c->out, name);
		}
	return 0;
}

static int op_read(struct call *c)
{
	const struct buf *data = c->file ? &c->file->data : NULL;

	if (!data)
		return is_dir(c, c->fs->path) ? -EISDIR : -ENOENT;
	if (c->file->kind == WIRE_FILE_DIR)
		return -EISDIR;
	if (c->fs->offset < data->len)
		wire_put_bytes(&c->out, data->data + c->fs->offset,
			       MIN(c->fs->length,
				   data->len - (size_t)c->fs->offset));
	return 0;
}

/* Makes data at least size bytes long. */
static void lengthen(struct buf *data, size_t size)
{
	if (data->len >= size || buf_reserve(data, size - data->len + 1) < 0)
		return;
	memset(data->data + data->len, 0, size - data->len + 1);
	data->len = size;
}

static int op_write(struct call *c)
{
	struct buf *data = c->file ? &c->file->data : NULL;
	uint64_t at = c->fs->offset;

	if (!data)
		return -ENOENT;
	if (c->fs->flags & WIRE_FS_APPEND)
		at = data->len;
	if (at + c->fs->size > data->cap)
		return -ENOSPC;
	lengthen(data, (size_t)at + c->fs->size);
	if (c->fs->size)
		memcpy(data->data + at, c->fs->data, c->fs->size);
	wire_put_u32(&c->out, (uint32_t)c->fs->size);
	return 0;
}

static int op_truncate(struct call *c)
{
	struct buf *data = c->file ? &c->file->data : NULL;

	if (!data)
		return -ENOENT;
	if (c->fs->offset > data->cap)
		return -EFBIG;
	lengthen(data, (size_t)c->fs->offset);
	data->len = (size_t)c->fs->offset;
	if (data->data)
		data->data[data->len] = '\0';
	return op_stat(c);
}

static int make(struct call *c, uint8_t kind)
{
	int r = check_parent(c, c->fs->path);

	if (r < 0)
		return r;
	c->file = fake_file_new(c->files[0], c->fs->path, kind, c->fs->mode);
	return op_stat(c);
}

static int op_create(struct call *c)
{
	if (!c->file)
		return make(c, WIRE_FILE_REG);
	if (c->file->kind == WIRE_FILE_DIR)
		return -EISDIR;
	if (c->fs->flags & WIRE_FS_EXCLUSIVE)
		return -EEXIST;
	if (c->fs->flags & WIRE_FS_EMPTY)
		c->file->data.len = 0;
	return op_stat(c);
}

static int op_mkdir(struct call *c)
{
	return is_dir(c, c->fs->path) || c->file ? -EEXIST
						    : make(c, WIRE_FILE_DIR);
}

static int op_unlink(struct call *c)
{
	if (!c->file)
		return -ENOENT;
	if (c->file->kind == WIRE_FILE_DIR)
		return -EISDIR;
	fake_file_free(c->file);
	return 0;
}

static int op_rmdir(struct call *c)
{
	if (!c->file || c->file->kind != WIRE_FILE_DIR)
		return c->file ? -ENOTDIR : -ENOENT;
	if (has_children(c, c->fs->path))
		return -ENOTEMPTY;
	fake_file_free(c->file);
	return 0;
}

static void rename_below(struct list *files, const char *from, const char *to)
{
	list_for_each(pos, tmp, files) {
		struct fake_file *f = list_entry(pos, struct fake_file, node);
		const char *rest = below(f->path, from);
		auto_buf struct buf path = { 0 };

		if (!rest && strcmp(f->path, from) != 0)
			continue;
		buf_fmt(&path, "%s%s%s", to, rest ? "/" : "", rest ? rest : "");
		fake_file_rename(f, take_ptr(path.data));
	}
}

static int op_rename(struct call *c)
{
	struct fake_file *old = find(c, c->fs->to);
	int r = check_parent(c, c->fs->to);

	if (r < 0 || !c->file)
		return r < 0 ? r : -ENOENT;
	if (below(c->fs->to, c->fs->path))
		return -EINVAL;
	if (old == c->file)
		return 0;
	if (old && (c->fs->flags & WIRE_FS_EXCLUSIVE))
		return -EEXIST;
	if (old && old->kind != c->file->kind)
		return old->kind == WIRE_FILE_DIR ? -EISDIR : -ENOTDIR;
	if (old && has_children(c, c->fs->to))
		return -ENOTEMPTY;
	if (old)
		fake_file_free(old);
	for (unsigned i = 0; i < c->lists; i++)
		rename_below(c->files[i], c->fs->path, c->fs->to);
	return 0;
}

static int op_chmod(struct call *c)
{
	if (c->file)
		c->file->mode = c->fs->mode;
	return op_stat(c);
}

static int op_times(struct call *c)
{
	if (c->file && c->fs->mtime.known)
		c->file->mtime = c->fs->mtime;
	return op_stat(c);
}

/* There are no entries of other kinds here. */
static int op_hidden(struct call *c)
{
	if (!is_dir(c, c->fs->path))
		return c->file ? -ENOTDIR : -ENOENT;
	wire_put_u32(&c->out, 0);
	return 0;
}

static int op_processes(struct call *c)
{
	if (!c->g->shared) /* like the real guest */
		return -EOPNOTSUPP;
	fake_processes(c->g, &c->out);
	return 0;
}

static int (*const ops[WIRE_FS_MAX])(struct call *c) = {
	[WIRE_FS_STAT] = op_stat,	  [WIRE_FS_LIST] = op_list,
	[WIRE_FS_READ] = op_read,	  [WIRE_FS_WRITE] = op_write,
	[WIRE_FS_TRUNCATE] = op_truncate, [WIRE_FS_CREATE] = op_create,
	[WIRE_FS_MKDIR] = op_mkdir,	  [WIRE_FS_UNLINK] = op_unlink,
	[WIRE_FS_RMDIR] = op_rmdir,	  [WIRE_FS_RENAME] = op_rename,
	[WIRE_FS_CHMOD] = op_chmod,	  [WIRE_FS_TIMES] = op_times,
	[WIRE_FS_HIDDEN] = op_hidden,	  [WIRE_FS_PROCESSES] = op_processes,
};

/* --- the root ---------------------------------------------------------------- */

#define HOME (&WIRE_HOME[1])

static bool is_change(const struct wire_fs *fs)
{
	return fs->op != WIRE_FS_STAT && fs->op != WIRE_FS_LIST &&
	       fs->op != WIRE_FS_READ && fs->op != WIRE_FS_HIDDEN;
}

/* Translates a path of the root to one of the home; NULL: it is not in the
 * home. */
static char *in_home(char *path)
{
	if (!strcmp(path, HOME))
		return path + strlen(path);
	return (char *)(uintptr_t)below(path, HOME);
}

/*
 * Returns whether the path is in a directory of the root that users may change.
 */
static bool is_users(const char *path)
{
	return below(path, "tmp") || below(path, "workspace") || below(path, "code");
}

/* Chooses the list for a path of the root, and checks whether it may be
 * changed. */
static int choose_files(struct call *c, struct wire_fs *fs)
{
	char *path = in_home(fs->path), *to = in_home(fs->to);

	c->files[0] = &c->g->inputs;
	c->files[1] = &c->g->outputs;
	c->lists = 2;
	if (fs->tree != WIRE_FS_ROOT)
		return 0;
	if (!c->g->shared)
		return -EOPNOTSUPP;
	if (path && (fs->op != WIRE_FS_RENAME || to)) {
		fs->path = path;
		fs->to = to ? to : fs->to;
		return 0;
	}
	c->files[0] = &c->g->root;
	c->lists = 1;
	if (!is_change(fs))
		return 0;
	if (path || (to && fs->op == WIRE_FS_RENAME))
		return -EXDEV;
	return !is_users(fs->path) || (fs->to[0] && !is_users(fs->to)) ? -EROFS : 0;
}

static bool has_fault(const struct fake_guest *g, const char *fault)
{
	return g->fs_fault && !strcmp(g->fs_fault, fault);
}

/* Answers with a listing that never ends. Its only name, "a/b", is not a legal one. */
static int list_endlessly(struct call *c)
{
	wire_put_u64(&c->out, c->fs->offset + 1);
	wire_put_u32(&c->out, WIRE_FILE_REG);
	wire_put_str(&c->out, "a/b");
	return 0;
}

/* Answers that each path has another kind than the one asked for. */
static int other_kind(struct call *c)
{
	struct wire_fs_stat st = {
		.kind = c->fs->op == WIRE_FS_MKDIR || !c->fs->path[0]
				? WIRE_FILE_REG
				: WIRE_FILE_DIR,
	};

	wire_fs_stat_put(&c->out, &st);
	return 0;
}

static int answer(struct call *c)
{
	const char *fault = c->g->fs_fault ? c->g->fs_fault : "";

	if (!strcmp(fault, "endless") && c->fs->op == WIRE_FS_LIST)
		return list_endlessly(c);
	if (!strcmp(fault, "kind") &&
	    (c->fs->op == WIRE_FS_CREATE || c->fs->op == WIRE_FS_MKDIR ||
	     !c->fs->path[0]))
		return other_kind(c);
	if (!strncmp(fault, "errno ", 6) && c->fs->op != WIRE_FS_STAT)
		return -(int)strtoul(fault + 6, NULL, 10);
	return ops[c->fs->op](c);
}

/*
 * Answers with the fault's errno and data, if the fault is for this operation.
 */
static bool lies(struct fake_guest *g, const struct wire_fs *fs)
{
	auto_buf struct buf payload = { 0 };
	uint8_t room[4];
	struct wire_writer w = { .p = room, .size = sizeof(room) };
	char *end = NULL;

	if (!g->fs_fault || strtoul(g->fs_fault, &end, 10) != fs->op ||
	    end == g->fs_fault)
		return false;
	wire_put_u32(&w, fs->id);
	buf_add(&payload, room, sizeof(room));
	fake_hex(&payload, end + strspn(end, " "));
	fake_put(g, WIRE_FS_REPLY, 0, payload.data, payload.len);
	fake_flush(g);
	return true;
}

void fake_fs(struct fake_guest *g, const void *payload, size_t length)
{
	uint8_t room[WIRE_PAYLOAD_MAX];
	struct wire_writer head = { .p = room, .size = 8 };
	struct wire_fs fs, seen;
	struct call c = { .g = g, .fs = &seen };
	int r;

	c.out = (struct wire_writer){ .p = room + 8, .size = sizeof(room) - 8 };
	if (wire_fs_get(payload, length, &fs) < 0) {
		g->crash(g->arg);
		return;
	}
	seen = fs;
	r = choose_files(&c, &seen);
	c.file = find(&c, seen.path);
	if (r == 0)
		r = answer(&c);
	wire_put_u32(&head, has_fault(g, "number") ? fs.id + 1 : fs.id);
	wire_put_u32(&head, (uint32_t)-r);
	if (has_fault(g, "garbage"))
		memset(room + 4, 0xee, 60);
	if (lies(g, &fs)) {
		wire_fs_done(&fs);
		return;
	}
	if (has_fault(g, "long"))
		c.out.used = WIRE_FS_CHUNK + 9;
	if (!has_fault(g, "silent"))
		fake_put(g, WIRE_FS_REPLY, 0, room, 8 + (r ? 0 : c.out.used));
	wire_fs_done(&fs);
	fake_flush(g);
}
