/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a claim, and what a start finds:
 *
 *   in run/INSTANCE/ID      it was           the first step
 *   no input                not claimed      removed (claim_find)
 *   input                   not accepted     CHECK: a draft is removed and made again
 *   submitted               maybe accepted   SUBMIT: finds the draft, which is made again;
 *                                            or the job, and waits for its end; or none,
 *                                            so the mount's state is another one
 *   exit_code               results whole    PUBLISH
 *   a job without an ID     published        removed (claims_drop_orphans)
 *
 * A step that has ended the spool three times is not begun again: see claim_begin().
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fsd/client/job_view.h"
#include "fsd/client/run_say.h"
#include "spool_int.h"
#include "vm/os/loop.h"

#define UNREADABLE_NS (ENTRIES_UNREADABLE_MS * NS_PER_MS)
#define SAY_NS (60 * NS_PER_S)

/* --- troubles ------------------------------------------------------------- */

int trouble(struct trouble *t, enum trouble_kind kind, const char *fmt, ...)
{
	va_list ap;

	t->kind = kind;
	va_start(ap, fmt);
	vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
	return -1;
}

int trouble_disk(struct trouble *t, int r)
{
	t->error = r;
	return trouble(t, r == -ENOENT ? TROUBLE_GONE : TROUBLE_DISK, "%s", strerror(-r));
}

static bool is_among(int r, const int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (r == -numbers[i])
			return true;
	return false;
}

