/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /filesystem.Filesystem: Connect's unary calls, in JSON, on the sandbox's
 * files. Owns no state. On workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "layout/base/cleanup.h"

#define DEPTH_MAX 64u
#define HOLD_BYTES (64u << 10) /* bytes taken from the budget at a time */

/* Reads a path from the body. last: as for envd_locate(). Return: false: it has
 * replied. */
static bool take_path(struct request *r, const json_t *body, const char *member,
		      bool last, struct envd_path *ret)
{
	const char *text = text_member(body, member);
	struct err err = { 0 };
	int code = text ? envd_locate(r->gateway, r->sandbox->name, text, last, ret,
				      &err)
			: -EINVAL;

	if (!text)
		reply_connect(r, "invalid_argument", "%s: it is missing", member);
	else if (code == -ENAMETOOLONG)
		reply_connect(r, "invalid_argument", "%s: %s", member, err.text);
	else if (code < 0)
		reply_failure(r, code, err.text);
	return code == 0;
}

static void reply_missing(struct request *r, int code,
			  const struct envd_path *p, const char *sentence)
{
	if (code == -ENOENT)
		reply_connect(r, "not_found", "path '%.400s' does not exist",
			      p->path);
	else
		reply_failure(r, code, sentence);
}

static void reply_entry(struct request *r, const struct envd_path *p)
{
	struct err err = { 0 };
	struct stat st;
	int code = mount_stat(&r->gateway->mount, p->mount, &st, &err);

	if (code < 0)
		reply_missing(r, code, p, err.text);
	else
		reply_json(r, 200, json_pack("{s:o}", "entry",
					     envd_entry(p, &st)));
}

/* Returns whether a missing name may exist as a link, which the mount hides. */
static bool may_be_hidden(struct request *r, int code, const struct envd_path *p)
{
	return code == -ENOENT && links_beside(r->gateway, p);
}

void fs_stat(struct request *r)
{
	auto_json json_t *body = NULL;
	struct envd_path p;
	struct stat st;
	int code;

	if (request_json(r, &body) < 0 || !take_path(r, body, "path", false, &p))
		return;
	code = mount_stat(&r->gateway->mount, p.mount, &st, NULL);
	if (may_be_hidden(r, code, &p))
		links_stat(r, &p);
	else
		reply_entry(r, &p);
}

void fs_move(struct request *r)
{
	auto_json json_t *body = NULL;
	struct envd_path from, to;
	struct err err = { 0 };
	struct stat st;
	bool hidden;
	int code;

	if (request_json(r, &body) < 0 ||
	    !take_path(r, body, "source", false, &from) ||
	    !take_path(r, body, "destination", false, &to))
		return;
	code = mount_stat(&r->gateway->mount, from.mount, &st, &err);
	hidden = may_be_hidden(r, code, &from);
	if (code == 0 || hidden)
		code = envd_make_parents(r->gateway, &to, &err);
	if (code == 0 && hidden) {
		links_move(r, &from, &to);
		return;
	}
	if (code == 0)
		code = mount_rename(&r->gateway->mount, from.mount, to.mount,
				    &err);
	if (code < 0)
		reply_missing(r, code, &from, err.text);
	else
		reply_entry(r, &to);
}

void fs_make_dir(struct request *r)
{
	auto_json json_t *body = NULL;
	struct err err = { 0 };
	struct envd_path p;
	struct stat st;
	int code;

	if (request_json(r, &body) < 0 || !take_path(r, body, "path", true, &p))
		return;
	if (mount_stat(&r->gateway->mount, p.mount, &st, NULL) == 0) {
		if (S_ISDIR(st.st_mode))
			reply_connect(r, "already_exists", "directory '%.400s' "
				      "already exists", p.path);
		else
			reply_connect(r, "invalid_argument", "path '%.400s' is "
				      "a file", p.path);
		return;
	}
	code = envd_make_parents(r->gateway, &p, &err);
	if (code == 0)
		code = mount_mkdir_mode(&r->gateway->mount, p.mount, 0755, &err);
	if (code < 0)
		reply_missing(r, code, &p, err.text);
	else
		reply_entry(r, &p);
}

void fs_remove(struct request *r)
{
	auto_json json_t *body = NULL;
	struct err err = { 0 };
	struct envd_path p;
	int code;

	if (request_json(r, &body) < 0 || !take_path(r, body, "path", false, &p))
		return;
	code = mount_remove(&r->gateway->mount, p.mount, &err);
	/* the directory is not empty, or has entries that the mount hides */
	if (code == -ENOTEMPTY || may_be_hidden(r, code, &p))
		links_remove(r, &p);
	else if (code < 0 && code != -ENOENT)
		reply_failure(r, code, err.text);
	else
		reply_json(r, 200, json_object());
}

/* --- ListDir ----------------------------------------------------------------------- */

struct list_call {
	struct request *request;
	json_t *entries;
	size_t unpaid; /* bytes not yet taken from the budget */
	bool hides; /* a directory has hidden entries */
};

