/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns what a batch has done, so that the same command continues it:
 *
 *   r/PATH, no line                the line is made from result.json
 *   the newest line is "again"     the input runs; r/PATH goes, unless a later run made it
 *   a line that has r/PATH, which is not there    the input runs
 *
 * flight.c does the rest, with what is in the mount.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/client/run_say.h"
#include "work.h"

bool batch_is_final(const struct settings *s, struct entry *e, bool failed,
		    bool out_of_memory, unsigned memory_mb)
{
	if (!failed)
		return true;
	for (unsigned i = 0; out_of_memory && i < s->sizes; i++)
		if (s->memory_mb[i] > (memory_mb ? memory_mb : DEFAULT_MEMORY_MB)) {
			e->memory = (uint8_t)i;
			return false;
		}
	e->tries++;
	return e->tries >= s->tries;
}

/* --- the journal ---------------------------------------------------------- */

static void revoke_entry(struct entry *e, unsigned run)
{
	if (run < e->run)
		return;
	e->run = (uint16_t)run;
	e->tries = e->memory = 0;
	e->state = ENTRY_OPEN;
	e->flags = (e->flags & ENTRY_ELSEWHERE) | ENTRY_AGAIN | ENTRY_KNOWN;
}

/* True if the line is newer than the lines before it. Of two lines about the same run the
 * first one counts. */
static bool is_newer(const struct entry *e, unsigned run)
{
	return run > e->run ||
	       (run == e->run && !(e->flags & ENTRY_AGAIN) && e->state != ENTRY_DONE);
}

static void take_end(const struct settings *set, struct entry *e, const char *line,
		     unsigned run)
{
	bool failed = journal_number(line, "\"exit_code\":") != 0;
	int64_t memory = journal_number(line, "\"memory_mb\":");

	e->run = (uint16_t)run;
	e->flags = (e->flags & ENTRY_ELSEWHERE) | ENTRY_KNOWN;
	if (!journal_is(line, "\"final\":", "true")) {
		batch_is_final(set, e, failed,
			       journal_is(line, "\"status\":", "\"out_of_memory\""),
			       (unsigned)MAX(memory, 0));
		return;
	}
	e->state = ENTRY_DONE;
	e->flags |= (failed ? ENTRY_FAILED : 0) |
		    (journal_is(line, "\"placed\":", "true") ? ENTRY_PLACED : 0);
}

/* True if the input has not run, or its result was lost. */
static bool is_unread(const char *line)
{
	return journal_is(line, "\"status\":", "\"unreadable\"") ||
	       journal_is(line, "\"status\":", "\"removed\"");
}

struct states {
	struct batch_list *l;
	const struct settings *set;
};

static int on_line(void *arg, uint64_t at, const char *line)
{
	const struct states *s = arg;
	size_t len = 0;
	const char *key = journal_member(line, "\"key\":", &len);
	int64_t run = journal_number(line, "\"try\":");
	struct entry *e = key && len == 18 && run >= 0 && run <= UINT16_MAX ?
			  batch_list_find(s->l, strtoull(key + 1, NULL, 16)) : NULL;

	if (!e)
		return 0;
	if (journal_is(line, "\"status\":", "\"again\""))
		revoke_entry(e, (unsigned)run);
	else if (is_unread(line) && e->state != ENTRY_DONE)
		e->flags |= ENTRY_FAILED;
	else if (!is_unread(line) && is_newer(e, (unsigned)run))
		take_end(s->set, e, line, (unsigned)run);
	else
		return 0;
	e->newest = at;
	return 0;
}

int states_read(struct batch_list *l, struct journals *j, const struct settings *set)
{
	struct states s = { .l = l, .set = set };

	for (uint32_t i = 0; i < l->count; i++) {
		struct entry *e = &l->entry[i];

		e->newest = ENTRY_NO_LINE;
		e->run = 0;
		e->tries = e->memory = e->state = 0;
		e->flags &= ENTRY_ELSEWHERE;
	}
	return journals_each(j, on_line, &s);
}

static int read_journals(struct batch *b)
{
	struct journals j = { 0 };
	int r = b->out.dir < 0 ? 0 : journals_open(&j, b->out.dir);

	if (r == 0)
		r = states_read(&b->list, &j, &b->set);
	if (j.ignored)
		client_complain(0, "%s/journal has %" PRIu64 " line%s that %s cut, as by a "
				"crash; ignored", b->o->out, j.ignored,
				j.ignored == 1 ? "" : "s", j.ignored == 1 ? "was" : "were");
	journals_close(&j);
	return r < 0 ? client_complain(2, "%s/journal: %s", b->o->out, strerror(-r)) : 0;
}

/* --- r/ ------------------------------------------------------------------- */

/* True if this is the name of a job of this batch and entry. *run: the number of its
 * run. */
static bool is_job_of(const struct batch *b, const struct entry *e, const char *name,
		      unsigned *run)
{
	char start[64];
	int n = snprintf(start, sizeof(start), "batch-%s-%016" PRIx64 "-", b->identity.id,
			 e->key);

	if (strncmp(name, start, (size_t)n) != 0)
		return false;
	*run = (unsigned)strtoul(name + n, NULL, 10);
	return *run > 0 && *run <= UINT16_MAX;
}

/* Adds a journal line for a result that is in OUT and has no line. */
static void adopt(struct batch *b, uint32_t i, const struct facts *f, unsigned run)
{
	struct entry *e = &b->list.entry[i];
	const struct record r = {
		.input = batch_list_line(&b->list, i), .key = e->key, .run = run, .final = true,
		.placed = true, .status = f->status, .facts = f,
	};

	record_add(&b->journal.lines, &r);
	e->run = (uint16_t)run;
	e->state = ENTRY_DONE;
	e->flags = (e->flags & ENTRY_ELSEWHERE) | ENTRY_KNOWN | ENTRY_PLACED |
		   (f->exit_code ? ENTRY_FAILED : 0);
}

