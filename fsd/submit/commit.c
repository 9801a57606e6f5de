/* SPDX-License-Identifier: Apache-2.0 */
#include "commit_int.h"
#include "draft.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/event.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/job_watch.h"
#include "fsd/jobs/parsed.h"
#include "fsd/jobs/statistics.h"
#include "resume.h"
#include "fsd/run/run.h"
#include "fsd/jobs/unstored.h"
#include "fsd/users/last_error.h"

/* --- the parts ------------------------------------------------------------ */

/* "code.py, code.js" of all files that are a program's by their name. */
struct candidates {
	struct node *known, *bare, *unknown;
	unsigned programs; /* known and bare ones */
	bool open;         /* somebody is still writing one */
	char names[160];
};

/* A handle may write to it. closing: one of its handles is about to be closed. */
static bool is_open(const struct node *n, const struct node *closing)
{
	return n->writers > (n == closing);
}

static void consider(struct candidates *c, struct node *n,
		     const struct node *closing)
{
	enum code_kind kind = n->is_dir ? CODE_NO : code_kind(n->name);
	size_t used = strlen(c->names);

	if (kind == CODE_NO)
		return;
	if (is_open(n, closing))
		c->open = true;
	if (kind == CODE_UNKNOWN) {
		c->unknown = n;
		return;
	}
	if (kind == CODE_KNOWN)
		c->known = n;
	else
		c->bare = n;
	c->programs++;
	snprintf(c->names + used, sizeof(c->names) - used, "%s%s",
		 used ? " and " : "", n->name);
}

static struct node *program_of(const struct candidates *c)
{
	return c->known ? c->known : c->bare;
}

static enum verdict no_program(const struct candidates *c,
			       const struct job_config *config,
			       struct node **ret_code, struct err *err)
{
	if (!c->unknown)
		return ABSENT;
	if (config->lang) { /* the config says what it is */
		*ret_code = c->unknown;
		return READY;
	}
	err_set(err, -EINVAL,
		"%s: no language has this ending%s; a program is code with one "
		"of %s, or \"language\" in config.json names it",
		c->unknown->name,
		lang_by_any_case(c->unknown->name)
			? " in capital letters"
			: "",
		lang_extensions_text());
	return WRONG;
}

/* The file that "main" names. Another program beside it would be a mistake. */
static enum verdict find_main(struct job *job, const char *name,
			      const struct candidates *c,
			      const struct node *closing,
			      struct node **ret_code, struct err *err)
{
	struct node *node = node_find(job->files, name);

	if (c->programs > 1 || (c->programs && program_of(c) != node)) {
		err_set(err, -EINVAL,
			"config.json: \"main\" is \"%s\", and there is %s as "
			"well; only one of them is allowed", name, c->names);
		return WRONG;
	}
	if (node && (node->is_dir || node->is_link)) {
		err_set(err, -EINVAL,
			"config.json: \"main\" is \"%s\", which is a %s; it "
			"must be a file", name,
			node->is_dir ? "directory" : "link");
		return WRONG;
	}
	if (!node)
		return ABSENT;
	*ret_code = node;
	return is_open(node, closing) ? OPEN : READY;
}

enum verdict commit_find_code(struct job *job, const struct job_config *config,
			      const struct node *closing,
			      struct node **ret_code, struct err *err)
{
	struct candidates c = { 0 };

	*ret_code = NULL;
	list_for_each(pos, tmp, &job->files->codes)
		consider(&c, list_entry(pos, struct node, code), closing);
	if (config->main)
		return find_main(job, config->main, &c, closing, ret_code,
				 err);
	if (config->mode == MODE_COMMAND) {
		if (!c.programs)
			return READY;
		err_set(err, -EINVAL,
			"%s: with \"mode\": \"command\" there is no code file; "
			"remove it, or the mode",
			c.names);
		return WRONG;
	}
	if (config->code && (c.programs || c.unknown)) {
		err_set(err, -EINVAL,
			"config.json: \"code\" is given and there is %s as "
			"well; only one of them is allowed",
			c.programs ? c.names : c.unknown->name);
		return WRONG;
	}
	if (config->code)
		return READY;
	if (c.programs > 1) {
		err_set(err, -EINVAL,
			"%s: there is more than one program; exactly one "
			"code.* file is allowed",
			c.names);
		return WRONG;
	}
	if (c.open)
		return OPEN;
	if (!c.programs)
		return no_program(&c, config, ret_code, err);
	*ret_code = program_of(&c);
	return READY;
}

