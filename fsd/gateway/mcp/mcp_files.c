/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools that need no job: files of a sandbox, its end, the list. A
 * sandbox's name in the mount is a checksum of its owner and name: so two keys
 * may use one name, and clients of other protocols cannot reach it by an id. On
 * workers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fsd/gateway/control/control.h"
#include "fsd/gateway/control/egress.h"
#include "fsd/gateway/envd/envd.h"
#include "fsd/gateway/jobs/ask.h"
#include "layout/base/cleanup.h"
#include "layout/base/utf8.h"
#include "layout/result.h"
#include "mcp.h"

#define IDLE_S 600
#define LIST_MAX 2000u
#define LINKS_MAX (1u << 20) /* bytes of their names */
#define IMAGE_MAX (8u << 20)

static json_t *failed(struct mcp *m, int code, const char *sentence)
{
	m->answer = mcp_failure(m, code, sentence);
	return NULL;
}

static json_t *bad(struct mcp *m, const char *sentence)
{
	m->answer = mcp_reply(m, mcp_tool_failed(sentence));
	return NULL;
}

/* Makes an error with the path of the machine, which the client knows, instead
 * of the mount's. */
static json_t *failed_at(struct mcp *m, int code, const struct envd_path *path,
			 const struct err *err)
{
	auto_buf struct buf text = { 0 };
	const char *why = strerror(-code);

	/* the mount's sentence says more than the errno */
	if (*err->text && !strstr(err->text, why))
		why = err->text;
	buf_fmt(&text, "path \"%.1000s\": %s", path->path, why);
	return failed(m, code, text.data ? text.data : why);
}

static json_t *done(json_t *structured, const char *text, size_t len)
{
	json_t *result = json_pack("{s:[o], s:b}", "content",
				   mcp_text_part(text, len), "isError", 0);

	if (structured)
		json_object_set_new(result, "structuredContent", structured);
	return result;
}

/* --- sandboxes --------------------------------------------------------------------- */

static void name_of(const struct mcp *m, const char *name, char ret[SANDBOX_NAME])
{
	char id[160];

	snprintf(id, sizeof(id), "mcp %s %.64s", m->caller.owner, name);
	sandbox_hash(id, ret);
}

int mcp_find_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err)
{
	char path[128];
	struct stat st;
	int r;

	name_of(m, name, ret);
	r = mount_stat(&m->gateway->mount, sandbox_path(ret, "", path), &st, err);
	if (r != -ENOENT)
		return r;
	return err_set(err, r, "there is no sandbox \"%s\"; write_file, run_code "
		       "or run_command with that name makes it", name);
}

int mcp_open_sandbox(struct mcp *m, const char *name, char ret[17],
		     struct err *err)
{
	struct gateway *g = m->gateway;
	const struct options *o = &g->options;
	auto_json json_t *config = NULL;
	int r = mcp_find_sandbox(m, name, ret, err);

	if (r != -ENOENT)
		return r;
	config = json_pack(
		"{s:s, s:I, s:I, s:I, s:{s:s, s:s}}", "environment",
		gateway_environment(g), "memory_mb", (json_int_t)o->memory, "cpus",
		(json_int_t)o->cpus, "idle",
		(json_int_t)(o->idle ? o->idle : IDLE_S), "meta", "mcp", name,
		"owner", m->caller.owner);
	if (config)
		egress_default(g, config);
	r = config ? control_make(g, m->caller.owner, ret, config, NULL, err)
		   : err_set(err, -ENOMEM, "no memory for a sandbox");
	return r == -EEXIST ? 0 : r; /* another call has made it meanwhile */
}

json_t *mcp_stop_sandbox(struct mcp *m, const json_t *arguments)
{
	char name[SANDBOX_NAME], path[128];
	struct err err = { 0 };
	int r;

	name_of(m, mcp_text(arguments, "sandbox"), name);
	r = mount_rmdir(&m->gateway->mount, sandbox_path(name, "", path), &err);
	if (r == -ENOENT)
		return done(NULL, "there is no such sandbox", 24);
	return r < 0 ? failed(m, r, err.text) : done(NULL, "it has ended", 12);
}

