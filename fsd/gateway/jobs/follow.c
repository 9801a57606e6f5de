/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a job of the gateway. The events of a job end with `result` and
 * `end`. Then a worker uses the result, the loop calls over(), and a worker
 * removes the job: the client does not wait for that.
 *
 * The maker of a job locks its file `events` (flock(2), which the kernel of
 * this host keeps), and config.json has the gateway's mark in "note". So a new
 * gateway finds the jobs of a dead one, and takes no other job for one: a name
 * alone proves nothing. A cell is interrupted then, since no client waits for
 * it; its interpreter lives on.
 *
 * For a job with further files the mark is written first, and the complete
 * config.json last, which starts it. So a job that a gateway leaves half-made
 * has the mark, too, or is empty.
 */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/limits.h"
#include "layout/tree.h"
#include "sandbox.h"

struct follow {
	struct gateway *gateway;
	char name[FOLLOW_NAME];
	char owner[KEY_OWNER];
	const struct follow_ops *ops;
	bool (*line)(void *arg, const char *line, size_t len);
	void *arg;
	struct watch *watch;
	json_t *result; /* the result from `events`, or NULL */
	/* what the dashboard shows of the job; a worker uses it until that worker's
	 * end */
	json_t *seen;
	int hold;        /* a descriptor, or -1 */
	int error;
	bool keep; /* keep the job after its end */
	bool is_step; /* a step of a session, which must live on */
	bool running;
	bool ended;
	/* time until the job is abandoned after the client left; 0: not abandoned */
	uint64_t patience_ms;
	struct reactor_timer patience;
	struct crew_group group;
	struct crew_work work;
};

/* A write to the job's ctl by a worker; no caller waits for it. */
struct errand {
	struct crew_work work;
	struct follow *follow;
	char verb[32];
};

int follow_new_name(const char *part, char room[64])
{
	bool has_part = part && *part;
	char digits[FOLLOW_TAIL + 1];
	int r = text_random(digits, sizeof(digits) - 1);

	snprintf(room, 64, "gw.%s%s%s", has_part ? part : "",
		 has_part ? "." : "", digits);
	return r;
}

/* --- the end ------------------------------------------------------------ */

static void free_follow(struct follow *f)
{
	json_decref(f->result);
	free(f);
}

/* On a worker. */
static void remove_job(struct crew_work *work)
{
	struct follow *f = container_of(work, struct follow, work);

	if (f->result && f->gateway->peek)
		f->seen = f->gateway->peek(f->gateway, f->name);
	if (!f->keep)
		mount_remove_job(&f->gateway->mount, f->name, NULL);
	fd_close(&f->hold);
}

static void removed(struct crew_work *work)
{
	struct follow *f = container_of(work, struct follow, work);

	if (f->seen)
		f->gateway->peeked(f->gateway, f->name, f->seen);
	free_follow(f);
}

/* Gives a worker a task that waits for no machine. A removal is never interrupted. */
static void put(struct follow *f, void (*run)(struct crew_work *),
		void (*done)(struct crew_work *))
{
	if (*f->owner)
		snprintf(f->work.owner, sizeof(f->work.owner), "k:%s", f->owner);
	f->work.light = true;
	f->work.patient = run == remove_job;
	f->work.group = &f->group;
	f->work.run = run;
	f->work.done = done;
	crew_put(&f->gateway->crew, &f->work);
}

static void say_over(struct follow *f)
{
	reactor_timer_stop(&f->patience);
	f->gateway->ran(f->gateway, f->name, f->owner, f->result);
	f->ops->over(f->arg, f->error);
	put(f, remove_job, removed);
}

static void read_result(struct crew_work *work)
{
	struct follow *f = container_of(work, struct follow, work);
	char path[96];

	snprintf(path, sizeof(path), "%s/result.json", f->name);
	if (!f->result &&
	    mount_result(&f->gateway->mount, path, &f->result, NULL) == 0)
		text_result(f->result);
	if (f->ops->result)
		f->ops->result(f->arg, f->result);
}

static void result_read(struct crew_work *work)
{
	say_over(container_of(work, struct follow, work));
}

/* The watch has ended. */
static void on_watch_gone(void *arg)
{
	struct follow *f = arg;

	if (f->error)
		say_over(f);
	else
		put(f, read_result, result_read);
}

static void end(struct follow *f, int error)
{
	if (f->ended)
		return;
	f->ended = true;
	f->error = error;
	watch_stop(f->watch);
}

/* --- events ------------------------------------------------------------- */

static void interrupt(struct follow *f)
{
	follow_ctl(f, "interrupt");
	reactor_timer_set(&f->gateway->reactor, &f->patience, f->patience_ms);
}