int trouble_mount(struct trouble *t, int r, int dir)
{
	static const int dead[] = { ENOTCONN, ECONNABORTED, ENODEV };
	/* errors that are the job's fault; all others may pass */
	static const int refused[] = { EINVAL, EFBIG, EPERM, ENAMETOOLONG, EILSEQ, EISDIR,
				       ENOTDIR, ELOOP, EEXIST };
	char text[500] = "";

	t->error = r;
	if (dir >= 0)
		job_view_text(dir, "error", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return trouble(t, is_among(r, dead, ARRAY_SIZE(dead)) ? TROUBLE_LOST
		       : is_among(r, refused, ARRAY_SIZE(refused)) ? TROUBLE_ENTRY
								    : TROUBLE_MOUNT,
		       "%s", text[0] ? text : strerror(-r));
}

static enum block block_of(const struct trouble *t)
{
	static const struct {
		int error;
		enum block block;
	} rows[] = {
		{ EAGAIN, BLOCK_QUEUE }, { EDQUOT, BLOCK_QUOTA },
		{ ENOSPC, BLOCK_SPACE }, { ESHUTDOWN, BLOCK_DRAIN },
	};

	if (t->kind == TROUBLE_DISK)
		return BLOCK_DISK;
	if (t->kind == TROUBLE_PROGRAM)
		return BLOCK_PROGRAM;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (t->error == -rows[i].error)
			return rows[i].block;
	return BLOCK_MOUNT;
}

/* --- what comes of them --------------------------------------------------- */

static void forget(struct spool *s, struct claim *c)
{
	if (c->step < STEP_REMOVE)
		s->count--;
	claim_free(c);
}

static void remove_job(struct spool *s, struct claim *c, enum job_kind kind)
{
	char name[JOB_NAME];

	claim_job_name(c->id, kind, name);
	claim_job_remove(s, name, false);
}

static void try_later(struct spool *s, struct claim *c, uint64_t due_ns)
{
	(void)s;
	claim_later(c);
	c->due_ns = due_ns;
}

static void block(struct spool *s, struct claim *c, const struct trouble *t)
{
	spool_block(s, block_of(t), t->text);
	try_later(s, c, s->block_until_ns);
}

static void sync_first(struct spool *s, struct claim *c, enum claim_step next)
{
	c->step = next;
	c->unsynced = !s->o->no_sync;
}

static void fail(struct spool *s, struct claim *c, enum job_status status,
		 const char *sentence)
{
	struct trouble t = { 0 };
	int r = claim_fail(c, status, sentence);

	if (r < 0) {
		trouble_disk(&t, r);
		block(s, c, &t);
		return;
	}
	fd_close(&c->wait);
	remove_job(s, c, JOB_DRAFT_OF_CLAIM);
	remove_job(s, c, JOB_DRAFT_UNPACKS);
	remove_job(s, c, JOB_UNPACKS);
	sync_first(s, c, STEP_PUBLISH);
}

/* Handles an input that cannot be read, or an archive that ends early. This may change,
 * so the step is tried again for a while. */
static void unreadable(struct spool *s, struct claim *c, const struct trouble *t)
{
	uint64_t now = now_ns();

	if (!c->first_ns)
		c->first_ns = now;
	if (now - c->first_ns >= UNREADABLE_NS) {
		fail(s, c, STATUS_FAILED, t->text);
		return;
	}
	fd_close(&c->wait);
	c->step = STEP_CHECK;
	try_later(s, c, now + s->o->settle_ms * NS_PER_MS);
}

static void give_back(struct spool *s, struct claim *c)
{
	char name[NAME_MAX + 1];

	memcpy(name, c->name, sizeof(name));
	if (claim_give_back(&s->place, c) == 0) {
		s->count--;
		entries_returned(s->entries, name, (int64_t)(now_ns() / NS_PER_MS));
	} else {
		c->step = STEP_CHECK;
		try_later(s, c, now_ns() + s->o->settle_ms * NS_PER_MS);
	}
}

/* Handles an accepted job that is gone: the mount has another state directory now, or
 * somebody has removed the job. */
static void lost_job(struct spool *s, struct claim *c)
{
	if (c->lost >= c->retries) {
		fail(s, c, STATUS_INTERRUPTED, "its job was accepted, and is not in the "
		     "mount any more: it may have run");
		return;
	}
	c->lost++;
	claim_begin(c, "lost");
	claim_clear_submitted(c);
	fd_close(&c->wait);
	c->step = STEP_CHECK;
}

/* Handles the trouble that a step has met. Return: 0; -1: the mount is dead. The claim
 * may be freed. */
static int meet(struct spool *s, struct claim *c, const struct trouble *t)
{
	switch (t->kind) {
	case TROUBLE_ENTRY:
		fail(s, c, STATUS_FAILED, t->text);
		return 0;
	case TROUBLE_UNREADABLE:
		unreadable(s, c, t);
		return 0;
	case TROUBLE_WRITTEN:
		give_back(s, c);
		return 0;
	case TROUBLE_NO_JOB:
		lost_job(s, c);
		return 0;
	case TROUBLE_GONE:
		forget(s, c);
		return 0;
	case TROUBLE_SIGNAL:
		claim_later(c);
		return 0;
	case TROUBLE_LOST:
		return -1;
	case TROUBLE_MOUNT:
	case TROUBLE_DISK:
	case TROUBLE_PROGRAM:
	case TROUBLE_NONE:
		block(s, c, t);
		return 0;
	}
	return 0;
}

/* --- the steps ------------------------------------------------------------ */

/* Call it before a step that reads the entry's files. */
static int begin(struct claim *c, const char *word, struct trouble *t)
{
	int r;

	if (claim_is_fatal(c, word))
		return trouble(t, TROUBLE_ENTRY, "fsd spool has ended %u times over this",
			       CLAIM_TRIES_MOST);
	r = claim_begin(c, word);
	return r < 0 ? trouble_disk(t, r) : 0;
}

/* Sets the next step, or the trouble, by the result of entry_check(), which is r. */
static int checked(struct claim *c, int r, const struct err *err, struct trouble *t)
{
	static const int passing[] = { EACCES, EIO, ESTALE, ENOENT, EMFILE, ENFILE, ENOMEM };
	/* replace our own name of the input by the user's */
	size_t skip = !strncmp(err->text, CLAIM_INPUT, strlen(CLAIM_INPUT)) ?
			      strlen(CLAIM_INPUT) : 0;

	if (r == 0) {
		c->step = STEP_PUT;
		return 0;
	}
	return trouble(t, r == -EBUSY ? TROUBLE_WRITTEN
		       : is_among(r, passing, ARRAY_SIZE(passing)) ? TROUBLE_UNREADABLE
								    : TROUBLE_ENTRY,
		       "%s%s", skip ? c->name : "", err->text + skip);
}

static int step_check(struct spool *s, struct claim *c, struct trouble *t)
{
	struct err err = { 0 };

	(void)s;
	return begin(c, "put", t) < 0 ? -1 :
		       checked(c, entry_check(c->dir, CLAIM_INPUT, &err), &err, t);
}

/* Call it when the draft is complete: writes `submitted`, which must be synced before the
 * draft is renamed. */
static int submit_next(struct spool *s, struct claim *c, struct trouble *t)
{
	int r = claim_set_submitted(c);

	if (r < 0)
		return trouble_disk(t, r);
	sync_first(s, c, STEP_SUBMIT);
	return 0;
}

static int step_put(struct spool *s, struct claim *c, struct trouble *t)
{
	if (put_draft(s, c, t) < 0)
		return -1;
	return c->step == STEP_UNPACK ? 0 : submit_next(s, c, t);
}

static int step_unpack(struct spool *s, struct claim *c, struct trouble *t)
{
	fd_close(&c->wait);
	if (begin(c, "unpack", t) < 0 || archive_take(s, c, t) < 0)
		return -1;
	return submit_next(s, c, t);
}

static int state_of(int dir)
{
	char text[16];
	ssize_t n = job_view_text(dir, "state", text, sizeof(text));

	text[strcspn(text, "\n")] = '\0';
	return n < 0 ? (int)n : state_parse(text);
}

/* Starts a job by its ctl. The rename of its draft did not start it: the queue was full
 * then, or the job is not complete. */
static int start(int dir, struct trouble *t)
{
	auto_close int fd = openat(dir, "ctl", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return trouble_mount(t, -errno, dir);
	if (write(fd, "start\n", 6) >= 0)
		return 0;
	if (errno == EINVAL)
		return trouble(t, TROUBLE_ENTRY, "the mount does not start it: a file that "
			       "its config.json names is missing");
	return trouble_mount(t, -errno, dir);
}

/* Continues a claim whose draft was renamed to the job: submits the job if it is a draft
 * yet, and begins to wait for its end. */
static int accepted(struct spool *s, struct claim *c, struct trouble *t)
{
	auto_close int dir = claim_job_open(s, c, JOB_OF_CLAIM);
	int state = dir < 0 ? dir : state_of(dir);

	if (state == -ENOENT)
		return trouble(t, TROUBLE_NO_JOB, "the job is not in the mount");
	if (state < 0)
		return trouble_mount(t, state, -1);
	if (state == JOB_REFUSED)
		return trouble_mount(t, -EINVAL, dir);
	if (state == JOB_DRAFT && start(dir, t) < 0)
		return -1;
	c->step = STEP_RUN;
	spool_unblock(s);
	return claim_job_await(c, dir, t);
}

/* True if a start has found a draft that was not accepted. After a crash of the host it
 * may lack files, so it is made again. */
static bool is_of_another_start(struct spool *s, struct claim *c)
{
	auto_close int draft = c->recovered ? claim_job_open(s, c, JOB_DRAFT_OF_CLAIM) : -1;

	if (draft < 0)
		return false;
	claim_clear_submitted(c);
	c->recovered = false;
	c->step = STEP_CHECK;
	return true;
}

static int step_submit(struct spool *s, struct claim *c, struct trouble *t)
{
	char from[JOB_NAME], to[JOB_NAME];
	auto_close int draft = -1;
	int r;

	if (is_of_another_start(s, c))
		return 0;
	claim_job_name(c->id, JOB_DRAFT_OF_CLAIM, from);
	claim_job_name(c->id, JOB_OF_CLAIM, to);
	if (renameat(s->mount.root, from, s->mount.root, to) == 0 || errno == ENOENT)
		return accepted(s, c, t);
	r = -errno;
	draft = claim_job_open(s, c, JOB_DRAFT_OF_CLAIM);
	return draft == -ENOENT ? accepted(s, c, t) : trouble_mount(t, r, draft);
}

static int step_run(struct spool *s, struct claim *c, struct trouble *t)
{
	char text[16];
	ssize_t n = read(c->wait, text, sizeof(text));
	auto_close int dir = -1;

	c->ended = false;
	if (n > 0) {
		fd_close(&c->wait);
		c->step = STEP_TAKE;
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	dir = claim_job_open(s, c, JOB_OF_CLAIM);
	if (dir == -ENOENT)
		return trouble(t, TROUBLE_NO_JOB, "the job is not in the mount");
	return dir < 0 ? trouble_mount(t, dir, -1) : claim_job_await(c, dir, t);
}

static int step_take(struct spool *s, struct claim *c, struct trouble *t)
{
	if (begin(c, "take", t) < 0 || claim_take_results(s, c, t) < 0)
		return -1;
	sync_first(s, c, STEP_PUBLISH);
	return 0;
}

static int step_publish(struct spool *s, struct claim *c, struct trouble *t)
{
	char base[NAME_MAX + 1];
	bool good;
	int r;

	put_base(s, c, base);
	r = claim_publish(&s->place, c, base, !s->o->no_input, &good);
	if (r < 0)
		return trouble_disk(t, r);
	*(good ? &s->done : &s->failed) += 1;
	s->count--;
	c->step = STEP_REMOVE;
	return 0;
}

static int step_remove(struct spool *s, struct claim *c, struct trouble *t)
{
	(void)t;
	remove_job(s, c, JOB_OF_CLAIM);
	for (int kind = 0; c->recovered && kind < JOB_KINDS; kind++)
		remove_job(s, c, (enum job_kind)kind);
	c->step = STEP_OVER;
	return 0;
}

static int (*const steps[STEP_OVER])(struct spool *s, struct claim *c,
				     struct trouble *t) = {
	[STEP_CHECK] = step_check,     [STEP_PUT] = step_put,
	[STEP_UNPACK] = step_unpack,   [STEP_SUBMIT] = step_submit,
	[STEP_RUN] = step_run,         [STEP_TAKE] = step_take,
	[STEP_PUBLISH] = step_publish, [STEP_REMOVE] = step_remove,
};

static bool is_ready(const struct claim *c)
{
	return !c->unsynced && !(c->wait >= 0 && !c->ended) && c->due_ns <= now_ns();
}

int claim_advance(struct spool *s, struct claim *c)
{
	while (is_ready(c) && !s->ending) {
		struct trouble t = { 0 };

		if (steps[c->step](s, c, &t) < 0)
			return meet(s, c, &t);
		if (c->step == STEP_OVER) {
			claim_free(c);
			return 0;
		}
	}
	return 0;
}

/* --- claiming ------------------------------------------------------------- */

/* Handles an entry that could not be claimed. r: the negative errno. */
static int not_claimed(struct spool *s, const char *name, int r)
{
	uint64_t now = now_ns();

	if (r != -ENOENT && r != -EACCES && r != -EPERM) {
		spool_block(s, BLOCK_DISK, strerror(-r));
		return 0;
	}
	s->denied += r != -ENOENT;
	if (r != -ENOENT && now >= s->say_ns) {
		s->say_ns = now + SAY_NS;
		client_complain(0, "%s/new/%s cannot be taken: %s; a directory that another user "
			  "has made must be writable for the group (umask 002)",
			  s->place.path, name, strerror(-r));
	}
	entries_gone(s->entries, name); /* the next scan of all names finds it again */
	return 0;
}

int claim_entry(struct spool *s, const char *name)
{
	struct trouble t = { 0 };
	struct err err = { 0 };
	struct claim *c;
	int r = claim_make(&s->place, name, &c);

	if (r < 0)
		return not_claimed(s, name, r);
	list_add_tail(&s->claims, &c->node);
	s->count++;
	r = entries_claimed(s->entries, name, c->dir, CLAIM_INPUT, &err);
	if (begin(c, "put", &t) < 0 || checked(c, r, &err, &t) < 0)
		return meet(s, c, &t);
	return claim_advance(s, c);
}

/* --- what a start finds --------------------------------------------------- */

static bool is_known(const struct spool *s, const char *id)
{
	list_for_each(node, next, &s->claims)
		if (!strcmp(list_entry(node, struct claim, node)->id, id))
			return true;
	return false;
}

static int find_all(struct spool *s, DIR *dir)
{
	struct dirent *e;
	struct claim *c;
	int r;

	while (errno = 0, (e = readdir(dir))) {
		if (!place_is_claim(e->d_name) || is_known(s, e->d_name))
			continue;
		r = claim_find(&s->place, e->d_name, &c);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		list_add_tail(&s->claims, &c->node);
		s->count++;
	}
	return -errno;
}

int claims_find(struct spool *s)
{
	int fd = openat(s->place.mine, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = -errno;

	if (!dir) {
		fd_close(&fd);
		return r;
	}
	r = find_all(s, dir);
	closedir(dir);
	return r;
}

void claims_drop_orphans(struct spool *s)
{
	int fd = openat(s->mount.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir))) {
		const char *id = claim_id_of_job(e->d_name);

		if (id && !strncmp(id, s->place.prefix, PLACE_PREFIX) &&
		    !place_has_claim(&s->place, id))
			claim_job_remove(s, e->d_name, false);
	}
	if (dir)
		closedir(dir);
}