struct listing {
	struct mcp *m;
	json_t *list;
	struct buf text;
};

static int read_line(struct mcp *m, const char *name, const char *file,
		     struct buf *out)
{
	char path[128];

	return mount_line(&m->gateway->mount, sandbox_path(name, file, path), out);
}

static int list_one(void *arg, const char *name)
{
	struct listing *l = arg;
	auto_json json_t *config = NULL;
	auto_buf struct buf state = { 0 }, until = { 0 };
	const char *called, *owner, *ends;
	const json_t *meta;
	char path[128];

	if (mount_json(&l->m->gateway->mount,
		       sandbox_path(name, "config.json", path), &config, NULL))
		return 0; /* the sandbox is gone, or another user's */
	meta = json_object_get(config, "meta");
	called = text_member(meta, "mcp");
	owner = text_member(meta, "owner");
	if (!called || !owner || strcmp(owner, l->m->caller.owner) != 0 ||
	    read_line(l->m, name, "state", &state) < 0 ||
	    read_line(l->m, name, "until", &until) < 0)
		return 0;
	ends = until.len && *until.data ? until.data : NULL;
	buf_fmt(&l->text, "%s: %s%s%s\n", called, state.data ? state.data : "",
		ends ? ", until " : "", ends ? ends : "");
	json_array_append_new(l->list, json_pack(
		"{s:s, s:s, s:s?}", "name", called, "state",
		state.data ? state.data : "", "until", ends));
	return 0;
}

json_t *mcp_list_sandboxes(struct mcp *m, const json_t *arguments)
{
	struct listing l = { .m = m, .list = json_array() };
	struct err err = { 0 };
	json_t *result;
	int r;

	(void)arguments;
	r = mount_list(&m->gateway->mount, SANDBOXES, list_one, &l, &err);
	if (r < 0) {
		json_decref(l.list);
		result = failed(m, r, err.text);
	} else {
		result = done(json_pack("{s:o}", "sandboxes", l.list),
			      l.text.len ? l.text.data : "there is none",
			      l.text.len ? l.text.len : 13);
	}
	buf_done(&l.text);
	return result;
}

/* --- files -------------------------------------------------------------------------- */

/* Resolves the path of a call. Return: 0, or < 0: m->answer is set. */
static int find_path(struct mcp *m, const json_t *arguments,
		     int (*find)(struct mcp *m, const char *name, char ret[17],
				 struct err *err), struct envd_path *ret)
{
	const char *path = mcp_text(arguments, "path");
	char name[SANDBOX_NAME];
	struct err err = { 0 };
	int r = find(m, mcp_text(arguments, "sandbox"), name, &err);

	if (r < 0) {
		failed(m, r, err.text);
		return r;
	}
	r = envd_locate(m->gateway, name, path ? path : HOME, true, ret, &err);
	if (r < 0)
		failed(m, r, err.text);
	return r;
}

json_t *mcp_write_file(struct mcp *m, const json_t *arguments)
{
	const json_t *content = json_object_get(arguments, "content");
	const char *coded = mcp_text(arguments, "content_base64");
	auto_buf struct buf bytes = { 0 };
	struct envd_path path;
	struct err err = { 0 };
	char text[120];
	int r;

	if (!content == !coded)
		return bad(m, "one of content and content_base64 must be given");
	if (coded && text_unbase64(&bytes, coded, strlen(coded)) < 0)
		return bad(m, "content_base64 is no base64");
	if (content)
		buf_add(&bytes, json_string_value(content),
			json_string_length(content));
	if (find_path(m, arguments, mcp_open_sandbox, &path) < 0)
		return NULL;
	r = envd_make_parents(m->gateway, &path, &err);
	if (r == 0)
		r = mount_write(&m->gateway->mount, path.mount,
				bytes.data ? bytes.data : "", bytes.len, &err);
	if (r < 0)
		return failed_at(m, r, &path, &err);
	r = snprintf(text, sizeof(text), "%zu bytes written", bytes.len);
	return done(NULL, text, (size_t)r);
}