static void on_state(struct follow *f, const char *state)
{
	if (!strcmp(state, "refused"))
		/* remove it: it never runs, and would stay for ever */
		f->keep = false;
	f->running = !strcmp(state, "running");
	if (f->running && f->patience_ms)
		interrupt(f);
}

static void on_line(void *arg, char *line, size_t len)
{
	struct follow *f = arg;
	auto_json json_t *event = NULL;
	const char *name, *state;

	if (f->line && f->line(f->arg, line, len))
		return;
	event = text_event(line, len);
	name = text_member(event, "event");
	state = text_member(event, "state");
	if (!name)
		return;
	if (!strcmp(name, "state") && state) {
		on_state(f, state);
	} else if (!strcmp(name, "result")) {
		json_t *result = json_object_get(event, "result");

		if (json_is_object(result) && !f->result)
			f->result = json_incref(result);
	}
	if (f->ops->event)
		f->ops->event(f->arg, name, event);
	if (!strcmp(name, "end"))
		end(f, 0);
}

static void on_end(void *arg, int error)
{
	/* another user has removed the job, or run it again */
	end(arg, error < 0 ? error : -ESTALE);
}

static const struct watch_ops watch_ops = { on_line, on_end, on_watch_gone };

/* --- start -------------------------------------------------------------- */

static int put_config(const struct mount *own, const json_t *config,
		      struct err *err)
{
	auto_free char *text = json_dumps(config, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;

	if (len > LIMIT_CONFIG_BYTES)
		return err_set(err, -EINVAL, "the command with its arguments, "
			       "variables and input has %zu bytes; it may have "
			       "%u", len, (unsigned)LIMIT_CONFIG_BYTES);
	return text ? mount_write(own, "config.json", text, strlen(text), err)
		    : err_set(err, -ENOMEM, "no memory for a job");
}

/* Writes config.json with only the mark: without a program the job does not
 * start. */
static int put_mark(const struct mount *own, json_t *note, struct err *err)
{
	auto_json json_t *config = json_pack("{s:O}", "note", note);

	return put_config(own, config, err);
}

static json_t *add_mark(const struct follow_job *job)
{
	json_t *note = json_object_get(job->config, "note");

	if (!note) {
		note = json_object();
		json_object_set_new(job->config, "note", note);
	}
	json_object_set_new(note, FOLLOW_MARK, json_string(job->stays ? FOLLOW_STAYS : FOLLOW_GOES));
	return note;
}

/* Removes a program that is too long for config.json from config; it becomes a file.
 * Return: the program, or NULL: it stays in config. */
static json_t *take_long_code(json_t *config)
{
	json_t *code = json_object_get(config, "code");

	if (!code || json_string_length(code) < LIMIT_CONFIG_BYTES / 8)
		return NULL;
	json_incref(code);
	json_object_del(config, "code");
	return code;
}

static int put_text(const struct mount *own, const char *name,
		    const json_t *text, struct err *err)
{
	return mount_write(own, name, json_string_value(text),
			   json_string_length(text), err);
}

/* Makes the parent directories of a file. */
static int make_parents(const struct mount *own, const char *name,
			struct err *err)
{
	auto_free char *path = strdup(name);
	int r = 0;