int commit_find_path(struct job *job, const char *path, struct node **ret)
{
	auto_free char *copy = strdup(path);
	struct node *node = job->files;
	char *save = NULL;
	int r = copy ? 0 : -ENOMEM;

	for (char *part = copy ? strtok_r(copy, "/", &save) : NULL;
	     r == 0 && part && node; part = strtok_r(NULL, "/", &save)) {
		r = node->is_dir ? node_load(node) : 0;
		node = r == 0 && node->is_dir ? node_find(node, part) : NULL;
	}
	*ret = node;
	return r;
}

enum verdict commit_check_inputs(struct job *job,
				 const struct job_config *config,
				 const struct node *closing, struct err *err)
{
	bool open = false;

	for (size_t i = 0; i < config->inputs.count; i++) {
		struct node *node;
		int r = commit_find_path(job, config->inputs.item[i], &node);

		if (r < 0) {
			err_sys(err, r, "%s: cannot be looked for",
				config->inputs.item[i]);
			return FAILED;
		}
		if (!node)
			return ABSENT;
		open |= is_open(node, closing);
	}
	if (open)
		return OPEN;
	if (config->input_json && node_find(job->files, "input.json")) {
		err_set(err, -EINVAL,
			"config.json: \"input\" is given and there is a file "
			"input.json as well; only one of them is allowed");
		return WRONG;
	}
	if ((config->stdin_text || config->stdin_open) &&
	    node_find(job->files, "stdin")) {
		err_set(err, -EINVAL,
			"config.json: \"%s\" is given and there is a file "
			"stdin as well; only one of them is allowed",
			config->stdin_open ? "stdin_open" : "stdin");
		return WRONG;
	}
	return READY;
}

/* --- a large config, many files ---------------------------------------------- */

/* What is done about a job once its large config.json is parsed, by the
 * chores' thread, or its many files are loaded. */
struct commit_later {
	struct list waits; /* of struct commit_wait */
	bool evaluate, config_closed, resume;
	struct turn load;
	struct job *job;   /* a reference, while loading */
};

static void look_again(struct job *job)
{
	struct commit_later *later = take_ptr(job->submit.later);

	if (later->evaluate)
		commit_evaluate(job, later->config_closed);
	if (later->resume) {
		commit_resume(job);
		leftover_done(job);
		leftover_go_on(job->d);
	}
	list_for_each(pos, tmp, &later->waits) {
		struct commit_wait *w = list_entry(pos, struct commit_wait,
						   node);

		list_del(pos);
		if (!commit_wait(job, w)) /* it has changed meanwhile */
			w->done(w);
	}
	free(later);
	job_changed(job); /* refused as before is news to who waits */
}

static void on_ready(void *arg)
{
	job_start(arg, look_again);
}

static bool on_load(struct turn *t, uint64_t until)
{
	struct commit_later *later = container_of(t, struct commit_later, load);
	struct job *job = later->job;

	if (!job->removed && node_load_some(job->files, until) > 0)
		return true;
	on_ready(job);
	job_unref(job);
	return false;
}

static struct commit_later *later_new(void)
{
	struct commit_later *later = calloc(1, sizeof(*later));

	if (later) {
		list_init(&later->waits);
		later->load.work = on_load;
	}
	return later;
}

static void load_later(struct job *job)
{
	job->submit.later = later_new();
	if (!job->submit.later)
		return;
	job->submit.later->job = job_ref(job);
	turn_begin(&job->d->turns, &job->submit.later->load);
}

static void parse_later(struct job *job, struct node *node)
{
	job->submit.later = later_new();
	if (job->submit.later && parsed_prefetch(job, node, on_ready, job) < 0)
		free(take_ptr(job->submit.later));
}

bool commit_put_off(struct job *job)
{
	struct node *node;

	if (job->submit.later)
		return true;
	if (node_load_some(job->files, now_ns() + NS_PER_MS) > 0)
		load_later(job);
	if (job->submit.later)
		return true;
	node = parsed_node(job);
	if (node && !node->writers && parsed_is_slow(job, node))
		parse_later(job, node);
	return job->submit.later;
}

