/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a run: finds it, names it in the result, and explains there why the
 * program got no warm interpreter. The environment is looked up by its name when the run
 * may begin, so a waiting job gets a newer one that was installed meanwhile. From then on
 * the run has a reference, and a change of the name has no effect on it.
 *
 * All functions run on the loop or in a fiber; none waits.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/jobs/environments.h"
#include "run_int.h"

#define WHY_ASKED "\"warm\" is false in config.json"
#define WHY_ENV "\"env\" has %.*s, which is read at the start"

/* base, which most jobs have, gets no memory of its own, so that a waiting run stays small.
 * Without memory the result shows the environment as unknown. */
void run_name_environment(struct run *run, const char *id, const char *name)
{
	size_t length = strlen(id) + 1;

	free(take_ptr(run->environment.id));
	run->environment.name = NULL;
	if (!id[0]) {
		run->environment.name = name[0] ? environments_name(NULL) : NULL;
		return;
	}
	run->environment.id = malloc(length + strlen(name) + 1);
	if (!run->environment.id)
		return;
	strcpy(run->environment.id, id);
	run->environment.name = strcpy(run->environment.id + length, name);
}

void run_has_environment(struct run *run, struct environment *e)
{
	environment_ref(e);
	environment_unref(run->environment.of);
	run->environment.of = e;
	run_name_environment(run, e ? e->id : "", environments_name(e));
}

int run_find_environment(struct run *run, struct err *err)
{
	struct environment *e;
	int r;

	r = run->host->environment(run, &e, err);
	run->final = r == -EINVAL;
	if (r < 0)
		return r;
	run_has_environment(run, e);
	environment_unref(e);
	return 0;
}

/* Allocates the text, because few runs have one and a waiting run should be small. */
int run_say_why(struct run *run, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	free(run->environment.fresh_why);
	run->environment.fresh_why = text;
	return 0;
}

static int look_at_env(struct run *run, const struct config_strings *env)
{
	const struct environment *e = run->environment.of;
	const char *more = e ? e->fresh_env : "";

	for (size_t i = 0; i < env->count && !run->environment.fresh_why; i++)
		if (lang_env_is_fresh(run->spec.lang, env->item[i]) ||
		    lang_env_matches(more, env->item[i]))
			return run_say_why(run, WHY_ENV,
					   (int)MIN(strcspn(env->item[i], "="),
						    60u), env->item[i]);
	return 0;
}

int run_find_why(struct run *run)
{
	const struct job_config *m = run->host->shared(run);
	int r = 0;

	free(take_ptr(run->environment.fresh_why));
	if (run->spec.config->fresh)
		r = run_say_why(run, WHY_ASKED);
	if (r == 0)
		r = look_at_env(run, &run->spec.config->env);
	if (r == 0 && m)
		r = look_at_env(run, &m->env);
	return r;
}

void run_begin_making(struct run *run)
{
	run->environment.making_ns = now_ns();
}

void run_tell_making(struct run *run, const char *step)
{
	uint64_t since = run->environment.making_ns;
	uint64_t so_far = since ? now_ns() - since : 0;

	job_log(run->job, "makes the template of environment %s (%u s): %s",
		environments_name(run->environment.of),
		(unsigned)(so_far / NS_PER_S), step);
}

/* Sets fresh_why from the guest's report, whose texts are printable. Without memory the
 * reason that was known before stays. */
static void say_why(struct run *run)
{
	const struct wire_exit *e = &run->exit;

	switch ((enum wire_begun)e->begun) {
	case WIRE_BEGUN_ASKED:
		run_say_why(run, WHY_ASKED);
		break;
	case WIRE_BEGUN_ENV:
		run_say_why(run, WHY_ENV, 60, e->begun_by);
		break;
	case WIRE_BEGUN_FILE:
		run_say_why(run, "the job's %.60s would be imported in place "
			    "of a module", e->begun_by);
		break;
	default: /* fresh_why says already why no waiting interpreter was asked */
		break;
	}
}

void run_fill_environment(struct run *run, struct job_result *res)
{
	res->warm = -1;
	if (!run->environment.name)
		return;
	res->environment = run->environment.name;
	res->environment_id = run->environment.id;
	if (!run->spec.lang || !run_has_exit(run))
		return;
	res->warm = run->exit.begun == WIRE_BEGUN_WARM;
	if (!res->warm)
		say_why(run);
	res->why = res->warm ? NULL : run->environment.fresh_why;
}

void run_drop_environment(struct run *run)
{
	environment_unref(take_ptr(run->environment.of));
}

void run_environment_done(struct run *run)
{
	free(run->environment.id);
	free(run->environment.fresh_why);
}
