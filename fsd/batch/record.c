/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the result.json of a run, and writes the line of the journal about it. The line
 * has "value" at its end, since that has names of its own.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "layout/json.h"

/* --- result.json ---------------------------------------------------------- */

static int read_file(int dir, const char *name, struct buf *ret)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = 1;

	ret->cap = LIMIT_RESULT_BYTES;
	if (fd < 0)
		return -errno;
	while (n > 0 && buf_reserve(ret, 8192) == 0) {
		n = read(fd, ret->data + ret->len, 8192);
		ret->len += (size_t)MAX(n, 0);
	}
	return n < 0 ? -errno : ret->failed;
}

static int64_t sum_of(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

static void take_all(const json_t *root, const struct json_raw *value, struct facts *f)
{
	const json_t *usage = json_object_get(root, "usage");
	const json_t *timing = json_object_get(root, "timing");

	json_copy_text(root, "job", f->job, sizeof(f->job));
	json_copy_text(root, "id", f->id, sizeof(f->id));
	json_copy_text(root, "status", f->status, sizeof(f->status));
	json_copy_text(root, "started", f->started, sizeof(f->started));
	json_copy_text(root, "ended", f->ended, sizeof(f->ended));
	f->exit_code = (int)json_number(root, "exit_code", -1);
	f->attempts = json_number(root, "attempt", -1);
	f->wall_ms = json_number(usage, "wall_ms", -1);
	f->cpu_ms = sum_of(json_number(usage, "user_ms", -1), json_number(usage, "system_ms", -1));
	f->peak_bytes = json_number(usage, "peak_memory_bytes", -1);
	f->queued_ms = json_number(timing, "queued_ms", -1);
	if (value->text && value->len <= RECORD_VALUE_MOST &&
	    !json_is_null(json_object_get(root, "value")))
		json_compact(&f->value, value->text, value->len);
}

int facts_read(int dir, struct facts *f)
{
	struct json_raw value = { .key = "value" };
	auto_buf struct buf text = { 0 };
	auto_json json_t *root = NULL;
	int r = read_file(dir, "result.json", &text);

	*f = (struct facts){ .exit_code = -1 };
	if (r == 0)
		r = json_read(text.data ? text.data : "", text.len, LIMIT_VALUE_DEPTH + 8,
			      &value, &root, NULL);
	if (r < 0)
		return r == -ENODATA ? -EINVAL : r;
	take_all(root, &value, f);
	return f->exit_code < 0 || !f->status[0] ? -EINVAL : 0;
}

void facts_done(struct facts *f)
{
	buf_done(&f->value);
}

/* --- the input ------------------------------------------------------------ */

static void add_stat(struct stamp *s, const struct stat *st)
{
	int64_t mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	s->known = true;
	s->size += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	s->inode += st->st_ino; /* for several files the sum: it changes if one of them
				 * does */
	s->mtime_ns = MAX(s->mtime_ns, mtime_ns);
}

#define LEVELS_MOST 250 /* a job has fewer */

static int add_directory(struct stamp *s, int dir, unsigned level)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	struct stat st;
	int r = d ? 0 : -errno;

	while (r == 0 && d && (e = readdir(d))) {
		int below;

		if (is_dots(e->d_name) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* the file was removed meanwhile */
		add_stat(s, &st);
		if (!S_ISDIR(st.st_mode) || level == LEVELS_MOST)
			continue;
		below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						    O_CLOEXEC);
		r = below < 0 ? -errno : add_directory(s, below, level + 1);
	}
	if (d)
		closedir(d);
	else
		close(dir);
	return r;
}

int stamp_add(struct stamp *s, const char *path)
{
	struct stat st;
	int dir;

	if (stat(path, &st) < 0)
		return -errno;
	add_stat(s, &st);
	if (!S_ISDIR(st.st_mode))
		return 0;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : add_directory(s, dir, 0);
}

/* --- the line ------------------------------------------------------------- */

static void add_text(struct buf *out, const char *name, const char *text)
{
	buf_fmt(out, ",\"%s\":", name);
	json_quote(out, text, strlen(text));
}

static void add_number(struct buf *out, const char *name, int64_t n)
{
	if (n < 0)
		buf_fmt(out, ",\"%s\":null", name);
	else
		buf_fmt(out, ",\"%s\":%" PRId64, name, n);
}

static void add_facts(struct buf *out, const struct facts *f)
{
	add_number(out, "exit_code", f->exit_code);
	add_number(out, "wall_ms", f->wall_ms);
	add_number(out, "cpu_ms", f->cpu_ms);
	add_number(out, "peak_memory_bytes", f->peak_bytes);
	add_number(out, "queued_ms", f->queued_ms);
	add_text(out, "started", f->started);
	add_text(out, "ended", f->ended);
	add_text(out, "job", f->id);
}

static void add_now(struct buf *out)
{
	struct timespec now;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	time_render((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, text);
	add_text(out, "ended", text);
}

static void add_host(struct buf *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	add_text(out, "host", host);
}

void record_add(struct buf *out, const struct record *r)
{
	const struct stamp *s = r->stamp;

	buf_str(out, "{\"input\":");
	json_quote(out, r->input, strlen(r->input));
	buf_fmt(out, ",\"key\":\"%016" PRIx64 "\",\"try\":%u,\"final\":%s,\"placed\":%s",
		r->key, r->run, r->final ? "true" : "false",
		r->placed ? "true" : "false");
	add_text(out, "status", r->status);
	if (r->facts)
		add_facts(out, r->facts);
	else
		add_now(out);
	if (s && s->known)
		buf_fmt(out, ",\"size\":%" PRIu64 ",\"mtime_ns\":%" PRId64
			     ",\"inode\":%" PRIu64, s->size, s->mtime_ns, s->inode);
	add_number(out, "memory_mb", r->memory_mb ? (int64_t)r->memory_mb : -1);
	add_host(out);
	if (r->message)
		add_text(out, "message", r->message);
	buf_str(out, ",\"value\":");
	if (r->facts && r->facts->value.len)
		buf_add(out, r->facts->value.data, r->facts->value.len);
	else
		buf_str(out, "null");
	buf_str(out, "}\n");
}