/* Reads at most limit bytes from offset. Return: the file's size, or negative
 * errno. */
static int64_t read_part(struct mcp *m, const char *path, int64_t offset,
			 size_t limit, struct buf *out, struct err *err)
{
	auto_close int fd = mount_file(&m->gateway->mount, path, O_RDONLY, err);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "the file");
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "the path is a directory");
	if (buf_reserve(out, limit + 1) < 0)
		return err_set(err, -ENOMEM, "no memory for the file");
	while (n > 0 && out->len < limit) {
		n = pread(fd, out->data + out->len, limit - out->len,
			  offset + (off_t)out->len);
		if (n > 0)
			out->len += (size_t)n;
	}
	out->data[out->len] = '\0';
	return n < 0 ? err_sys(err, -errno, "the file") : (int64_t)st.st_size;
}

static json_t *blob_part(const struct envd_path *path, const char *mime,
			 const struct buf *bytes, bool image)
{
	auto_buf struct buf coded = { .cap = 4 * IMAGE_MAX };
	auto_buf struct buf uri = { 0 };

	if (text_base64(&coded, bytes->data, bytes->len, false) < 0 ||
	    buf_fmt(&uri, "file://%s", path->path) < 0)
		return NULL;
	if (image)
		return json_pack("{s:s, s:s, s:s}", "type", "image", "data",
				 coded.data ? coded.data : "", "mimeType", mime);
	return json_pack("{s:s, s:{s:o, s:s, s:s}}", "type", "resource",
			 "resource", "uri", text_string(uri.data, uri.len),
			 "mimeType", mime, "blob", coded.data ? coded.data : "");
}

/* Returns the length without a character that the end of a part has cut. */
static size_t text_length(const struct buf *b, bool whole)
{
	size_t span = utf8_span(b->data, b->len);

	return !whole && b->len - span < 4 ? span : b->len;
}

json_t *mcp_read_file(struct mcp *m, const json_t *arguments)
{
	int64_t offset = mcp_number(arguments, "offset", 0), size;
	size_t limit = (size_t)mcp_number(arguments, "limit", 64 << 10), len;
	auto_buf struct buf bytes = { .cap = IMAGE_MAX + 16 };
	struct envd_path path;
	struct err err = { 0 };
	const char *mime;
	bool image;
	json_t *result;

	if (find_path(m, arguments, mcp_find_sandbox, &path) < 0)
		return NULL;
	mime = mime_by_name(path.path);
	image = !offset && !strncmp(mime, "image/", 6) &&
		strcmp(mime, "image/svg+xml") != 0;
	size = read_part(m, path.mount, offset, image ? IMAGE_MAX : limit, &bytes,
			 &err);
	if (size < 0)
		return failed_at(m, (int)size, &path, &err);
	image = image && (uint64_t)size <= IMAGE_MAX;
	if (bytes.len > limit && !image)
		bytes.len = limit;
	len = text_length(&bytes, (uint64_t)size == (uint64_t)offset + bytes.len);
	result = image || utf8_span(bytes.data, len) != len
			 ? json_pack("{s:[o], s:b}", "content",
				     blob_part(&path, mime, &bytes, image),
				     "isError", 0)
			 : done(NULL, bytes.data, len);
	if (result && (uint64_t)size > (uint64_t)offset + bytes.len) {
		char text[160];
		int n = snprintf(text, sizeof(text),
				 "%zu of %" PRId64 " bytes, from %" PRId64
				 "; offset reads on", bytes.len, size, offset);

		json_array_append_new(json_object_get(result, "content"),
				      mcp_text_part(text, (size_t)n));
	}
	return result;
}

/* --- directories
 * ---------------------------------------------------------------------- */

struct tree {
	struct mcp *m;
	json_t *list;
	struct buf text;
	bool cut;
	bool hides; /* there are links, which the mount does not show */
};

static int list_level(struct tree *t, const char *dir, const char *shown,
		      int64_t depth, struct err *err);