static int strange(const struct batch *b, uint32_t i, const char *path, int r)
{
	if (r < 0)
		return client_complain(2, "%s/r/%s is there and has no result.json of this "
				       "batch; move it away, or use --again", b->o->out,
				       path);
	return client_complain(2, "%s/r/%s has the result of another line than %s; use "
			       "--changed or --again, or another --out", b->o->out, path,
			       batch_list_line(&b->list, i));
}

/* Examines a directory in OUT that no journal line names. */
static int take_unknown(struct batch *b, uint32_t i, const char *path)
{
	struct entry *e = &b->list.entry[i];
	int dir = out_result(&b->out, path), r;
	struct facts f = { 0 };
	unsigned run = 0;
	bool ours;

	r = dir < 0 ? dir : facts_read(dir, &f);
	ours = r == 0 && is_job_of(b, e, f.job, &run);
	fd_close(&dir);
	if (ours && run > e->run)
		adopt(b, i, &f, run);
	facts_done(&f);
	if (ours || e->flags & ENTRY_AGAIN)
		return 0;
	if (b->o->again || (r == 0 && b->o->changed)) {
		e->flags |= ENTRY_AGAIN;
		return 0;
	}
	return strange(b, i, path, r);
}

static int check_result(struct batch *b, uint32_t i)
{
	struct entry *e = &b->list.entry[i];
	char path[PATH_MAX];
	bool has;

	batch_list_path(&b->list, i, path);
	has = out_has(&b->out, path);
	if (e->state == ENTRY_DONE) {
		if (e->flags & ENTRY_PLACED && !has)
			e->state = ENTRY_OPEN;
		return 0;
	}
	return has ? take_unknown(b, i, path) : 0;
}

static void count(struct batch *b, const struct entry *e)
{
	if (e->flags & ENTRY_ELSEWHERE)
		return;
	b->n.total++;
	if (e->state != ENTRY_DONE)
		return;
	b->n.done++;
	b->n.failed += (e->flags & ENTRY_FAILED) != 0;
}

int batch_load(struct batch *b)
{
	struct batch_list *l = &b->list;
	int r;

	for (uint32_t i = 0; i < l->count; i++)
		if (i % b->set.parts != b->set.part - 1)
			l->entry[i].flags |= ENTRY_ELSEWHERE;
	r = read_journals(b);
	for (uint32_t i = 0; i < l->count && r == 0; i++)
		if (!(l->entry[i].flags & ENTRY_ELSEWHERE))
			r = check_result(b, i);
	for (uint32_t i = 0; i < l->count; i++)
		count(b, &l->entry[i]);
	return r;
}

/* --- runs that are made anew ---------------------------------------------- */

/* Adds the files of an input. Return: false: one cannot be read. */
static bool stamp_now(const struct batch_list *l, uint32_t i, struct stamp *ret)
{
	char line[LIST_LINE];
	const char *field[LIST_FIELDS];
	unsigned fields = batch_list_fields(l, i, line, field);

	*ret = (struct stamp){ 0 };
	for (unsigned k = 0; k < fields; k++)
		if (stamp_add(ret, field[k]) < 0)
			return false;
	return true;
}

static bool is_changed(struct batch *b, const struct journals *j, uint32_t i,
		       struct buf *line)
{
	const struct entry *e = &b->list.entry[i];
	struct stamp now;

	if (b->list.kind == LIST_ARGS)
		return false;
	if (e->newest == ENTRY_NO_LINE || journals_line(j, e->newest, line) < 0 ||
	    !stamp_now(&b->list, i, &now))
		return true;
	return journal_number(line->data, "\"size\":") != (int64_t)now.size ||
	       journal_number(line->data, "\"mtime_ns\":") != now.mtime_ns ||
	       journal_number(line->data, "\"inode\":") != (int64_t)now.inode;
}

static bool is_wanted(struct batch *b, const struct journals *j, uint32_t i,
		      struct buf *line)
{
	const struct entry *e = &b->list.entry[i];

	if (e->state != ENTRY_DONE || e->flags & ENTRY_ELSEWHERE)
		return false;
	return b->o->again || (b->o->failed && e->flags & ENTRY_FAILED) ||
	       (b->o->changed && is_changed(b, j, i, line));
}

#define LINES_MOST (1u << 20) /* bytes of lines that wait for a write */

static int revoke_one(struct batch *b, uint32_t i)
{
	struct entry *e = &b->list.entry[i];
	const struct record r = { .input = batch_list_line(&b->list, i), .key = e->key,
				  .run = e->run, .status = "again" };

	record_add(&b->journal.lines, &r);
	b->n.done--;
	b->n.failed -= (e->flags & ENTRY_FAILED) != 0;
	revoke_entry(e, e->run);
	return b->journal.lines.len < LINES_MOST ? 0 : journal_flush(&b->journal);
}

int batch_revoke(struct batch *b, bool dry_run, uint32_t *ret_count)
{
	auto_buf struct buf line = { 0 };
	struct journals j = { 0 };
	int r = 0;

	*ret_count = 0;
	if (b->o->changed)
		r = journals_open(&j, b->out.dir);
	for (uint32_t i = 0; i < b->list.count && r == 0; i++) {
		if (!is_wanted(b, &j, i, &line))
			continue;
		++*ret_count;
		r = dry_run ? 0 : revoke_one(b, i);
	}
	journals_close(&j);
	if (r == 0 && !dry_run)
		r = journal_flush(&b->journal);
	return r < 0 ? client_complain(2, "%s/journal: %s", b->o->out, strerror(-r)) : 0;
}
