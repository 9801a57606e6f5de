/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's machine has besides the image. It is looked for by its name when
 * the run may begin, so that a job that waits has what the name leads to then;
 * from there on the run has it, whatever becomes of the name.
 */
#include <errno.h>
#include <string.h>

#include "fsd/jobs/environments.h"
#include "run_int.h"

#define WHY_ASKED "\"warm\" is false in config.json"
#define WHY_ENV "\"env\" has %.*s, which is read at the start"

void run_has_environment(struct run *run, struct environment *e)
{
	environment_ref(e);
	environment_unref(run->environment);
	run->environment = e;
	snprintf(run->environment_id, sizeof(run->environment_id), "%s",
		 e ? e->id : "");
	snprintf(run->environment_name, sizeof(run->environment_name), "%s",
		 environments_name(e));
}

/* It is there, or has gone while the job waited. */
int run_find_environment(struct run *run, struct err *err)
{
	struct environment *e;
	int r;

	if (run->seat) {
		run_has_environment(run, sandbox_environment_of(run));
		return 0;
	}
	r = environments_open(run->d, run->spec.config, &e, err);

	run->final = r == -EINVAL;
	if (r < 0)
		return r;
	run_has_environment(run, e);
	environment_unref(e);
	return 0;
}

static void look_at_env(struct run *run, const struct config_strings *env)
{
	const char *more = run->environment ? run->environment->fresh_env : "";

	for (size_t i = 0; i < env->count && !run->fresh_why[0]; i++)
		if (lang_env_is_fresh(run->spec.lang, env->item[i]) ||
		    lang_env_matches(more, env->item[i]))
			snprintf(run->fresh_why, sizeof(run->fresh_why), WHY_ENV,
				 (int)MIN(strcspn(env->item[i], "="), 60u),
				 env->item[i]);
}

/* Why a warm interpreter would be seen to be one; "": it would not. */
void run_find_why(struct run *run)
{
	run->fresh_why[0] = '\0';
	if (run->spec.config->fresh)
		snprintf(run->fresh_why, sizeof(run->fresh_why), WHY_ASKED);
	look_at_env(run, &run->spec.config->env);
	if (run->seat)
		look_at_env(run, &sandbox_config_of(run)->machine.env);
}

void run_tell_making(struct run *run, const char *step)
{
	uint64_t so_far = run->making_ns ? now_ns() - run->making_ns : 0;

	job_log(run->job, "makes the template of environment %s (%u s)%s%s",
		run->environment_name, (unsigned)(so_far / NS_PER_S),
		step ? ": " : "", step ? step : "");
}

/* From what the guest says, whose texts are printable. */
static void say_why(struct run *run)
{
	const struct wire_exit *e = &run->exit;
	size_t room = sizeof(run->fresh_why);

	switch ((enum wire_begun)e->begun) {
	case WIRE_BEGUN_ASKED:
		snprintf(run->fresh_why, room, WHY_ASKED);
		break;
	case WIRE_BEGUN_ENV:
		snprintf(run->fresh_why, room, WHY_ENV, 60, e->begun_by);
		break;
	case WIRE_BEGUN_FILE:
		snprintf(run->fresh_why, room, "the job's %.60s would be "
			 "imported in place of a module", e->begun_by);
		break;
	default: /* why it was given to no runner of the language */
		break;
	}
}

void run_fill_environment(struct run *run, struct job_result *res)
{
	res->warm = -1;
	if (!run->environment_name[0])
		return;
	res->environment = run->environment_name;
	if (run->environment_id[0])
		res->environment_id = run->environment_id;
	if (!run->spec.lang || !run->ended)
		return;
	res->warm = run->exit.begun == WIRE_BEGUN_WARM;
	if (!res->warm)
		say_why(run);
	res->why = !res->warm && run->fresh_why[0] ? run->fresh_why : NULL;
}
