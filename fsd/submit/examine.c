/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines a job: does each part exist (config, program, inputs), is it closed, and is it
 * correct? The verdict of close(2) is kept until the release, which uses it if no file of
 * the job has changed since. These functions do not change the state of the job.
 */
#include "submit_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/job_watch.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/jobs/removed_files.h"
#include "fsd/jobs/unsynced_inputs.h"
#include "fsd/run/run.h"
#include "fsd/run/run_network.h"

/* --- the parts ------------------------------------------------------------ */

/* The files that are programs by their names. */
struct candidates {
	struct node *known, *bare, *unknown; /* the last of each kind, borrowed */
	unsigned programs; /* known and bare ones */
	bool open;         /* a process has one open for writing */
	char names[160];   /* names of the programs: "code.py and code.js" */
};

/* True if a handle can write to n. closing: the node of a handle that is being closed,
 * which does not count. */
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
	if (config->lang) { /* the config names the language */
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

/* Finds the file that "main" names. Any other program beside it is refused. */
static enum verdict find_main(struct job *job, const char *name,
			      const struct candidates *c,
			      const struct node *closing,
			      struct node **ret_code, struct err *err)
{
	struct node *node;

	if (job_input(job, name, &node) < 0)
		node = NULL;
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

enum verdict submit_find_code(struct job *job, const struct job_config *config,
			      const struct node *closing,
			      struct node **ret_code, struct err *err)
{
	struct candidates c = { 0 };
	struct node *removed;

	*ret_code = NULL;
	list_for_each(pos, tmp, &job->files->codes)
		consider(&c, list_entry(pos, struct node, code), closing);
	if (removed_files(job, &removed) == 0 && removed)
		list_for_each(pos, tmp, &removed->codes)
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

enum verdict submit_check_inputs(struct job *job,
				 const struct job_config *config,
				 const struct node *closing, struct err *err)
{
	bool open = false;

	for (size_t i = 0; i < config->inputs.count; i++) {
		struct node *node;
		int r = job_input(job, config->inputs.item[i], &node);

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

/* --- the whole -------------------------------------------------------------- */

/* Finds and parses config.json. On READY spec owns the parsed config. */
static enum verdict get_config(struct job *job, bool by_ctl,
			       const struct node *closing,
			       struct run_spec *spec, struct err *err)
{
	struct node *node = parsed_config_node(job);
	struct parsed_config *p;
	enum verdict v;

	if (!node && !by_ctl)
		return ABSENT;
	/* A running job may be examined before the release of its config has come. */
	if (node && is_open(node, closing) && job->meta.state != JOB_RUNNING)
		return OPEN;
	p = node ? parsed_closed(job, node) : parsed_config_defaults(job);
	if (!p) {
		err_set(err, -ENOMEM, "config.json: no memory to parse it");
		return FAILED;
	}
	if (p->result < 0) {
		*err = *p->err;
		v = parsed_config_is_wrong(p) ? WRONG : FAILED;
		parsed_config_unref(p);
		return v;
	}
	if (run_check_network(job->d, job->meta.uid, &p->config, err) < 0) {
		parsed_config_unref(p);
		return WRONG;
	}
	spec->parsed = p;
	spec->config = &p->config;
	return READY;
}

/* --- a verdict that still holds ----------------------------------------------- */

/* A READY verdict of close(2), before the release of one file. */
struct submit_examined {
	uint64_t version;     /* version of the job's files when it was examined */
	struct node *closing; /* owns a reference: the file to be released */
	struct run_spec spec;
};

static void examined_free(struct submit_examined *e)
{
	if (!e)
		return;
	node_unref(e->closing);
	run_spec_done(&e->spec);
	free(e);
}

void submit_keep_ready(struct job *job, struct node *closing,
		       struct run_spec *spec)
{
	struct submit_examined *e = NULL;

	/* A verdict with a session or a sandbox depends on other jobs, too: not kept. */
	if (!spec->config->session && !spec->config->sandbox)
		e = malloc(sizeof(*e));
	if (!e) {
		run_spec_done(spec);
		return;
	}
	*e = (struct submit_examined){ job->files->version, closing, *spec };
	node_ref(closing);
	*spec = (struct run_spec){ 0 };
	examined_free(job->submit.examined);
	job->submit.examined = e;
}

/* Return: true if a kept verdict still holds: moves its spec to *spec. */
static bool take_ready(struct job *job, const struct node *closing,
		       struct run_spec *spec)
{
	struct submit_examined *e = take_ptr(job->submit.examined);
	bool holds = e && e->version == job->files->version &&
		     (e->closing == closing || !e->closing->writers);

	if (holds) {
		*spec = e->spec;
		e->spec = (struct run_spec){ 0 };
	}
	examined_free(e);
	return holds;
}

void submit_forget_ready(struct job *job)
{
	examined_free(take_ptr(job->submit.examined));
}

static enum verdict look(struct job *job, bool by_ctl,
			 const struct node *closing, struct run_spec *spec,
			 struct err *err)
{
	enum verdict v = get_config(job, by_ctl, closing, spec, err);

	if (v != READY)
		return v;
	v = submit_find_code(job, spec->config, closing, &spec->code, err);
	if (v == READY)
		v = submit_check_inputs(job, spec->config, closing, err);
	if (v == READY)
		v = submit_check_code(job, spec, err);
	if (v == READY && spec->config->manual && !by_ctl)
		v = HELD;
	if (v != READY)
		run_spec_done(spec);
	return v;
}

enum verdict submit_examine_contents(struct job *job, bool by_ctl,
				     const struct node *closing, struct run_spec *spec,
				     struct err *err)
{
	int r = node_load(job->files);

	if (r < 0) { /* a read error does not mean that files are missing */
		err_sys(err, r, "the job's files cannot be read");
		return FAILED;
	}
	return take_ready(job, closing, spec)
		       ? READY
		       : look(job, by_ctl, closing, spec, err);
}

enum verdict submit_examine(struct job *job, bool by_ctl, struct run_spec *spec,
			    struct err *err)
{
	enum verdict v = submit_examine_contents(job, by_ctl, NULL, spec, err);

	if (v == READY && unsynced_check(job, err) < 0) {
		run_spec_done(spec);
		v = FAILED;
	}
	return v;
}
