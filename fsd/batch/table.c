/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes results.tsv and failed.txt of the journals, and answers --status, --table and
 * --cat. These need no list on the command line: the last start has written it to
 * OUT/inputs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fsd/client/run_say.h"
#include "paths.h"
#include "work.h"

/* --- the table ------------------------------------------------------------ */

static const char *const columns[] = { "try", "status", "exit_code", "wall_ms", "cpu_ms",
				       "peak_memory_bytes", "memory_mb", "queued_ms",
				       "started", "ended", "host", "job" };

/* Writes a name, with TAB, newline and backslash as \t, \n and \\. */
static void put_name(FILE *to, const char *name)
{
	for (; *name; name++)
		if (*name == '\t')
			fputs("\\t", to);
		else if (*name == '\n')
			fputs("\\n", to);
		else if (*name == '\\')
			fputs("\\\\", to);
		else
			putc(*name, to);
}

static void put_column(FILE *to, const char *line, const char *name)
{
	char member[40];
	const char *at;
	size_t len;

	snprintf(member, sizeof(member), "\"%s\":", name);
	at = journal_member(line, member, &len);
	putc('\t', to);
	if (!at || !strncmp(at, "null", 4))
		return;
	if (*at == '"') {
		at++;
		len -= 2;
	}
	fwrite(at, 1, len, to);
}

static int put_rows(FILE *to, const struct batch_list *l, const struct journals *j)
{
	auto_buf struct buf line = { .cap = 1u << 20 };
	int r = 0;

	fputs("input", to);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		fprintf(to, "\t%s", columns[i]);
	putc('\n', to);
	for (uint32_t i = 0; i < l->count && r == 0; i++) {
		if (l->entry[i].newest == ENTRY_NO_LINE)
			continue;
		r = journals_line(j, l->entry[i].newest, &line);
		put_name(to, batch_list_line(l, i));
		for (size_t k = 0; k < ARRAY_SIZE(columns) && r == 0; k++)
			put_column(to, line.data, columns[k]);
		putc('\n', to);
	}
	return r;
}

/* True if a name contains a character for which a list for --from must use NUL as its
 * separator. */
static bool needs_nul(const struct batch_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->entry[i].flags & ENTRY_FAILED &&
		    (strchr(batch_list_line(l, i), '\n') ||
		     (l->kind == LIST_NAMES && strchr(batch_list_line(l, i), '\t'))))
			return true;
	return false;
}

static int put_failed(FILE *to, const struct batch_list *l, const struct journals *j)
{
	int end = needs_nul(l) ? '\0' : '\n';

	(void)j;
	for (uint32_t i = 0; i < l->count; i++) {
		if (!(l->entry[i].flags & ENTRY_FAILED))
			continue;
		fputs(batch_list_line(l, i), to);
		putc(end, to);
	}
	return 0;
}

static int write_file(struct out *out, const char *as, const struct batch_list *l,
		      const struct journals *j,
		      int (*put)(FILE *to, const struct batch_list *l, const struct journals *j))
{
	char name[OUT_TEMPORARY];
	int fd = out_file_begin(out, name), copy, r;
	FILE *to;

	if (fd < 0)
		return fd;
	copy = dup(fd);
	to = copy < 0 ? NULL : fdopen(copy, "w");
	if (!to) {
		r = -errno;
		fd_close(&copy);
	} else {
		r = put(to, l, j);
		if ((ferror(to) || fflush(to) != 0) && r == 0)
			r = errno ? -errno : -EIO;
		fclose(to);
	}
	if (r == 0)
		return out_file_end(out, fd, name, as);
	close(fd);
	unlinkat(out->results, name, 0);
	return r;
}

int table_write(struct out *out, struct batch_list *l)
{
	const struct settings set = { .tries = 1 };
	struct journals j = { 0 };
	int r = journals_open(&j, out->dir);

	if (r == 0)
		r = states_read(l, &j, &set);
	if (r == 0)
		r = write_file(out, "results.tsv", l, &j, put_rows);
	if (r == 0)
		r = write_file(out, "failed.txt", l, &j, put_failed);
	journals_close(&j);
	return r;
}

/* --- what is asked -------------------------------------------------------- */

struct shown {
	struct out out;
	struct batch_list list;
	struct journals journals;
};

