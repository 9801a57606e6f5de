/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes DIR/status: figures in the format of Prometheus. Each instance writes its own
 * lines to run/INSTANCE/.status, and the one that writes DIR/status copies the lines of
 * all. So the figures of a dead instance remain, since its claims do.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool_int.h"
#include "vm/os/loop.h"

#define EVERY_NS (2 * NS_PER_S)
#define FRESH_NS (60 * NS_PER_S)
#define OWN ".status"
#define SHARED "status"
#define LINES_MOST 8192

const char *const block_names[BLOCK_MAX] = {
	[BLOCK_NONE] = "none",	 [BLOCK_QUEUE] = "queue", [BLOCK_QUOTA] = "quota",
	[BLOCK_SPACE] = "space", [BLOCK_DRAIN] = "drain", [BLOCK_MOUNT] = "mount",
	[BLOCK_DISK] = "disk",	 [BLOCK_PROGRAM] = "program",
};

/* The figures of one instance. */
static const struct {
	const char *name, *type, *help;
} figures[] = {
	{ "fsd_spool_claimed", "gauge", "Entries that were taken and have no result yet." },
	{ "fsd_spool_running", "gauge", "Of these, jobs that the mount has accepted." },
	{ "fsd_spool_done_total", "counter", "Results in done, since the start." },
	{ "fsd_spool_failed_total", "counter", "Results in failed, since the start." },
	{ "fsd_spool_denied_total", "counter",
	  "Entries that this user has no right to take; each is tried every minute." },
	{ "fsd_spool_blocked", "gauge", "1: no entry is taken, for this reason." },
};

/* --- files ---------------------------------------------------------------- */

/* Writes the file, by a rename. Return: 0 or -1. */
static int put(int dir, const char *name, const struct buf *text)
{
	char new[NAME_MAX + 1];
	int fd;
	bool good;

	snprintf(new, sizeof(new), ".%s.new-%d", name, (int)getpid());
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	good = !text->failed && write(fd, text->data, text->len) == (ssize_t)text->len;
	if (close(fd) == 0 && good && renameat(dir, new, dir, name) == 0)
		return 0;
	unlinkat(dir, new, 0);
	return -1;
}

static void read_lines(int run, const char *instance, struct buf *ret)
{
	char path[NAME_MAX + sizeof("/" OWN)], text[LINES_MOST];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" OWN, instance);
	fd = openat(run, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n > 0)
		buf_add(ret, text, (size_t)n);
}

/* --- the lines ------------------------------------------------------------ */

static void own_lines(const struct spool *s, struct buf *b)
{
	const char *name = s->place.instance;
	unsigned running = 0;

	list_for_each(node, next, &s->claims)
		running += list_entry(node, struct claim, node)->step == STEP_RUN;
	buf_fmt(b, "fsd_spool_claimed{spool=\"%s\"} %u\n", name, s->count);
	buf_fmt(b, "fsd_spool_running{spool=\"%s\"} %u\n", name, running);
	buf_fmt(b, "fsd_spool_done_total{spool=\"%s\"} %llu\n", name,
		(unsigned long long)s->done);
	buf_fmt(b, "fsd_spool_failed_total{spool=\"%s\"} %llu\n", name,
		(unsigned long long)s->failed);
	buf_fmt(b, "fsd_spool_denied_total{spool=\"%s\"} %llu\n", name,
		(unsigned long long)s->denied);
	for (int i = BLOCK_NONE + 1; i < BLOCK_MAX; i++)
		buf_fmt(b, "fsd_spool_blocked{spool=\"%s\",reason=\"%s\"} %d\n", name,
			block_names[i], s->block == (enum block)i);
}

/* Appends one figure of all instances: the format wants its lines together. */
static void add_figure(struct buf *out, size_t i, const struct buf *lines)
{
	size_t len = strlen(figures[i].name);
	const char *line = lines->data;

	buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", figures[i].name, figures[i].help,
		figures[i].name, figures[i].type);
	while (line && *line) {
		size_t n = strcspn(line, "\n");

		if (!strncmp(line, figures[i].name, len) && line[len] == '{')
			buf_fmt(out, "%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static void add_entries(const struct entries_counts *count, struct buf *out)
{
	buf_fmt(out, "# HELP fsd_spool_new Entries in new.\n# TYPE fsd_spool_new gauge\n"
		"fsd_spool_new %zu\n", count->all);
	buf_fmt(out, "# HELP fsd_spool_oldest_seconds Since the oldest one was seen.\n"
		"# TYPE fsd_spool_oldest_seconds gauge\n"
		"fsd_spool_oldest_seconds %.3f\n", (double)count->oldest_ms / 1000);
}

static void write_shared(const struct spool *s, const struct entries_counts *count)
{
	auto_buf struct buf lines = { 0 }, out = { 0 };
	int fd = openat(s->place.run, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *run = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!run)
		fd_close(&fd);
	while (run && (e = readdir(run)))
		if (e->d_name[0] != '.')
			read_lines(s->place.run, e->d_name, &lines);
	if (run)
		closedir(run);
	add_entries(count, &out);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		add_figure(&out, i, &lines);
	put(s->place.dir, SHARED, &out);
}

void status_write(struct spool *s)
{
	uint64_t now = now_ns();
	struct entries_counts count = { 0 };
	struct buf own = { 0 };

	if (now < s->status_ns && !s->ending)
		return;
	s->status_ns = now + EVERY_NS;
	own_lines(s, &own);
	if (s->entries)
		entries_count(s->entries, (int64_t)(now / NS_PER_MS), &count);
	/* An idle spool leaves its disk alone. */
	if (now < s->fresh_ns && !count.all && own.len == s->status.len && own.len &&
	    !memcmp(own.data, s->status.data, own.len)) {
		buf_done(&own);
		return;
	}
	s->fresh_ns = count.all ? 0 : now + FRESH_NS;
	buf_done(&s->status);
	s->status = own;
	put(s->place.mine, OWN, &s->status);
	write_shared(s, &count);
}
