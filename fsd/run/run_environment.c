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
	int r = environments_open(run->d, run->spec.config, &e, err);

	run->final = r == -EINVAL;
	if (r < 0)
		return r;
	run_has_environment(run, e);
	environment_unref(e);
	return 0;
}

/* Why a warm interpreter would be seen to be one; "": it would not. */
void run_find_why(struct run *run)
{
	const struct config_strings *env = &run->spec.config->env;
	const char *more = run->environment ? run->environment->fresh_env : "";

	run->fresh_why[0] = '\0';
	if (run->spec.config->fresh)
		snprintf(run->fresh_why, sizeof(run->fresh_why),
			 "\"warm\" is false in config.json");
	for (size_t i = 0; i < env->count && !run->fresh_why[0]; i++)
		if (lang_env_is_fresh(run->spec.lang, env->item[i]) ||
		    lang_env_matches(more, env->item[i]))
			snprintf(run->fresh_why, sizeof(run->fresh_why),
				 "\"env\" has %.*s, which is read at the start",
				 (int)MIN(strcspn(env->item[i], "="), 60u),
				 env->item[i]);
}

void run_fill_environment(const struct run *run, struct job_result *res)
{
	bool fresh = run->vm_job.wire.runner == WIRE_RUN_EXEC;

	res->warm = -1;
	if (!run->environment_name[0])
		return;
	res->environment = run->environment_name;
	if (run->environment_id[0])
		res->environment_id = run->environment_id;
	if (!run->spec.lang || !run->started || run->adopted)
		return;
	res->warm = !fresh;
	res->why = fresh && run->fresh_why[0] ? run->fresh_why : NULL;
}
