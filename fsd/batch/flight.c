/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a batch in the mount: makes and submits a job for each run, attaches to the
 * jobs of an earlier start, and reads how they have ended. A job's name contains the
 * input and the run, so a later start recognizes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/job_drop.h"
#include "fsd/client/job_view.h"
#include "paths.h"
#include "work.h"

/* --- flights ------------------------------------------------------------------------ */

/* Return: NULL: no memory. */
static struct flight *new_flight(struct batch *b, uint32_t entry, unsigned run)
{
	unsigned i = 0, more = b->flights + 64;
	struct flight *f;

	while (i < b->flights && b->flight[i].step != STEP_FREE)
		i++;
	if (i == b->flights) {
		f = realloc(b->flight, more * sizeof(*f));
		if (!f)
			return NULL;
		memset(f + i, 0, (more - i) * sizeof(*f));
		b->flight = f;
		b->flights = more;
	}
	f = &b->flight[i];
	*f = (struct flight){ .entry = entry, .run = (uint16_t)run, .step = STEP_RUNS,
			      .wait = -1, .dir = -1, .hold = -1 };
	b->running++;
	b->list.entry[entry].state = ENTRY_UNDERWAY;
	return f;
}

void flight_done(struct batch *b, struct flight *f)
{
	if (f->step == STEP_RUNS)
		b->running--;
	else if (f->step != STEP_FREE)
		b->ending--;
	fd_close(&f->wait);
	fd_close(&f->dir);
	fd_close(&f->hold);
	buf_done(&f->line);
	f->step = STEP_FREE;
}

void flight_leave(struct batch *b, struct flight *f)
{
	b->list.entry[f->entry].state = ENTRY_OPEN;
	flight_done(b, f);
}

static void job_name(const struct batch *b, const struct entry *e, unsigned run,
		     char ret[NAME_MAX + 1])
{
	snprintf(ret, NAME_MAX + 1, "batch-%s-%016" PRIx64 "-%u%s", b->identity.id, e->key,
		 run, b->suffix);
}