static void show_entry(struct tree *t, int at, const char *dir,
		       const char *shown, const char *name, int64_t depth)
{
	auto_buf struct buf path = { 0 }, full = { 0 };
	struct stat st;
	bool is_dir;

	if (json_array_size(t->list) >= LIST_MAX) {
		t->cut = true;
		return;
	}
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* the file is gone */
	is_dir = S_ISDIR(st.st_mode);
	buf_fmt(&path, "%s%s%s", shown, *shown ? "/" : "", name);
	buf_fmt(&full, "%s/%s", dir, name);
	buf_fmt(&t->text, is_dir ? "%s/\n" : "%s (%lld bytes)\n", path.data,
		(long long)st.st_size);
	json_array_append_new(t->list, json_pack(
		"{s:o, s:s, s:I}", "path", text_string(path.data, path.len),
		"type", is_dir ? "directory" : "file", "bytes",
		is_dir ? (json_int_t)0 : (json_int_t)st.st_size));
	if (is_dir && depth > 1)
		list_level(t, full.data, path.data, depth - 1, NULL);
}

static int list_level(struct tree *t, const char *dir, const char *shown,
		      int64_t depth, struct err *err)
{
	struct dirent **names;
	int fd = mount_file(&t->m->gateway->mount, dir, O_RDONLY | O_DIRECTORY,
			    err);
	int count;

	if (fd < 0)
		return fd;
	t->hides = t->hides || links_hidden(fd);
	count = scandirat(fd, ".", &names, NULL, alphasort);
	if (count < 0) {
		close(fd);
		return err_sys(err, -errno, "the directory");
	}
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			show_entry(t, fd, dir, shown, name, depth);
		free(names[i]);
	}
	free(names);
	close(fd);
	return 0;
}

/* Adds lines "NAME//TARGET" of find(1). */
static void show_links(struct tree *t, char *text)
{
	char *save = NULL, *target;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		target = strstr(line, "//");
		if (!target)
			continue;
		if (json_array_size(t->list) >= LIST_MAX) {
			t->cut = true;
			return;
		}
		*target = '\0';
		target += 2;
		buf_fmt(&t->text, "%s -> %s\n", line, target);
		json_array_append_new(t->list, json_pack(
			"{s:o, s:s, s:i, s:o}", "path",
			text_string(line, strlen(line)), "type", "link", "bytes", 0,
			"target", text_string(target, strlen(target))));
	}
}

static void ask_links(struct tree *t, const struct envd_path *path, int64_t depth)
{
	auto_buf struct buf out = { .cap = LINKS_MAX };
	char most[24];

	snprintf(most, sizeof(most), "%" PRId64, depth);
	if (ask_machine(t->m->gateway, path->sandbox, json_pack(
		    "[s, s, s, s, s, s, s, s, s, s, s]", "/usr/bin/find", "-H",
		    path->path, "-mindepth", "1", "-maxdepth", most, "-type", "l",
		    "-printf", "%P//%l\n"), &out, NULL) == 0 && out.len)
		show_links(t, out.data);
}

json_t *mcp_list_files(struct mcp *m, const json_t *arguments)
{
	struct tree t = { .m = m };
	struct envd_path path;
	struct err err = { 0 };
	json_t *result;
	int r;

	if (find_path(m, arguments, mcp_find_sandbox, &path) < 0)
		return NULL;
	t.list = json_array();
	r = list_level(&t, path.mount, "", mcp_number(arguments, "depth", 1),
		       &err);
	if (r < 0) {
		json_decref(t.list);
		return failed_at(m, r, &path, &err);
	}
	if (t.hides)
		ask_links(&t, &path, mcp_number(arguments, "depth", 1));
	if (t.cut)
		buf_fmt(&t.text, "... at most %u are shown\n", LIST_MAX);
	result = done(json_pack("{s:o, s:b}", "files", t.list, "truncated",
				t.cut),
		      t.text.len ? t.text.data : "(empty)",
		      t.text.len ? t.text.len : 7);
	buf_done(&t.text);
	return result;
}
