/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One daemon from start to end. Before the mount answers an error ends it with
 * a sentence; afterwards none may.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "commands.h"
#include "commit.h"
#include "event.h"
#include "face.h"
#include "job.h"
#include "keeper.h"
#include "lifecycle.h"
#include "node.h"
#include "notify.h"
#include "ops_remote.h"
#include "paths.h"
#include "people.h"
#include "restrain.h"
#include "run.h"
#include "mountpoint.h"
#include "depot.h"
#include "remote.h"
#include "sched_open.h"
#include "sessions.h"

void mount_options_defaults(struct mount_options *o)
{
	struct sysinfo info;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t memory_mb = 2048;

	if (sysinfo(&info) == 0)
		memory_mb = (uint64_t)info.totalram * info.mem_unit >> 20;
	if (!o->state_dir)
		o->state_dir = o->found[0] = default_state_dir();
	if (!o->cache_dir)
		o->cache_dir = o->state_dir;
	if (!o->image_dir)
		o->image_dir = o->found[1] = default_image_dir();
	if (o->pool == UINT32_MAX)
		o->pool = (unsigned)MAX(cpus, 1) * 2;
	if (!o->max_machines)
		o->max_machines = MAX(o->pool, (unsigned)MAX(cpus, 1) * 4);
	o->limits = (struct config_limits){
		.timeout_ms = DEFAULT_TIMEOUT_MAX_MS,
		.memory_mb = MAX(memory_mb / 2, (uint64_t)DEFAULT_MEMORY_MB),
		.cpus = (uint64_t)MAX(cpus, 1),
	};
}

void mount_options_done(struct mount_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->found); i++)
		free(take_ptr(o->found[i]));
}

/* --- signals --------------------------------------------------------------- */

static void on_signal(struct loop_fd *src, uint32_t events)
{
	struct fsd *d = src->arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(src->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		lifecycle_stop(d, info.ssi_signo != SIGUSR1);
}

static int watch_signals(struct fsd *d, struct loop_fd *src)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1); /* end after the running jobs */
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	src->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	src->events = EPOLLIN;
	src->fn = on_signal;
	src->arg = d;
	return src->fd < 0 ? -errno : loop_fd_add(d->loop, src);
}

/* --- what an earlier daemon left ---------------------------------------------- */

static void on_found(void *arg, const struct job_meta *meta)
{
	int r = job_load(arg, meta);

	if (r < 0)
		log_error("job %s: cannot be taken up again: %s", meta->name,
			  strerror(-r));
}

static void on_bad(void *arg, const char *entry, const char *reason)
{
	struct fsd *d = arg;

	log_error("%s/jobs/%s: left alone, it cannot be read: %s",
		  depot_dir(d->depot), entry, reason);
}

/* Every job back into the state that its promise asks for. */
static void resume_jobs(struct fsd *d)
{
	list_for_each(pos, tmp, jobs_all(d)) {
		struct job *job = list_entry(pos, struct job, all);

		switch (job->meta.state) {
		case JOB_QUEUED: /* it never ran: from the top */
			person_count(job->owner, JOB_QUEUED, -1);
			job->meta.state = JOB_DRAFT;
			person_count(job->owner, JOB_DRAFT, 1);
			commit_evaluate(job, false);
			break;
		case JOB_RUNNING:
			run_recover(job);
			break;
		case JOB_REFUSED: /* says why again, or starts */
			commit_evaluate(job, false);
			break;
		default:
			break;
		}
	}
}

/* --- the room below ------------------------------------------------------------- */

static void on_vm_changed(void *arg)
{
	struct fsd *d = arg;
	struct err err = { 0 };
	int r = vm_health(d->vm, &err);

	if (r == 0)
		log_info("jobs can run");
	else if (r != -EAGAIN)
		log_error("jobs cannot run: %s", err.text);
	if (d->sched)
		sched_look(d->sched);
}

static void on_vm_progress(void *arg, const char *sentence)
{
	(void)arg;
	log_info("machines: %s", sentence);
}