struct names {
	struct list_call *call;
	char **item;
	size_t count, room;
};

/* Takes memory for more of the list. Return: 0 or -EAGAIN. */
static int pay(struct list_call *call, size_t bytes)
{
	call->unpaid += bytes;
	if (call->unpaid < HOLD_BYTES)
		return 0;
	if (!request_hold(call->request, call->unpaid))
		return -EAGAIN;
	call->unpaid = 0;
	return 0;
}

static int add_name(void *arg, const char *name)
{
	struct names *n = arg;

	if (n->count == ENTRIES_MAX)
		return -EDQUOT;
	if (pay(n->call, strlen(name) + 32) < 0)
		return -EAGAIN;
	if (n->count == n->room) {
		size_t room = n->room ? 2 * n->room : 64;
		char **more = reallocarray(n->item, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		n->item = more;
		n->room = room;
	}
	n->item[n->count] = strdup(name);
	return n->item[n->count] ? (n->count++, 0) : -ENOMEM;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(struct list_call *call, const struct envd_path *p, unsigned depth,
		struct err *err);

/* Makes the path of a name in a directory. Return: 0 or -ENAMETOOLONG. */
static int child_of(const struct envd_path *dir, const char *sandbox,
		    const char *name, struct envd_path *ret)
{
	auto_buf struct buf path = { 0 }, real = { 0 };
	int r = buf_fmt(&real, "%s/%s", dir->real, name);

	if (r == 0)
		r = buf_fmt(&path, "%s/%s", strcmp(dir->path, "/") ? dir->path : "",
			    name);
	if (r == 0)
		r = envd_resolve(sandbox, real.data, ret);
	if (r == 0 && path.len >= sizeof(ret->path))
		r = -ENAMETOOLONG;
	if (r < 0)
		return r;
	memcpy(ret->real, ret->path, sizeof(ret->real));
	memcpy(ret->path, path.data, path.len + 1);
	return 0;
}

static int list_one(struct list_call *call, const struct envd_path *dir,
		    const char *name, unsigned depth, struct err *err)
{
	struct request *r = call->request;
	struct envd_path p;
	struct stat st;
	int code = child_of(dir, r->sandbox->name, name, &p);

	if (code == 0)
		code = mount_stat(&r->gateway->mount, p.mount, &st, err);
	if (code == -ENOENT)
		return 0; /* the entry was removed meanwhile */
	if (code < 0)
		return code;
	if (json_array_size(call->entries) == ENTRIES_MAX)
		return -EDQUOT;
	code = pay(call, ENTRY_BYTES);
	if (code < 0)
		return code;
	json_array_append_new(call->entries, envd_entry(&p, &st));
	return S_ISDIR(st.st_mode) && depth > 1
		       ? list(call, &p, depth - 1, err)
		       : 0;
}

static int list(struct list_call *call, const struct envd_path *p, unsigned depth,
		struct err *err)
{
	struct names names = { .call = call };
	struct request *r = call->request;
	auto_close int dir = -1;
	int code = mount_list(&r->gateway->mount, p->mount, add_name, &names, err);

	if (code == 0 && !call->hides) {
		dir = mount_file(&r->gateway->mount, p->mount,
				 O_RDONLY | O_DIRECTORY, NULL);
		call->hides = dir >= 0 && links_hidden(dir);
	}
	if (names.count)
		qsort(names.item, names.count, sizeof(*names.item), by_bytes);
	for (size_t i = 0; code == 0 && i < names.count; i++)
		code = list_one(call, p, names.item[i], depth, err);
	for (size_t i = 0; i < names.count; i++)
		free(names.item[i]);
	free(names.item);
	return code;
}

void fs_list_dir(struct request *r)
{
	auto_json json_t *body = NULL;
	struct list_call call = { .request = r };
	json_int_t depth;
	struct err err = { 0 };
	struct envd_path p;
	int code;

	if (request_json(r, &body) < 0 || !take_path(r, body, "path", true, &p))
		return;
	depth = json_integer_value(json_object_get(body, "depth"));
	if (depth < 0 || depth > DEPTH_MAX) {
		reply_connect(r, "invalid_argument", "depth: it is from 0 to %u",
			      DEPTH_MAX);
		return;
	}
	depth = depth ? depth : 1;
	call.entries = json_array();
	code = list(&call, &p, (unsigned)depth, &err);
	if (code == 0 && call.hides) {
		links_list(r, &p, (unsigned)depth, call.entries);
		return;
	}
	if (code == 0) {
		reply_json(r, 200, json_pack("{s:o}", "entries", call.entries));
		return;
	}
	json_decref(call.entries);
	if (code == -ENOTDIR)
		reply_connect(r, "invalid_argument", "path '%.400s' is not a "
			      "directory", p.path);
	else if (code == -EAGAIN || code == -EDQUOT)
		envd_list_failed(r, code);
	else
		reply_missing(r, code, &p, err.text);
}