int flight_open(struct batch *b, struct flight *f)
{
	char name[NAME_MAX + 1];

	job_name(b, &b->list.entry[f->entry], f->run, name);
	fd_close(&f->dir);
	f->dir = openat(b->mount.root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->dir < 0 ? -errno : 0;
}

void flight_kill(struct batch *b, struct flight *f)
{
	fd_close(&f->hold);
	if (flight_open(b, f) == 0)
		job_drop(f->dir);
	flight_leave(b, f);
}

/* Begins to wait for the end of the flight's job. Return: 0 or negative errno. */
static int watch(struct batch *b, struct flight *f, int dir)
{
	struct epoll_event e = { .events = EPOLLIN,
				 .data.u32 = (uint32_t)(f - b->flight) };

	f->wait = openat(dir, "wait", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (f->wait < 0 || epoll_ctl(b->poll, EPOLL_CTL_ADD, f->wait, &e) < 0)
		return -errno;
	return 0;
}

/* --- what the mount says -------------------------------------------------- */

static bool is_one_of(int error, const int *those, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (error == those[i])
			return true;
	return false;
}

/* True for an error that means: the mount is gone, or is not in the state that we
 * expect. */
static bool is_lost(int error)
{
	static const int those[] = { ENOTCONN, ECONNABORTED, ENODEV, ESTALE, EEXIST,
				     ENOTEMPTY, ENOENT };

	return is_one_of(error, those, ARRAY_SIZE(those));
}

/* True for an error that means: the mount accepts no job now. */
static bool is_full(int error)
{
	static const int those[] = { EAGAIN, EDQUOT, ENOSPC, ESHUTDOWN, EMFILE, ENFILE,
				     ENOMEM };

	return is_one_of(error, those, ARRAY_SIZE(those));
}

void batch_mount_failed(struct batch *b, int error, const char *what)
{
	if (is_lost(error))
		b->lost = true;
	else if (is_full(error))
		batch_pause(b, what);
	else
		batch_stop(b, report_say(b, 2, "%s", what));
}

/* --- starting one --------------------------------------------------------- */

static void start_failed(struct batch *b, const struct job_draft *d, uint32_t entry,
			 int code)
{
	if (d->fault == DRAFT_SIGNAL)
		batch_on_signal(b, code - 128);
	else if (d->fault == DRAFT_INPUT)
		batch_unread(b, entry, "unreadable", d->said);
	else if (d->fault == DRAFT_MOUNT || (d->fault == DRAFT_REFUSED && is_full(d->error)))
		batch_mount_failed(b, d->error, d->said);
	else if (d->fault) /* each other job would fail as well */
		batch_stop(b, report_say(b, 2, "%s", d->said));
	else
		batch_stop(b, code); /* the sentence was printed before */
}

/* The inputs and arguments of the job that is made now. */
struct fields {
	char line[LIST_LINE];
	const char *field[LIST_FIELDS]; /* files or arguments of one line of the list */
	unsigned count;
	const char *name[LIST_FIELDS];  /* the name of each file in the job */
	char names[LIST_LINE + BELOW_PATH];
	struct job_args args;
};

struct fields *fields_new(void)
{
	return calloc(1, sizeof(struct fields));
}

void fields_free(struct fields *x)
{
	if (x)
		job_args_done(&x->args);
	free(x);
}

/* Sets the names of the files in the job: their last names, or with -R their paths. An
 * argument, or a file for standard input, keeps its own text. */
static void set_names(const struct batch *b, struct fields *x)
{
	bool files = b->list.kind != LIST_ARGS && !b->o->as_stdin;
	char *at = x->names;

	for (unsigned i = 0; i < x->count; i++) {
		x->name[i] = x->field[i];
		if (!files || input_check(&b->run, x->field[i], at, NULL) < 0)
			continue;
		x->name[i] = at;
		at += strlen(at) + 1;
	}
}

static uint32_t size_of(const struct batch *b, const struct entry *e)
{
	return b->set.sizes ? b->set.memory_mb[MIN(e->memory, b->set.sizes - 1)] : 0;
}

/* Fills in the parts of the job that come from this input. Return: as job_args_make(). */
static int fill(struct batch *b, uint32_t entry, struct job_draft *d)
{
	struct fields *x = b->fields;
	int r;

	x->count = batch_list_fields(&b->list, entry, x->line, x->field);
	set_names(b, x);
	r = job_args_make(&x->args, b->o->run, x->name, x->count, !b->o->as_stdin);
	d->args = x->args.arg;
	d->arg_count = x->args.count;
	if (b->o->as_stdin) {
		d->stdin_path = x->field[0];
	} else if (b->list.kind != LIST_ARGS) {
		d->inputs = x->field;
		d->input_count = x->count;
	}
	return r;
}

static void stamp_input(const struct job_draft *d, struct stamp *ret)
{
	*ret = (struct stamp){ 0 };
	for (unsigned i = 0; i < d->input_count; i++)
		if (stamp_add(ret, d->inputs[i]) < 0)
			return; /* the draft says why */
	if (d->stdin_path)
		stamp_add(ret, d->stdin_path);
}

/* Begins to wait for the end of a job that the mount has accepted. */
static void started(struct batch *b, struct flight *f, struct job_draft *d)
{
	int r;

	b->pause_s = b->losses = 0;
	f->hold = take_fd(&d->hold);
	r = watch(b, f, d->dir);
	if (r < 0) {
		flight_leave(b, f);
		b->lost = true; /* batch_attach() finds the job by its name */
	}
}

static int submit(struct batch *b, uint32_t entry, struct job_draft *d)
{
	struct entry *e = &b->list.entry[entry];
	unsigned run = e->run + 1u, memory = size_of(b, e);
	char name[NAME_MAX + 1], draft[NAME_MAX + 2];
	struct stamp stamp;
	struct flight *f;
	int r;

	snprintf(b->memory, sizeof(b->memory), "%u", memory);
	b->run.value[RUN_MEMORY] = memory ? b->memory : NULL;
	job_name(b, e, run, name);
	snprintf(draft, sizeof(draft), ".%s", name);
	stamp_input(d, &stamp);
	r = job_draft_make(d, draft, b->held);
	if (r == 0)
		r = job_draft_submit(d, name);
	if (r)
		return r;
	f = new_flight(b, entry, run);
	if (!f)
		return job_draft_fail(d, DRAFT_FAILED, 1, "out of memory");
	f->memory_mb = memory;
	f->stamp = stamp;
	started(b, f, d);
	return 0;
}

/* Removes the results that were revoked. */
static int remove_old(struct batch *b, uint32_t entry)
{
	struct entry *e = &b->list.entry[entry];
	char path[PATH_MAX];
	int r = 0;

	if (e->flags & ENTRY_AGAIN) {
		batch_list_path(&b->list, entry, path);
		r = out_remove(&b->out, path);
	}
	return r;
}

void batch_start(struct batch *b, uint32_t entry)
{
	struct job_draft d = JOB_DRAFT(&b->run, &b->program, &b->mount, &b->signals);
	int r = remove_old(b, entry);

	if (r == 0)
		r = fill(b, entry, &d);
	if (r == -E2BIG) {
		batch_unread(b, entry, "unreadable", "its line makes too many or too long "
			     "arguments");
	} else if (r < 0) {
		batch_pause(b, strerror(-r));
	} else {
		r = submit(b, entry, &d);
		if (r)
			start_failed(b, &d, entry, r);
	}
	job_draft_done(&d, true);
}

/* --- taking over ---------------------------------------------------------- */

/* Finds the entry, and the run, that a job's name stands for. Return: NULL: the job is
 * not of this batch. */
static struct entry *known_job(const struct batch *b, const char *name, unsigned *run)
{
	char start[40];
	int n = snprintf(start, sizeof(start), "batch-%s-", b->identity.id);
	struct entry *e;
	char *end;

	if (strncmp(name, start, (size_t)n) != 0)
		return NULL;
	e = batch_list_find(&b->list, strtoull(name + n, &end, 16));
	if (!e || *end != '-' || e->flags & ENTRY_ELSEWHERE)
		return NULL;
	*run = (unsigned)strtoul(end + 1, &end, 10);
	return *end && *end != '.' ? NULL : e;
}

/* True if the process that should hold this job has died; it may have died before it
 * opened `hold`. */
static bool is_left(const char *name)
{
	const char *dot = strrchr(name + 1, '.');
	long pid = dot ? strtol(dot + 1, NULL, 10) : 0;

	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Returns memory_mb of the job's config.json, or 0. */
static unsigned memory_of(int dir)
{
	char text[4096];
	ssize_t n = job_view_text(dir, "config.json", text, sizeof(text));
	int64_t memory = n > 0 ? journal_number(text, "\"memory_mb\":") : -1;

	return memory > 0 && memory < UINT32_MAX ? (unsigned)memory : 0;
}

/* True if the job is still a draft: the mount died in the middle of the rename, which
 * gave it the new name and did not start it. */
static bool is_draft(int dir)
{
	char state[16];

	return job_view_text(dir, "state", state, sizeof(state)) > 0 &&
	       !strcmp(state, "draft\n");
}

static int take_over(struct batch *b, const char *name, struct entry *e, unsigned run)
{
	auto_close int dir = openat(b->mount.root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t entry = (uint32_t)(e - b->list.entry);
	struct flight *f;
	int r;

	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	if (e->state == ENTRY_DONE || run <= e->run || is_draft(dir)) {
		job_drop(dir);
		return 0;
	}
	if (e->state == ENTRY_UNDERWAY)
		return 0;
	f = new_flight(b, entry, run);
	if (!f)
		return -ENOMEM;
	f->memory_mb = memory_of(dir);
	r = watch(b, f, dir);
	if (r < 0)
		flight_leave(b, f);
	return r;
}

static int look_at(struct batch *b, const char *name)
{
	bool draft = name[0] == '.';
	bool held = strchr(name + draft, '.') != NULL; /* held by the process that made
						        * it */
	unsigned run;
	struct entry *e = known_job(b, name + draft, &run);
	auto_close int dir = -1;

	if (!e || held != b->held || (held && !is_left(name)))
		return 0;
	if (!draft && !held)
		return take_over(b, name, e, run);
	dir = openat(b->mount.root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		job_drop(dir);
	return dir < 0 && errno != ENOENT ? -errno : 0;
}

int batch_attach(struct batch *b)
{
	int fd = openat(b->mount.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = d ? 0 : -errno;

	if (!d)
		fd_close(&fd);
	while (d && r == 0 && (errno = 0, e = readdir(d)))
		r = look_at(b, e->d_name);
	if (r == 0 && d && errno)
		r = -errno;
	if (d)
		closedir(d);
	return r;
}

/* --- its end -------------------------------------------------------------- */

/* Handles a job that was removed without a result. */
static void gone(struct batch *b, struct flight *f, const char *why)
{
	uint32_t entry = f->entry;

	flight_done(b, f);
	batch_unread(b, entry, "removed", why);
}

static void refused(struct batch *b, struct flight *f)
{
	struct job_draft d = JOB_DRAFT(&b->run, &b->program, &b->mount, &b->signals);
	auto_buf struct buf text = { 0 };
	char error[1200];

	job_view_text(f->dir, "error", error, sizeof(error));
	job_draft_errors(&d, error, &text);
	flight_kill(b, f);
	if (b->code != 2) /* the first sentence is enough */
		report_say(b, 2, "%.*s", text.len ? (int)strcspn(text.data, "\n") : 0,
			   text.len ? text.data : "");
	batch_stop(b, 2);
}

/* Handles a job that has ended without result.json. error: of the attempt to read it. */
static void without_result(struct batch *b, struct flight *f, int error)
{
	char state[16];

	if (error != -ENOENT && error != -ESTALE)
		batch_mount_failed(b, -error, strerror(-error));
	else if (job_view_text(f->dir, "state", state, sizeof(state)) <= 0)
		gone(b, f, "its job was removed from the mount");
	else if (!strcmp(state, "refused\n"))
		refused(b, f);
	else if (!strcmp(state, "done\n"))
		gone(b, f, "its job has no result.json");
}

static void ended(struct batch *b, struct flight *f, const struct facts *facts)
{
	struct entry *e = &b->list.entry[f->entry];
	bool placed;

	f->failed = facts->exit_code != 0;
	f->final = batch_is_final(&b->set, e, f->failed,
				  !strcmp(facts->status, "out_of_memory"), f->memory_mb);
	f->repeated = facts->attempts > 1 && !f->failed;
	placed = f->final && (b->set.keep == KEEP_ALL ||
			      (b->set.keep == KEEP_FAILED && f->failed));
	record_add(&f->line, &(struct record){
		.input = batch_list_line(&b->list, f->entry), .key = e->key, .run = f->run,
		.final = f->final, .placed = placed, .status = facts->status,
		.facts = facts, .stamp = &f->stamp, .memory_mb = f->memory_mb,
	});
	b->running--;
	b->ending++;
	f->step = placed ? STEP_ENDED : STEP_PLACED;
	b->ended_ns = now_ns();
	fd_close(&f->wait);
	b->n.ended += f->final;
	b->n.bad += f->final && f->failed;
	if (f->final && f->failed)
		report_failure(b, f, facts);
	if (placed)
		batch_copy(b, f);
	else if (!b->publish_ns)
		b->publish_ns = now_ns();
}

void batch_on_end(struct batch *b, struct flight *f)
{
	struct facts facts = { 0 };
	int r = flight_open(b, f);

	if (r == -ENOENT) {
		gone(b, f, "its job was removed from the mount");
		return;
	}
	if (r == 0)
		r = facts_read(f->dir, &facts);
	if (r < 0)
		without_result(b, f, r);
	else
		ended(b, f, &facts);
	facts_done(&facts);
}
