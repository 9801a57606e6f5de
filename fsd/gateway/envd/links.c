/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, fifos and devices of a machine, which the mount does not show. If a
 * directory reports hidden entries, programs of the machine are asked for them.
 * Handlers run on workers, replies on the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "envd.h"
#include "layout/base/cleanup.h"
#include "probe.h"

/* The format for find(1); a path never contains "//". */
#define LOOK "%y%Y %m %s %T@ %u %g %p//%l\\n"

bool links_hidden(int dir)
{
	char text[24];
	ssize_t n = fgetxattr(dir, "user.fsd.hidden", text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return strtoull(text, NULL, 10) > 0;
}

bool links_beside(struct gateway *g, const struct envd_path *p)
{
	char path[sizeof(p->mount)];
	auto_close int dir = -1;

	snprintf(path, sizeof(path), "%s", p->mount);
	*strrchr(path, '/') = '\0';
	dir = mount_file(&g->mount, path, O_RDONLY | O_DIRECTORY, NULL);
	return dir >= 0 && links_hidden(dir);
}

/* Sets ret to the path that a link at p leads to. target: the link's text. */
static void lead(const struct envd_path *p, const char *target,
		 struct envd_path *ret)
{
	auto_buf struct buf path = { 0 };
	const char *slash = strrchr(p->path, '/');

	if (*target == '/')
		buf_str(&path, target);
	else
		buf_fmt(&path, "%.*s/%s", (int)(slash - p->path), p->path, target);
	if (!path.data || envd_resolve("", path.data, ret) < 0)
		*ret->path = '\0';
}

/* Returns the type of a link's target: file or directory. */
static const char *type_behind(char kind)
{
	return kind == 'f' ? "FILE_TYPE_FILE"
	       : kind == 'd' ? "FILE_TYPE_DIRECTORY"
			     : "FILE_TYPE_SYMLINK";
}

/* Parses a line of LOOK, without its end. NULL: it is none. */
static json_t *show(char *line)
{
	struct envd_path p, to = { .path = "" };
	struct stat st = { 0 };
	char user[33], group[33], kind, behind;
	unsigned mode;
	long long size;
	double time;
	char *target;
	json_t *entry;
	int n = 0;

	if (sscanf(line, "%c%c %o %lld %lf %32s %32s %n", &kind, &behind,
		   &mode, &size, &time, user, group, &n) < 7 || !n)
		return NULL;
	target = strstr(line + n, "//");
	if (!target)
		return NULL;
	*target = '\0';
	target += 2;
	if (envd_resolve("", line + n, &p) < 0)
		return NULL;
	st.st_mode = mode | (kind == 'd' ? S_IFDIR : kind == 'l' ? S_IFLNK
				       : kind == 'f' ? S_IFREG : S_IFIFO);
	st.st_size = size;
	st.st_mtim.tv_sec = (time_t)time;
	entry = envd_entry(&p, &st);
	json_object_set_new(entry, "owner", json_string(user));
	json_object_set_new(entry, "group", json_string(group));
	if (kind == 'l') {
		lead(&p, target, &to);
		json_object_set_new(entry, "type",
				    json_string(type_behind(behind)));
	}
	if (*to.path)
		json_object_set_new(entry, "symlinkTarget",
				    text_string(to.path, strlen(to.path)));
	return entry;
}

/* --- Stat, Move, Remove
 * -------------------------------------------------------------- */

static void reply_missing(struct request *r, const char *path)
{
	reply_connect(r, "not_found", "path '%.400s' does not exist", path);
}

static void on_entry(struct request *r, void *arg, const char *out)
{
	auto_free char *line = out ? strndup(out, strcspn(out, "\n")) : NULL;
	json_t *entry = line ? show(line) : NULL;

	if (entry)
		reply_json(r, 200, json_pack("{s:o}", "entry", entry));
	else
		reply_missing(r, arg);
}

void links_stat(struct request *r, const struct envd_path *p)
{
	probe_start(r, json_pack("[s, s, s, s, s, s]", "find", p->path,
				 "-maxdepth", "0", "-printf", LOOK),
		    on_entry, strdup(p->path), free);
}

void links_move(struct request *r, const struct envd_path *from,
		const struct envd_path *to)
{
	static const char program[] =
		"mv -T -- \"$1\" \"$2\" && find \"$2\" -maxdepth 0 -printf \"$3\"";

	probe_start(r, json_pack("[s, s, s, s, s, s, s]", "sh", "-c", program,
				 "sh", from->path, to->path, LOOK),
		    on_entry, strdup(from->path), free);
}

static void on_removed(struct request *r, void *arg, const char *out)
{
	if (out)
		reply_json(r, 200, json_object());
	else
		reply_connect(r, "permission_denied", "path '%.400s' cannot be "
			      "removed", (const char *)arg);
}

void links_remove(struct request *r, const struct envd_path *p)
{
	probe_start(r, json_pack("[s, s, s, s]", "rm", "-rf", "--", p->path),
		    on_removed, strdup(p->path), free);
}

/* --- ListDir
 * --------------------------------------------------------------------------- */

/* Sorts by the bytes of names, a directory before its entries. */
static int by_path(const void *a, const void *b)
{
	const char *x = text_shown(*(json_t *const *)a, "path");
	const char *y = text_shown(*(json_t *const *)b, "path");

	while (*x && *x == *y)
		x++, y++;
	if (!*x || !*y)
		return (*x != '\0') - (*y != '\0');
	if (*x == '/' || *y == '/')
		return (*y == '/') - (*x == '/');
	return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
}

struct listing {
	json_t *entries; /* owned; used by the worker */
	struct holding memory; /* memory for the links, then for the text */
	struct buf text;       /* the reply */
	int code; /* why there is no reply; 0: there is one */
};

static void free_listing(void *arg)
{
	struct listing *l = arg;

	json_decref(l->entries);
	holding_set(&l->memory, 0);
	buf_done(&l->text);
	free(l);
}

/* --- on a worker, since the list may be very long ----------------------- */

static void sort(json_t *entries)
{
	size_t count = json_array_size(entries);
	json_t **all = calloc(count ? count : 1, sizeof(*all));

	for (size_t i = 0; all && i < count; i++)
		all[i] = json_incref(json_array_get(entries, i));
	if (!all)
		return;
	qsort(all, count, sizeof(*all), by_path);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(entries, i, all[i]);
	free(all);
}

/* Return: 0, -EDQUOT or -EAGAIN, as for envd_list_failed(). */
static int add_link(struct listing *l, char *line)
{
	json_t *entry = show(line);

	if (!entry)
		return 0;
	if (json_array_size(l->entries) < ENTRIES_MAX &&
	    holding_set(&l->memory, l->memory.amount + ENTRY_BYTES))
		return json_array_append_new(l->entries, entry) < 0 ? -EAGAIN : 0;
	json_decref(entry);
	return json_array_size(l->entries) < ENTRIES_MAX ? -EAGAIN : -EDQUOT;
}

static void put_list(struct listing *l)
{
	l->text.cap = UINT32_MAX;
	buf_str(&l->text, "{\"entries\":");
	text_json(&l->text, l->entries);
	buf_str(&l->text, "}");
	json_decref(take_ptr(l->entries));
	if (l->text.failed || !holding_set(&l->memory, l->text.len))
		l->code = -EAGAIN;
}

static void digest_list(void *arg, const char *out)
{
	struct listing *l = arg;
	auto_free char *text = out ? strdup(out) : NULL;
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL;
	     line && l->code == 0; line = strtok_r(NULL, "\n", &save))
		l->code = add_link(l, line);
	if (l->code < 0)
		return;
	sort(l->entries);
	put_list(l);
}

/* --- on the loop
 * ------------------------------------------------------------------------ */

static void reply_list(struct request *r, void *arg, const char *out)
{
	struct listing *l = arg;

	(void)out;
	if (l->code < 0) {
		envd_list_failed(r, l->code);
	} else if (!l->text.len) {
		reply_connect(r, "unavailable", "the sandbox has not told its links");
	} else {
		request_take(r, &l->memory);
		reply_taken(r, 200, "application/json", &l->text);
	}
}

void links_list(struct request *r, const struct envd_path *p, unsigned depth,
		json_t *entries)
{
	struct listing *l = calloc(1, sizeof(*l));
	char text[16];

	if (!l) {
		json_decref(entries);
		envd_list_failed(r, -EAGAIN);
		return;
	}
	l->entries = entries;
	request_share(r, &l->memory);
	snprintf(text, sizeof(text), "%u", depth);
	probe_start_long(r, json_pack("[s, s, s, s, s, s, s, s, s, s, s]", "find",
				      "-H", p->path, "-mindepth", "1", "-maxdepth", text,
				      "-type", "l", "-printf", LOOK),
			 digest_list, reply_list, l, free_listing);
}