static int start_machines(struct fsd *d, struct err *err)
{
	const struct mount_options *o = d->options;
	struct vm_options vo = {
		.backend = &FSD_BACKEND, .cache_dir = o->cache_dir,
		.image_dir = o->image_dir, .accel = o->accel, .pool = o->pool,
		.max_machines = o->max_machines, .permissive = o->permissive,
		.uid_first = o->uid_first, .uid_count = o->uid_count,
	};
	struct vm_watch watch = {
		.changed = on_vm_changed, .progress = on_vm_progress,
		.freed = sched_on_freed, .may_warm = sched_on_may_warm,
		.arg = d,
	};
	int r = vm_new(d->loop, &vo, &watch, &d->vm, err);

	if (r == 0 && sched_open(d) < 0)
		r = err_sys(err, -ENOMEM, "the scheduler");
	return r;
}

/* --- start and end --------------------------------------------------------------- */

/* Descriptors are what a busy daemon needs most: as many as are allowed. */
static void raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int start(struct fsd *d, struct loop_fd *signals, struct err *err)
{
	int r = loop_new(&d->loop);

	turns_init(&d->turns, d->loop);
	if (r == 0)
		r = watch_signals(d, signals);
	if (r < 0)
		return err_sys(err, r, "the event loop");
	r = depot_open(d->loop, d->options->state_dir, &d->depot, err);
	if (r < 0)
		return r;
	r = quota_new(&d->options->quota, &d->quota);
	if (r == 0)
		r = jobs_new(d);
	if (r == 0)
		r = remotes_new(&d->remotes);
	if (r == 0)
		r = nodes_new(d->depot, &d->turns, &d->nodes);
	if (r < 0)
		return err_sys(err, r, "the job table");
	r = start_machines(d, err);
	if (r < 0)
		return r;
	r = depot_scan(d->depot, on_found, on_bad, d);
	if (r < 0)
		return err_sys(err, r, "%s/jobs", d->options->state_dir);
	resume_jobs(d);
	r = keeper_open(d->options, &d->keeper, err);
	if (r == 0)
		r = mountpoint_open(d, err);
	if (r == 0)
		r = mountpoint_serve(d, err);
	if (r < 0)
		return r;
	notify_start(d);
	return restrain(d, err);
}

static void finish(struct fsd *d, struct loop_fd *signals)
{
	depot_finish_chores(d->depot); /* some answer requests, some end runs */
	jobs_free(d);
	loop_timer_del(&d->log_timer);
	sessions_free(d);
	turns_finish(&d->turns);
	vm_free(d->vm);
	sched_free(d->sched);
	mountpoint_close(d);
	notify_free(d);
	keeper_close(d->keeper);
	ops_handles_free(d);
	remote_listings_free(d);
	remotes_free(d->remotes);
	turns_finish(&d->turns);
	nodes_free(d->nodes);
	quota_free(d->quota);
	depot_close(d->depot);
	face_done(d);
	people_free(d);
	loop_fd_del(signals);
	fd_close(&signals->fd);
	loop_free(d->loop);
}

/* The one who started us goes on; our own lines go to the log from here. */
static void tell_ready(struct ready *ready)
{
	if (ready->log_fd >= 0)
		dup2(ready->log_fd, STDERR_FILENO);
	fd_close(&ready->log_fd);
	if (write(ready->fd, "", 1) != 1)
		log_warn("nobody waits for the mount to be ready");
	fd_close(&ready->fd);
}

/* Permissive lets them be missing; the log is to have it. */
static void tell_walls(const struct fsd *d)
{
	const struct walls *walls = vm_walls(d->vm);
	const char *missing[WALLS + 1] = { NULL };

	if (walls)
		walls_missing(walls, missing);
	for (unsigned i = 0; missing[i]; i++)
		log_warn("the wall %s is missing; .fsd/security says why",
			 missing[i]);
}

int serve(const struct mount_options *options, struct ready *ready)
{
	struct fsd d = { .options = options, .started_ns = realtime_ns() };
	struct loop_fd signals = { .fd = -1 };
	struct err err = { 0 };
	int r;

	list_init(&d.last_errors);
	list_init(&d.people);
	list_init(&d.handles);
	list_init(&d.unlogged);
	list_init(&d.sessions);
	list_init(&d.remote_listings);
	raise_limits();
	r = start(&d, &signals, &err);
	if (r < 0) {
		finish(&d, &signals);
		return complain("mount", 1, "%s", err.text);
	}
	log_info("serving %s, state in %s", options->mountpoint,
		 options->state_dir);
	if (ready)
		tell_ready(ready);
	tell_walls(&d);
	r = loop_run(d.loop);
	finish(&d, &signals);
	log_info("ended");
	return r < 0 ? 1 : 0;
}
