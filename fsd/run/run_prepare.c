/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the message that describes a job to its machine: runner, arguments, variables,
 * limits; resolved values, no JSON. inputs.c adds the inputs. The file also remembers each
 * user's last environments, so that run_expect() can tell the pool what the next job needs.
 * All functions run on the loop or in a fiber; none waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/network/network.h"
#include "run_int.h"
#include "runs_int.h"

static const char *const base_env[] = { WIRE_BASE_ENV };

#define RUNNER(id, runner, ...) [LANG_##id] = WIRE_RUN_##runner,
static const uint32_t lang_runner[] = { LANG_TABLE(RUNNER, LANG_NO_ENDING) };

/* --- lists of strings ------------------------------------------------------ */

static int push(struct wire_strings *list, const char *text)
{
	const char **item = reallocarray(list->item, list->count + 1,
					 sizeof(*item));

	if (!item)
		return -ENOMEM;
	list->item = item;
	item[list->count] = strdup(text);
	if (!item[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

static void strings_done(struct wire_strings *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free((char *)(uintptr_t)list->item[i]);
	free(list->item);
	*list = (struct wire_strings){ 0 };
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !strncmp(a, b, n);
}

static bool is_step(const struct run *run)
{
	return run->spec.config->session || run->spec.config->mode == MODE_CELL;
}

/* Adds a variable, or replaces the one of that name. */
static int set_variable(struct wire_strings *env, const char *item)
{
	for (uint32_t i = 0; i < env->count; i++) {
		char *copy;

		if (!same_name(env->item[i], item))
			continue;
		copy = strdup(item);
		if (!copy)
			return -ENOMEM;
		free((char *)(uintptr_t)env->item[i]);
		env->item[i] = copy;
		return 0;
	}
	return push(env, item);
}

static int set_variables(struct wire_strings *env, const char *const *item, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = set_variable(env, item[i]);
	return r;
}

static int set_config(struct wire_strings *env, const struct job_config *c)
{
	return c ? set_variables(env, (const char *const *)c->env.item, c->env.count) : 0;
}

static int set_environment(struct wire_strings *env, const struct run *run)
{
	const struct environment *e = run->environment.of;
	const char *const *item = e ? (const char *const *)e->env : NULL;
	size_t count = 0;

	while (item && item[count])
		count++;
	return set_variables(env, item, count);
}

/* Where PID 1 has put the operator's certificates (guest/net). */
#define CA_FILE "/run/ca.pem"

/* Sets the operator's variables for jobs that have a network. */
static int set_network(struct wire_strings *env, const struct run *run)
{
	static const char *const certificates[] = {
		"SSL_CERT_FILE=" CA_FILE, "REQUESTS_CA_BUNDLE=" CA_FILE,
		"NODE_EXTRA_CA_CERTS=" CA_FILE,
	};
	const struct job_config *m = run->host->shared(run);
	const struct net_policy *policy = network_policy(run->d->network);
	size_t len = 0;
	int r = 0;

	if (!policy || !(m ? m : run->spec.config)->network_text)
		return 0;
	for (size_t i = 0; r == 0 && i < policy->env_count; i++) {
		auto_buf struct buf item = { 0 };

		buf_fmt(&item, "%s=%s", policy->env[i].name, policy->env[i].value);
		r = item.failed ? item.failed : set_variable(env, item.data);
	}
	if (r == 0 && network_ca(run->d->network, &len))
		r = set_variables(env, certificates, ARRAY_SIZE(certificates));
	return r;
}

/* Fills the variables. Each source replaces variables of the sources before it. A step of
 * a session keeps the variables that earlier steps have set. */
static int fill_env(struct run *run)
{
	struct wire_strings *env = &run->envp;
	int r = 0;

	if (!is_step(run))
		r = set_variables(env, base_env, ARRAY_SIZE(base_env));
	if (r == 0 && !is_step(run))
		r = set_environment(env, run);
	if (r == 0)
		r = set_network(env, run);
	if (r == 0)
		r = set_config(env, run->host->shared(run));
	return r < 0 ? r : set_config(env, run->spec.config);
}

/* --- the runner and its arguments -------------------------------------------- */

const char *run_code_name(const struct run *run)
{
	return run->spec.code ? run->spec.code->name : run->spec.lang->code;
}

/* True if the program has the usual name of its language, no arguments and no variables of
 * its own. Some warm interpreters can run only such a program. */
static bool is_plain(const struct run *run)
{
	const struct job_config *c = run->spec.config;

	return !c->args.count && !c->env.count &&
	       !strcmp(run_code_name(run), run->spec.lang->code);
}

#define PLAIN_WHY "a warm %s has no arguments and no variables of its own"

/* Chooses a warm interpreter of the language, or WIRE_RUN_EXEC: a new process. Return: 0 or
 * -ENOMEM. */
static int choose_runner(struct run *run)
{
	const struct lang *lang = run->spec.lang;
	uint32_t *ret = &run->vm_job.wire.runner;
	int r = run_find_why(run);

	*ret = WIRE_RUN_EXEC;
	if (!lang || r < 0)
		return r;
	if (is_step(run)) {
		*ret = lang_runner[lang->id];
		return 0;
	}
	/* The program could notice that a warm interpreter was started before its config
	 * was known (fresh_why). A script gets a new process instead. A call needs the
	 * runner, and so does a language whose types the runner erases. */
	if (run->spec.config->mode == MODE_SCRIPT && run->environment.fresh_why &&
	    !lang->erased)
		return 0;
	if (lang->warm_is_plain && !is_plain(run))
		return run_say_why(run, PLAIN_WHY, lang->name);
	*ret = lang_runner[lang->id];
	return 0;
}

static struct last_environments *find_last(struct runs *runs, uid_t uid)
{
	struct hash_node *h = hash_first(&runs->last, hash_u64(uid));

	for (; h; h = hash_next(h)) {
		struct last_environments *l =
			container_of(h, struct last_environments, by_uid);

		if (l->uid == uid)
			return l;
	}
	return NULL;
}

/* Finds or makes a user's entry. NULL: no memory. */
static struct last_environments *last_of(struct runs *runs, uid_t uid)
{
	struct last_environments *l = find_last(runs, uid);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l || hash_add(&runs->last, &l->by_uid, hash_u64(uid)) < 0) {
		free(l);
		return NULL;
	}
	l->uid = uid;
	return l;
}

/* Names to the pool the environment of the last job in this language: the next one likely
 * has the same. */
void run_expect(struct fsd *d, uid_t uid, const char *name)
{
	const struct lang *lang = lang_by_ending(name);
	const struct last_environments *l = find_last(d->runs, uid);

	if (lang)
		vm_expect(d->vm, lang_runner[lang->id],
			  l ? l->id[lang->id] : "");
}

void run_note_environment(const struct run *run)
{
	const struct lang *lang = run->spec.lang;
	struct last_environments *l =
		lang ? last_of(run->d->runs, run->job->meta.uid) : NULL;

	if (l)
		snprintf(l->id[lang->id], sizeof(l->id[0]), "%s",
			 run->environment.id ? run->environment.id :
					       ENVIRONMENT_BASE);
}

static int fill_argv(struct run *run)
{
	const struct job_config *c = run->spec.config;
	const struct config_strings *tail = &c->args;
	char path[512];
	int r = 0;

	if (c->mode == MODE_COMMAND) {
		for (size_t i = 0; r == 0 && i < c->command.count; i++)
			r = push(&run->argv, c->command.item[i]);
	} else {
		snprintf(path, sizeof(path), WIRE_HOME "/%s",
			 run_code_name(run));
		if (run->spec.lang &&
		    run->vm_job.wire.runner == WIRE_RUN_EXEC)
			r = push(&run->argv, run->spec.lang->interpreter);
		if (r == 0)
			r = push(&run->argv, path);
	}
	for (size_t i = 0; r == 0 && i < tail->count; i++)
		r = push(&run->argv, tail->item[i]);
	return r;
}

/* --- together --------------------------------------------------------------------- */

void run_fill_limits(struct run *run)
{
	const struct job_config *c = run->spec.config;
	const struct job_config *shared = run->host->shared(run);
	const struct job_config *m = shared ? shared : c;
	struct wire_job *w = &run->vm_job.wire;

	w->mode = c->mode == MODE_CALL   ? WIRE_MODE_CALL
		  : c->mode == MODE_CELL ? WIRE_MODE_CELL
		  : c->session		 ? WIRE_MODE_SESSION
					 : WIRE_MODE_SCRIPT;
	w->call = c->call ? c->call : "";
	w->cpus = (uint32_t)m->cpus;
	w->processes = (uint32_t)m->processes;
	w->memory_bytes = MIB(m->memory_mb);
	w->stdout_limit = c->stdout_limit;
	w->stderr_limit = c->stderr_limit;
	w->output_limit = c->output_limit;
	w->output_files = LIMIT_OUTPUT_FILES;
	w->linger_ms = (uint32_t)c->linger_ms;
	w->fresh = c->fresh;
}

/* "cwd" is relative to the home directory, like all paths of a job. */
static int fill_cwd(struct run *run)
{
	const char *cwd = run->spec.config->cwd;
	auto_buf struct buf path = { 0 };

	if (!cwd)
		return 0;
	buf_fmt(&path, "%s%s", cwd[0] == '/' ? "" : WIRE_HOME "/", cwd);
	run->vm_job.wire.cwd = path.failed
				       ? NULL : arena_text(&run->texts, path.data);
	return run->vm_job.wire.cwd ? 0 : -ENOMEM;
}

int run_prepare(struct run *run, struct err *err)
{
	int r = run_find_environment(run, err);

	if (r < 0)
		return r;
	run_fill_limits(run);
	if (fill_cwd(run) < 0)
		return err_sys(err, -ENOMEM, "the job cannot be queued");
	r = choose_runner(run);
	if (r == 0)
		r = fill_argv(run);
	if (r == 0)
		r = fill_env(run);
	if (r < 0)
		return err_sys(err, r, "the job cannot be queued");
	run->vm_job.wire.argv = run->argv;
	run->vm_job.wire.envp = run->envp;
	return 0;
}

void run_unprepare(struct run *run)
{
	run_collect_stop(run);
	run_inputs_done(run);
	strings_done(&run->argv);
	strings_done(&run->envp);
	run_drop_environment(run);
	run->vm_job.wire.argv.count = 0; /* run_get_ready() prepares the run again */
}
