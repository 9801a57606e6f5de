/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continues the runs of a dead server whose machines live, or had sent everything before
 * it died. Three places have what that needs: the run's replay buffer
 * (vm/channel/replay.h), the store, and the supervisor with its descriptors.
 *
 * The file owns the table of replay buffers. run_replay_begin() and run_replay_end() serve
 * the next server; they run on the loop or in a fiber. The rest takes over from the
 * previous server, before the loop runs, and blocks; run_reset() makes a fiber wait.
 */
#include "run_adopt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "fsd/jobs/parsed_config.h"
#include "fsd/jobs/job_state.h"
#include "fsd/jobs/event_log.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/handover/fdstore.h"
#include "fsd/jobs/leftover.h"
#include "run_int.h"
#include "run_network.h"

/* The replay buffers of runs that the next server may adopt. */
HANDOVER_TABLE(replay_records, "tapes", 2, struct vm_replay, 1024, .zeroed = VM_REPLAY_HEAD);

/* Upper bounds for fields that a compromised server may have written. No machine has more,
 * and sums of such values do not overflow. */
#define MEMORY_MAX (1ull << 46)
#define PLACES_MAX 4096u
/* After so many servers have died while they began a job, it is not begun again: the job
 * may be the reason. */
#define TRIES_MAX 3u

/* --- for the next server ---------------------------------------------------- */

#define CONFIG_MEMORY 5 /* index of memory_mb in vm_replay.config */

/* Copies the part of the config that the machine has got, or that decides how the run
 * ends. */
static void fill_config(const struct run *run, uint64_t to[VM_REPLAY_CONFIG])
{
	const struct job_config *c = run->spec.config;
	const uint64_t of[VM_REPLAY_CONFIG] = {
		c->timeout_ms, c->grace_ms, c->stdout_limit, c->stderr_limit,
		c->output_limit, [CONFIG_MEMORY] = c->memory_mb,
		(uint64_t)c->mode, c->cpus,
	};

	memcpy(to, of, sizeof(of));
}

void run_replay_begin(struct run *run)
{
	uint32_t place;
	struct vm_replay *t = NULL;

	if (!run->vm_job.replay && run->host->outlives(run))
		t = handover_add(run->d->handover, &replay_records, &place);
	if (!t)
		return;
	t->job = run->job->meta.no;
	t->run = run->number;
	t->queued_ns = run->times.queued_ns;
	t->granted_ns = run->times.granted_ns;
	t->stdin_size = run->vm_job.stdin_size;
	t->begin_tries = run->job->leftover.tries + 1;
	run->host->sign(run, t);
	fill_config(run, t->config);
	snprintf(t->language, sizeof(t->language), "%s",
		 run->spec.lang ? run->spec.lang->name : "");
	snprintf(t->environment_id, sizeof(t->environment_id), "%s",
		 run->environment.id ? run->environment.id : "");
	snprintf(t->environment_name, sizeof(t->environment_name), "%s",
		 run->environment.name ? run->environment.name : "");
	run->vm_job.replay = t;
	handover_publish(&t->live);
}

void run_replay_end(struct run *run)
{
	struct vm_replay *t = take_ptr(run->vm_job.replay);

	if (t)
		handover_del(run->d->handover, &replay_records, t);
}

/* --- from the previous server ------------------------------------------------- */

/* Checks the fields of a replay buffer, which a compromised server may have written.
 * Return: 0, or -EPROTO: the buffer is not usable. */
static int recover(struct vm_replay *t)
{
	uint64_t now = now_ns();

	t->queued_ns = MIN(t->queued_ns, now);
	t->granted_ns = MIN(t->granted_ns, now);
	t->started_ns = MIN(t->started_ns, now);
	if (t->memory > MEMORY_MAX || t->places > PLACES_MAX)
		return -EPROTO;
	t->environment_id[sizeof(t->environment_id) - 1] = '\0';
	t->environment_name[sizeof(t->environment_name) - 1] = '\0';
	return replay_recover(t);
}

static struct vm_replay *find_replay(const struct job *job)
{
	struct vm_replay *t;

	for (uint32_t i = 0; (t = handover_next(job->d->handover, &replay_records, &i)); )
		if (t->job == job->meta.no && t->run == job->meta.run)
			return t;
	return NULL;
}

/* Makes the run. Return: NULL if config.json has changed: the machine runs the program
 * with limits that the new config does not have. */
static struct run *new_run(struct job *job, const struct vm_replay *t)
{
	uint64_t config[VM_REPLAY_CONFIG];
	struct run_spec spec = { 0 };
	struct run *run;

