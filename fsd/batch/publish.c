/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes results out of the mount and publishes them. Ends within 50 ms share one sync. A
 * step that fails, as on a full disk, is tried again later: the job stays in the mount
 * until all is done.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/job_drop.h"
#include "fsd/client/results_copy.h"
#include "work.h"

#define TOGETHER_NS (50 * NS_PER_MS)

/* Handles a failed call on OUT: starts no run for a while, and says why. */
static void out_failed(struct batch *b, const char *path, int r)
{
	char text[PATH_MAX + 200];

	snprintf(text, sizeof(text), "%s%s%s: %s", b->o->out, *path ? "/" : "", path,
		 strerror(-r));
	batch_pause(b, text);
}

/* --- copying -------------------------------------------------------------- */

static int copy_into(struct batch *b, struct flight *f, struct results_copy *c)
{
	auto_close int to = out_new(&b->out, f->made);

	if (to < 0) {
		c->copy.writing = true;
		c->copy.why = strerror(-to);
		return to;
	}
	c->job = f->dir;
	c->to = to;
	c->filled = true;
	c->copy.sync = b->out.syncs && b->out.remote; /* otherwise one syncfs(2) syncs
						       * many results together */
	c->mask = umask(0);
	umask(c->mask);
	return results_copy(c);
}

void batch_copy(struct batch *b, struct flight *f)
{
	struct results_copy c = { 0 };
	int r = copy_into(b, f, &c);

	if (r == 0) {
		f->step = STEP_COPIED;
		b->publish_ns = b->publish_ns ? b->publish_ns : now_ns() + TOGETHER_NS;
		return;
	}
	out_drop(&b->out, f->made);
	if (c.copy.writing)
		out_failed(b, "r", r);
	else
		batch_mount_failed(b, r == -ENOENT ? ENOTCONN : -r, c.copy.why);
}

/* --- publishing ----------------------------------------------------------- */

static int sync_copied(struct batch *b)
{
	const char *name[ENDED_MOST * 2];
	unsigned count = 0;
	int r = 0;

	for (unsigned i = 0; i < b->flights && r == 0; i++) {
		if (b->flight[i].step == STEP_COPIED)
			name[count++] = b->flight[i].made;
		if (count == ARRAY_SIZE(name)) {
			r = out_sync(&b->out, name, count);
			count = 0;
		}
	}
	return r ? r : out_sync(&b->out, name, count);
}

/* True if the result at path is that of this flight: on NFS a repeated rename finds the
 * result of the first one. */
static bool is_own_result(struct batch *b, const struct flight *f, const char *path)
{
	int dir = out_result(&b->out, path);
	struct facts facts = { 0 };
	bool own = false;
	size_t len;

	if (dir >= 0 && facts_read(dir, &facts) == 0) {
		const char *id = journal_member(f->line.data, "\"job\":", &len);

		own = id && len > 2 && len - 2 == strlen(facts.id) &&
		      !memcmp(id + 1, facts.id, len - 2);
	}
	facts_done(&facts);
	fd_close(&dir);
	return own;
}

/* Handles a result that another instance has published first: that one stays, and the
 * other instance's journal has its line. */
static void was_second(struct batch *b, struct flight *f)
{
	out_drop(&b->out, f->made);
	buf_clear(&f->line);
	f->step = STEP_LOGGED;
}

static void place(struct batch *b, struct flight *f)
{
	char path[PATH_MAX];
	int r;

	batch_list_path(&b->list, f->entry, path);
	r = out_publish(&b->out, f->made, path);
	if (r == 0 || (r == -EEXIST && is_own_result(b, f, path)))
		f->step = STEP_PLACED;
	else if (r == -EEXIST)
		was_second(b, f);
	else if (r == -ENOENT)
		f->step = STEP_ENDED; /* another process has removed the copy */
	else
		out_failed(b, path, r);
}

/* Syncs the directories that have got a result, each once if they come one after the
 * other. */
static int sync_parents(struct batch *b)
{
	char path[PATH_MAX], last[PATH_MAX] = "/"; /* no result has this path */
	int r = 0;

	for (unsigned i = 0; i < b->flights && r == 0; i++) {
		const char *slash;

		if (b->flight[i].step != STEP_PLACED || !b->flight[i].made[0])
			continue;
		batch_list_path(&b->list, b->flight[i].entry, path);
		slash = strrchr(path, '/');
		path[slash ? slash - path : 0] = '\0';
		if (strcmp(path, last) != 0)
			r = out_sync_dir(&b->out, path);
		memcpy(last, path, strlen(path) + 1);
	}
	return r;
}

/* Writes the journal lines of all flights whose results are in place. */
static int write_lines(struct batch *b)
{
	int r;

	for (unsigned i = 0; i < b->flights; i++) {
		struct flight *f = &b->flight[i];

		if (f->step != STEP_PLACED || !f->line.len)
			continue;
		buf_add(&b->journal.lines, f->line.data, f->line.len);
		buf_clear(&f->line);
	}
	r = b->journal.lines.failed ? b->journal.lines.failed : journal_flush(&b->journal);
	return r ? r : sync_parents(b);
}

static void count_end(struct batch *b, const struct flight *f)
{
	b->n.repeated += f->repeated;
	b->n.done++;
	b->n.failed += f->failed;
}

/* Ends a flight whose results are published: removes the job; the input is done, or runs
 * again. */
static void finish(struct batch *b, struct flight *f)
{
	struct entry *e = &b->list.entry[f->entry];

	if (f->hold < 0)
		job_drop(f->dir);
	e->run = f->run;
	e->flags = (e->flags & ENTRY_ELSEWHERE) | ENTRY_KNOWN |
		   (f->failed ? ENTRY_FAILED : 0);
	if (f->final) {
		e->state = ENTRY_DONE;
		count_end(b, f);
		flight_done(b, f);
	} else {
		batch_start_again(b, f->entry);
		flight_leave(b, f);
	}
}

void batch_publish(struct batch *b)
{
	int r = sync_copied(b);

	b->publish_ns = 0;
	if (r < 0) {
		out_failed(b, "r", r);
		return;
	}
	for (unsigned i = 0; i < b->flights; i++)
		if (b->flight[i].step == STEP_COPIED)
			place(b, &b->flight[i]);
	r = write_lines(b);
	if (r < 0) {
		out_failed(b, "journal", r);
		return;
	}
	for (unsigned i = 0; i < b->flights; i++) {
		struct flight *f = &b->flight[i];

		if (f->step == STEP_PLACED)
			f->step = STEP_LOGGED;
		if (f->step == STEP_LOGGED)
			finish(b, f);
	}
}

void batch_unread(struct batch *b, uint32_t entry, const char *status, const char *why)
{
	struct entry *e = &b->list.entry[entry];

	record_add(&b->journal.lines, &(struct record){
		.input = batch_list_line(&b->list, entry), .key = e->key, .run = e->run,
		.status = status, .message = why,
	});
	e->state = ENTRY_UNREAD;
	b->n.unread++;
	b->n.failed++;
	b->n.ended++;
	b->n.bad++;
	if (!b->publish_ns)
		b->publish_ns = now_ns() + TOGETHER_NS;
	report_unread(b, entry, why);
}