bool commit_wait(struct job *job, struct commit_wait *w)
{
	if (!job->submit.later)
		return false;
	list_add_tail(&job->submit.later->waits, &w->node);
	return true;
}

bool commit_is_settled(const struct job *job)
{
	return !job->submit.later || !job->submit.later->evaluate;
}

void commit_prepare(struct job *job)
{
	if (!job->removed && !job_is_frozen(job))
		commit_put_off(job);
}

/* --- the whole -------------------------------------------------------------- */

/* On READY spec has it. */
static enum verdict get_config(struct job *job, bool by_ctl,
			       const struct node *closing,
			       struct run_spec *spec, struct err *err)
{
	struct node *node = parsed_node(job);
	struct parsed *p;
	enum verdict v;

	if (!node && !by_ctl)
		return ABSENT;
	/* Of one that runs the release may still be to come. */
	if (node && is_open(node, closing) && job->meta.state != JOB_RUNNING)
		return OPEN;
	p = node ? parsed_closed(job, node) : parsed_defaults(job);
	if (!p) {
		err_set(err, -ENOMEM, "config.json: no memory to parse it");
		return FAILED;
	}
	if (p->result < 0) {
		*err = *p->err;
		v = parsed_is_wrong(p) ? WRONG : FAILED;
		parsed_unref(p);
		return v;
	}
	spec->parsed = p;
	spec->config = &p->config;
	return READY;
}

/* --- a verdict that still holds ----------------------------------------------- */

/* close(2) has found the job READY, but for the release of one file. */
struct commit_examined {
	uint64_t version;     /* of the job's files then */
	struct node *closing; /* a reference: that file */
	struct run_spec spec;
};

static void examined_free(struct commit_examined *e)
{
	if (!e)
		return;
	node_unref(e->closing);
	run_spec_done(&e->spec);
	free(e);
}

void commit_keep_ready(struct job *job, struct node *closing,
		       struct run_spec *spec)
{
	struct commit_examined *e = NULL;

	/* Whether a session or a sandbox takes it depends on others, too. */
	if (!spec->config->session && !spec->config->sandbox)
		e = malloc(sizeof(*e));
	if (!e) {
		run_spec_done(spec);
		return;
	}
	*e = (struct commit_examined){ job->files->version, closing, *spec };
	node_ref(closing);
	*spec = (struct run_spec){ 0 };
	examined_free(job->submit.examined);
	job->submit.examined = e;
}

/* Return: true if that verdict was kept and holds: *spec has it. */
static bool take_ready(struct job *job, const struct node *closing,
		       struct run_spec *spec)
{
	struct commit_examined *e = take_ptr(job->submit.examined);
	bool holds = e && e->version == job->files->version &&
		     (e->closing == closing || !e->closing->writers);

	if (holds) {
		*spec = e->spec;
		e->spec = (struct run_spec){ 0 };
	}
	examined_free(e);
	return holds;
}

static void forget_ready(struct job *job)
{
	examined_free(take_ptr(job->submit.examined));
}

const struct job_watcher submit_watcher = {
	.removed = forget_ready,
	.unloaded = forget_ready,
};

static enum verdict look(struct job *job, bool by_ctl,
			 const struct node *closing, struct run_spec *spec,
			 struct err *err)
{
	enum verdict v = get_config(job, by_ctl, closing, spec, err);

	if (v != READY)
		return v;
	v = commit_find_code(job, spec->config, closing, &spec->code, err);
	if (v == READY)
		v = commit_check_inputs(job, spec->config, closing, err);
	if (v == READY)
		v = commit_check_code(job, spec, err);
	if (v == READY && spec->config->manual && !by_ctl)
		v = HELD;
	if (v != READY)
		run_spec_done(spec);
	return v;
}

enum verdict commit_look(struct job *job, bool by_ctl,
			 const struct node *closing, struct run_spec *spec,
			 struct err *err)
{
	int r = node_load(job->files);

	if (r < 0) { /* none of them is missing */
		err_sys(err, r, "the job's files cannot be read");
		return FAILED;
	}
	return take_ready(job, closing, spec)
		       ? READY
		       : look(job, by_ctl, closing, spec, err);
}

enum verdict commit_examine(struct job *job, bool by_ctl, struct run_spec *spec,
			    struct err *err)
{
	enum verdict v = commit_look(job, by_ctl, NULL, spec, err);