	if (!path)
		return err_set(err, -ENOMEM, "no memory for a path");
	for (char *p = path; r == 0 && (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		r = mount_mkdir(own, path, err);
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

/* Writes the files; their names come from a client. */
static int put_files(const struct mount *own, json_t *files, struct err *err)
{
	const char *name;
	json_t *text;
	int r = 0;

	json_object_foreach(files, name, text) {
		r = job_path_check(name, err);
		if (r == 0)
			r = make_parents(own, name, err);
		if (r == 0)
			r = put_text(own, name, text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int follow_events(const struct mount *own, struct err *err)
{
	auto_close int fd = mount_file(own, "events", O_RDONLY | O_NONBLOCK, err);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(err, -errno, "events");
	return take_fd(&fd);
}

static int put_parts(const struct mount *own, const struct follow_job *job,
		     const json_t *code, struct err *err)
{
	int r = 0;

	if (job->dir || job->files || code)
		r = put_mark(own, json_object_get(job->config, "note"), err);
	if (r == 0 && job->dir)
		r = mount_mkdir(own, job->dir, err);
	if (r == 0)
		r = put_files(own, job->files, err);
	if (r == 0 && code)
		r = put_text(own, "code", code, err);
	return r;
}

static int fill_job(const struct mount *own, const struct follow_job *job,
		    int *ret_events, int *ret_hold, struct err *err)
{
	auto_json json_t *code = take_long_code(job->config);
	int r = *ret_events = follow_events(own, err);

	if (r >= 0 && job->hold)
		r = *ret_hold = mount_file(own, "hold", O_RDONLY, err);
	if (r >= 0 && !add_mark(job))
		r = err_set(err, -ENOMEM, "no memory for a job");
	if (r >= 0)
		r = put_parts(own, job, code, err);
	return r < 0 ? r : put_config(own, job->config, err);
}

/* Removes a job that failed while it was made. */
static void forget_job(struct gateway *g, const char *name)
{
	crew_clears_up();
	mount_remove_job(&g->mount, name, NULL);
}

int follow_make(struct gateway *g, const struct follow_job *job, int *ret_events,
		int *ret_hold, struct err *err)
{
	struct mount own = { .fd = -1 };
	int r = mount_mkdir(&g->mount, job->name, err);

	if (r < 0)
		return r;
	r = mount_below(&g->mount, job->name, &own, err);
	if (r == 0)
		r = fill_job(&own, job, ret_events, ret_hold, err);
	mount_close(&own);
	if (r < 0)
		forget_job(g, job->name);
	return r;
}

static void on_impatient(struct reactor_timer *timer);

/* Starts the watch. Takes fd. */
static int watch_job(struct gateway *g, const struct follow_job *job, int fd,
		     int hold, struct follow **ret, struct err *err)
{
	struct follow *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory for a job");
	}
	f->gateway = g;
	snprintf(f->name, sizeof(f->name), "%s", job->name);
	snprintf(f->owner, sizeof(f->owner), "%s", job->owner ? job->owner : "");
	f->ops = job->ops;
	f->line = job->line;
	f->arg = job->arg;
	f->keep = job->keep;
	f->is_step = json_object_get(job->config, "session") != NULL;
	f->patience_ms = job->patience_ms;
	f->patience.fn = on_impatient;
	f->hold = hold;
	*ret = f;
	r = watch_new(&g->watcher, fd, &watch_ops, f, &f->watch);
	if (r < 0) {
		free(f);
		return err_sys(err, r, "%s", job->name);
	}
	return 0;
}

int follow_start(struct gateway *g, const struct follow_job *job,
		 struct follow **ret, struct err *err)
{
	int events = -1, hold = -1;
	int r = sandbox_check_machine(g, text_member(job->config, "sandbox"), err);

	if (r == 0)
		r = follow_make(g, job, &events, &hold, err);
	if (r == 0) {
		r = watch_job(g, job, take_fd(&events), hold, ret, err);
		if (r < 0)
			forget_job(g, job->name);
	}
	if (r < 0) {
		fd_close(&events);
		fd_close(&hold);
	}
	return r;
}

int follow_join(struct gateway *g, const struct follow_job *job, int fd,
		struct follow **ret, struct err *err)
{
	return watch_job(g, job, fd, -1, ret, err);
}

/* --- on the loop
 * ----------------------------------------------------------------------- */

static void run_errand(struct crew_work *work)
{
	struct errand *e = container_of(work, struct errand, work);

	mount_ctl(&e->follow->gateway->mount, e->follow->name, e->verb, NULL);
}

static void errand_done(struct crew_work *work)
{
	free(container_of(work, struct errand, work));
}

void follow_ctl(struct follow *f, const char *verb)
{
	struct errand *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->follow = f;
	e->work.group = &f->group; /* the group keeps f alive */
	e->work.light = true;
	e->work.run = run_errand;
	e->work.done = errand_done;
	snprintf(e->verb, sizeof(e->verb), "%s", verb);
	crew_put(&f->gateway->crew, &e->work);
}

static void on_impatient(struct reactor_timer *timer)
{
	struct follow *f = container_of(timer, struct follow, patience);

	if (!f->ended)
		follow_ctl(f, "kill");
}

void follow_abandon(struct follow *f, uint64_t patience_ms)
{
	if (f->ended)
		return;
	/* No bytes wait for a client any more. The watcher pauses while many wait, and would
	 * not read on to the job's end. */
	follow_waiting(f, 0);
	/* A step that has not begun is not killed: it could begin before the
	 * kill, and its session would end. It is interrupted when it begins. */
	f->patience_ms = patience_ms;
	if (!patience_ms || (!f->running && !f->is_step))
		follow_ctl(f, "kill");
	else if (f->running)
		interrupt(f);
}

void follow_leave(struct follow *f)
{
	f->keep = true;
	end(f, -ECANCELED);
}

void follow_waiting(struct follow *f, size_t bytes)
{
	if (!f->ended)
		watch_waiting(f->watch, bytes);
}