/* Opens the files of an earlier batch in OUT. Return: 0, or an exit code; standard error
 * has the sentence. */
static int open_shown(struct shown *s, const char *path)
{
	const struct settings set = { .tries = 1 };
	auto_close int fd = -1;
	int r = out_open(&s->out, path, false);

	if (r && r != -ENOENT)
		return r;
	fd = s->out.dir < 0 ? -1 : openat(s->out.dir, "inputs", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || s->out.results < 0)
		return client_complain(2, "%s: there are no results of `fsd batch`", path);
	r = batch_list_read_from(&s->list, fd);
	if (r == 0)
		r = journals_open(&s->journals, s->out.dir);
	if (r == 0)
		r = states_read(&s->list, &s->journals, &set);
	return r < 0 ? client_complain(2, "%s: %s", path, strerror(-r)) : 0;
}

static void close_shown(struct shown *s)
{
	journals_close(&s->journals);
	batch_list_done(&s->list);
	out_close(&s->out);
}

static bool is_at_work(const struct shown *s)
{
	auto_close int fd = openat(s->out.dir, "lock", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void count_shown(const struct shown *s, struct counts *n)
{
	char path[PATH_MAX];

	n->total = s->list.count;
	for (uint32_t i = 0; i < s->list.count; i++) {
		const struct entry *e = &s->list.entry[i];
		bool failed = e->flags & ENTRY_FAILED;

		batch_list_path(&s->list, i, path);
		if (e->state == ENTRY_DONE &&
		    (!(e->flags & ENTRY_PLACED) || out_has(&s->out, path))) {
			n->done++;
			n->failed += failed;
		} else if (failed && e->state != ENTRY_DONE) {
			n->unread++;
			n->failed++;
		}
	}
}

static int show_status(const struct shown *s, const struct batch_options *o)
{
	struct counts n = { 0 };
	bool works = is_at_work(s);

	count_shown(s, &n);
	if (o->json)
		printf("{\"total\": %u, \"done\": %u, \"failed\": %u, \"unreadable\": %u, "
		       "\"running\": %s}\n", n.total, n.done, n.failed, n.unread,
		       works ? "true" : "false");
	else
		printf("%u of %u done, %u failed%s\n", n.done, n.total, n.failed,
		       works ? "; a batch is at work" : "");
	return n.done == n.total && !n.failed ? 0 : 1;
}

static int show_table(struct shown *s)
{
	int r = put_rows(stdout, &s->list, &s->journals);

	return r == 0 ? table_write(&s->out, &s->list) : r;
}

static int cat_one(int fd)
{
	char room[65536];
	ssize_t n;

	while ((n = read(fd, room, sizeof(room))) > 0)
		if (fwrite(room, 1, (size_t)n, stdout) != (size_t)n)
			return -errno;
	return n < 0 ? -errno : 0;
}

static int show_output(const struct shown *s)
{
	char path[PATH_MAX + 8];
	int r = 0;

	for (uint32_t i = 0; i < s->list.count && r == 0; i++) {
		auto_close int fd = -1;

		batch_list_path(&s->list, i, path);
		strncat(path, "/stdout", sizeof(path) - strlen(path) - 1);
		fd = openat(s->out.results, path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			r = cat_one(fd);
	}
	return r;
}

static int end_output(const struct batch_options *o, int r)
{
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = errno ? -errno : -EIO;
	return r < 0 ? client_complain(1, "%s: %s", o->out, strerror(-r)) : r;
}

int batch_status(const struct batch_options *o)
{
	struct shown s = { .out = OUT_NONE };
	int r = open_shown(&s, o->out);

	if (r == 0)
		r = end_output(o, show_status(&s, o));
	close_shown(&s);
	return r;
}

int batch_table(const struct batch_options *o)
{
	struct shown s = { .out = OUT_NONE };
	int r = open_shown(&s, o->out);

	if (r == 0)
		r = end_output(o, show_table(&s));
	close_shown(&s);
	return r;
}

int batch_cat(const struct batch_options *o)
{
	struct shown s = { .out = OUT_NONE };
	int r = open_shown(&s, o->out);

	if (r == 0)
		r = end_output(o, show_output(&s));
	close_shown(&s);
	return r;
}