	if (v == READY && unstored_check(job, err) < 0) {
		run_spec_done(spec);
		v = FAILED;
	}
	return v;
}

static enum refused count_as(int failure)
{
	switch (failure) {
	case 0:
		return REFUSED_CONFIG;
	case -EAGAIN:
	case -ESHUTDOWN:
		return REFUSED_QUEUE;
	case -EDQUOT:
		return REFUSED_QUOTA;
	default:
		return REFUSED_ROOM;
	}
}

void commit_refuse(struct job *job, enum verdict v, const struct err *err)
{
	bool same = job->meta.state == JOB_REFUSED &&
		    !strncmp(job_error(job), err->text, strlen(err->text));

	job->submit.failure = v == WRONG ? 0 : err->code ? err->code : -EIO;
	last_error_set(job->d->users, job->meta.uid, job->meta.name, err->text);
	if (same)
		return;
	job_set_error(job, err->text);
	job_log(job, "refused: %s", err->text);
	statistics_refused(job->d->statistics, count_as(job->submit.failure));
	job_post(job, EV_REFUSE);
}

static enum verdict start(struct job *job, struct run_spec *spec,
			  struct err *err)
{
	enum verdict v = commit_check_room(job, spec->config, err);

	if (v != READY) {
		run_spec_done(spec);
		return v;
	}
	sched_give_place(&job->submit.place); /* it has one by itself, at once */
	v = verdict_of(run_start(job, spec, err));
	if (v == READY)
		log_debug("job %s: queued", job->meta.name);
	return v;
}

static void evaluate(struct job *job, bool config_closed)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v;

	job->submit.failure = 0;
	if (job->removed || job_is_frozen(job))
		return;
	/* Promised: the release is of what the new run was waiting for. */
	if (job->meta.state == JOB_DONE && !config_closed && !job->accept.promised)
		return;
	if (commit_put_off(job)) {
		job->submit.later->evaluate = true;
		job->submit.later->config_closed |= config_closed;
		return;
	}
	v = commit_examine(job, false, &spec, &err);
	if (v == READY && job_name_is_draft(job->meta.name)) {
		run_spec_done(&spec);
		v = HELD;
	}
	if (v == READY)
		v = start(job, &spec, &err);
	if (v == FAILED && job->accept.promised) {
		err_wrap(&err, COMMIT_ACCEPTED_BEFORE);
		run_reject_promised(job, err.text);
	} else if (verdict_is_no(v)) {
		commit_refuse(job, v, &err);
	} else if (verdict_is_wait(v) && job->meta.state == JOB_REFUSED) {
		job_set_error(job, NULL);
		job_post(job, EV_REOPEN);
	} else if (verdict_is_wait(v) && v != HELD &&
		   job->meta.state == JOB_DONE &&
		   (config_closed || !job->accept.promised)) {
		/* It was asked for, and starts when the rest has come. */
		job_post(job, EV_REOPEN);
	}
}

void commit_evaluate(struct job *job, bool config_closed)
{
	evaluate(job, config_closed);
	commit_give_place(job);
	draft_changed(job);
}

bool commit_resume(struct job *job)
{
	if (!commit_is_left(job))
		return false;
	if (commit_put_off(job)) {
		job->submit.later->resume = true;
		return true;
	}
	commit_take_up(job);
	return false;
}

int commit_start(struct job *job, struct err *err)
{
	struct run_spec spec = { 0 };
	enum verdict v;

	if (job_is_frozen(job))
		return err_set(err, -EBUSY, "ctl: the job is %s already",
			       state_name(job->meta.state));
	if (job_name_is_draft(job->meta.name))
		return err_set(err, -EINVAL,
			       "ctl: a job whose name begins with \".\" is "
			       "being prepared and never starts; rename it");
	*err = (struct err){ 0 };
	v = commit_examine(job, true, &spec, err);
	if (verdict_is_wait(v))
		return err_set(err, -EINVAL,
			       "ctl: the job is not complete: it needs exactly "
			       "one closed code.* file and its \"inputs\"");
	if (v == READY)
		v = start(job, &spec, err);
	else
		commit_refuse(job, v, err);
	return v == READY ? 0 : v == WRONG ? -EINVAL : err->code;
}
