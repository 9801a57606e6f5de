/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the keys of config.json against each other. Pure. */
#include "config_int.h"

#include <errno.h>

#include "layout/base/num.h"
#include "limits.h"

/* Keys that only a sandbox's own config.json may have: they hold for all of its
 * jobs. */
static const struct {
	const char *key, *why;
} sandboxes_own[] = {
	{ "environment", "the sandbox's config.json names it" },
	{ "packages", "the sandbox's config.json names its environment" },
	{ "main", "the job's files lie among those of others there" },
	{ "memory_mb", "all that is in the sandbox shares its memory" },
	{ "cpus", "all that is in the sandbox shares its processors" },
	{ "processes", "the sandbox's config.json limits them" },
	{ "retry", "what a lost sandbox held cannot be had again" },
	{ "network", "the sandbox's config.json says what its programs reach" },
	{ "ports", "the sandbox's config.json has them" },
};

static int relate_sandbox(struct parse *p, const json_t *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(sandboxes_own); i++)
		if (json_object_get(root, sandboxes_own[i].key))
			return err_set(p->err, -EINVAL,
				       "\"%s\" is there, and \"sandbox\" is "
				       "\"%s\": %s; leave the key out",
				       sandboxes_own[i].key, p->config->sandbox,
				       sandboxes_own[i].why);
	return 0;
}

/* Checks a job with a machine of its own. */
static int relate_alone(struct parse *p)
{
	const struct job_config *c = p->config;

	if (c->cwd)
		return err_set(p->err, -EINVAL,
			       "\"cwd\" is there, but no \"sandbox\"; a job "
			       "without one begins in /home/user: leave the key "
			       "out");
	if (!c->timeout_ms)
		return err_set(p->err, -EINVAL,
			       "\"timeout\" is 0; it must be a number of "
			       "seconds from %.15g to %.15g: only in a sandbox "
			       "may a job go without",
			       LIMIT_TIMEOUT_MIN_MS / 1000.0,
			       (double)p->limits->timeout_ms / 1000);
	return 0;
}

/* Refuses "retry" beside keys of a job that cannot run twice. */
static int relate_retry(struct parse *p)
{
	const struct job_config *c = p->config;

	if (!c->retry)
		return 0;
	if (c->stdin_open)
		return err_set(p->err, -EINVAL,
			       "\"retry\" is %llu, and \"stdin_open\" is true; "
			       "input that was taken cannot be had again: one of "
			       "the two must go", (unsigned long long)c->retry);
	if (c->session)
		return err_set(p->err, -EINVAL,
			       "\"retry\" is %llu, and \"session\" is there; "
			       "what a lost session held cannot be had again: "
			       "one of the two must go",
			       (unsigned long long)c->retry);
	if (c->network_text && !c->retry_network)
		return err_set(p->err, -EINVAL,
			       "\"retry\" with \"network\": what the program did to "
			       "others would be done twice; \"retry_network\": true "
			       "says that this is fine");
	return 0;
}

int config_relate(struct parse *p, const json_t *root)
{
	const struct job_config *c = p->config;
	int r;

	if (c->mode == MODE_COMMAND && !p->has_command)
		return err_set(p->err, -EINVAL,
			       "\"mode\" is \"command\", but there is no "
			       "\"command\"; it must be a list of strings, the "
			       "program first");
	if (c->mode != MODE_COMMAND && p->has_command)
		return err_set(p->err, -EINVAL,
			       "\"command\" is there, but \"mode\" is not "
			       "\"command\"; it must be, or \"command\" must go");
	if (c->code && c->mode == MODE_COMMAND)
		return err_set(p->err, -EINVAL,
			       "\"code\" is there, and \"mode\" is "
			       "\"command\", which has no program of its own: "
			       "one of the two must go");
	if (c->main && (c->code || c->mode == MODE_COMMAND))
		return err_set(p->err, -EINVAL,
			       "\"main\" is there, and %s: one of the two must "
			       "go", c->code ? "\"code\" is the program"
					     : "\"mode\" is \"command\", which "
					       "has no program of its own");
	if (c->code && !c->lang)
		return err_set(p->err, -EINVAL,
			       "\"code\" is there, but no \"language\"; it must "
			       "be one of %s", lang_names_text());
	if (c->mode != MODE_CALL && p->has_call)
		return err_set(p->err, -EINVAL,
			       "\"call\" is there, but \"mode\" is not "
			       "\"call\"; it must be, or \"call\" must go");
	if (c->session && (c->mode == MODE_CALL || c->mode == MODE_COMMAND))
		return err_set(p->err, -EINVAL,
			       "\"session\" is there, and \"mode\" is \"%s\"; "
			       "in a session it must be \"script\" or "
			       "\"cell\"",
			       c->mode == MODE_CALL ? "call" : "command");
	if (c->stdin_open && c->stdin_text)
		return err_set(p->err, -EINVAL,
			       "\"stdin\" is there, and \"stdin_open\" is true; "
			       "only one of them is allowed");
	if (c->mode == MODE_CALL && c->lang && !c->lang->callable)
		return err_set(p->err, -EINVAL,
			       "\"mode\" is \"call\", but \"language\" is "
			       "\"%s\", which has no functions to call; it "
			       "must be \"script\" or \"command\"",
			       c->lang->name);
	r = relate_retry(p);
	if (r == 0)
		r = c->sandbox ? relate_sandbox(p, root) : relate_alone(p);
	return r < 0 ? r : config_check_env(p);
}