	spec.parsed = parsed_begun(job);
	if (!spec.parsed)
		return NULL;
	spec.config = &spec.parsed->config;
	/* Without memory_mb in the config, the environment may have raised the default. */
	if (!spec.config->memory_given)
		spec.parsed->config.memory_mb = t->config[CONFIG_MEMORY];
	spec.lang = lang_by_name(t->language);
	run = run_new(job, &spec, job->meta.run);
	if (!run)
		return NULL;
	fill_config(run, config);
	if (!memcmp(config, t->config, sizeof(config)))
		return run;
	run_free(run);
	return NULL;
}

static int fetch_socket(struct fsd *d, uint64_t key)
{
	return key ? fdstore_fetch(d->fdstore, FDSTORE_SOCKET, key) : -1;
}

struct vm_sockets run_fetch_sockets(struct fsd *d, const struct vm_keys *keys)
{
	return (struct vm_sockets){
		.jail = fetch_socket(d, keys->jail),
		.wire = fetch_socket(d, keys->wire),
		.monitor = fetch_socket(d, keys->monitor),
		.account = fetch_socket(d, keys->account),
	};
}

/* Brings an adopted run to the state that run_start() to run_go() lead to. */
static void go_on(struct run *run, const struct vm_replay *t)
{
	struct job *job = run->job;

	run->adopted = true;
	run_record_found(run, true);
	run_enter(run, RUN_RUNNING);
	run_name_environment(run, t->environment_id, t->environment_name);
	run_queued_since(run, t->queued_ns);
	run_granted_since(run, t->granted_ns);
	run->timed_out = t->timed_out;
	run->cancelled = t->cancelled;
	job->run = run;
	run_drop_output(job);
	events_go_on(job, run->host->stays);
	if (run->host->stays && t->started_ns)
		events_started(job, t->pid);
	for (int s = 0; s < VM_STREAM_MAX; s++)
		events_reach(job, (enum vm_stream)s, run->stream[s].size);
	if (t->started_ns)
		run_started(run, t->started_ns, t->started_real_ns);
	if (run->cancelled)
		vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
	job_log(job, "another server goes on with it");
	run_network_adopt(run, &run_network_hooks);
}

/* Tries to continue the run. Return: NULL, or why no server can continue it. */
static const char *try_adopt(struct job *job, struct vm_replay *t)
{
	const char *why = NULL;
	struct run *run;

	if (recover(t) < 0)
		return "what its machine has said is not kept whole";
	run = new_run(job, t);
	if (!run)
		return "its config is another one, or there is no memory";
	if (!run_streams_take(run, t) || !output_queue_take(run))
		why = "the store has less of its output than it should";
	else if (run->host->adopt(run, t) < 0)
		why = "its machine is gone, or had not begun it";
	if (!why) {
		go_on(run, t);
		return NULL;
	}
	run->vm_job.replay = NULL; /* run_adopted() frees it */
	run_free(run);
	return why;
}

bool run_adopt(struct job *job)
{
	struct vm_replay *t = find_replay(job);
	const char *why = t ? try_adopt(job, t) : "its machine ended with the server";

	if (why)
		log_info("job %s: no server can go on with its run: %s",
			  job->meta.name, why);
	return !why;
}

bool run_put_back(struct job *job)
{
	const struct vm_replay *t = find_replay(job);
	unsigned tries = t ? replay_tries(t) : 0;

	if (!tries || tries >= TRIES_MAX || t->cancelled)
		return false;
	if (store_run_reset(job->d->store, job->meta.no, job->meta.run,
			    ORDER_FILE) < 0)
		return false;
	leftover_retry(job, tries, MIN(t->queued_ns, now_ns()));
	job_log(job, "its server was killed before its program had begun");
	return job_post(job, EV_AGAIN) == 0;
}

bool run_was_cancelled(const struct job *job)
{
	const struct vm_replay *t = find_replay(job);

	return t && t->cancelled;
}

static int do_reset(void *arg)
{
	const struct run *run = arg;

	/* Readers may have seen the events in `order` before the run was put back, so they
	 * must find them again. */
	return store_run_reset(run->d->store, run->job->meta.no, run->number,
			       run->job->leftover.tries ? ORDER_FILE : NULL);
}

int run_reset(struct run *run)
{
	return store_do(run->d->store, do_reset, run);
}

void run_forget_tries(struct job *job)
{
	if (!job->leftover.tries)
		return;
	leftover_retry(job, 0, job->leftover.queued_ns);
}

void run_adopted(struct fsd *d)
{
	struct vm_replay *t;

	for (uint32_t i = 0; (t = handover_next(d->handover, &replay_records, &i)); ) {
		struct job *job = job_by_no(d, t->job);

		if (t->job && (!job || !job->run || job->run->vm_job.replay != t))
			t->live = 0;
	}
	handover_recycle(d->handover, &replay_records);
	run_networks_adopted(d);
	vm_adopted(d->vm);
}
