/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs in a state directory of their own, without a mount and without machines: what
 * a server makes before it starts either. For tests of the jobs room and of the rooms
 * right above it.
 */
#ifndef TESTS_UNIT_JOB_FIXTURE_H
#define TESTS_UNIT_JOB_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/files/node.h"
#include "fsd/handover/handover.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/job.h"
#include "fsd/jobs/job_watch.h"
#include "fsd/store/store.h"
#include "fsd/users/users.h"
#include "vm/os/loop.h"

struct job_fixture {
	struct fsd d;
	struct fsd_options options;
	struct retain_limits retain;
	struct environment_options environments;
	char dir[64];
};

static void fixture_must(bool good, const char *what)
{
	if (good)
		return;
	printf("Bail out! %s\n", what);
	exit(1);
}

/* watchers: borrowed, ends with NULL. */
static void fixture_open(struct job_fixture *f,
			 const struct job_watcher *const *watchers)
{
	const struct quota_limits no_quota = { 0 };
	struct fsd *d = &f->d;
	struct err err = { 0 };

	snprintf(f->dir, sizeof(f->dir), "/tmp/fsd-jobs.XXXXXX");
	fixture_must(mkdtemp(f->dir), "no directory");
	f->options.retain = &f->retain;
	f->options.limits = (struct config_limits){
		.timeout_ms = 60000, .memory_mb = 1024, .cpus = 1,
	};
	f->environments.asked = f->dir;
	d->options = &f->options;
	fixture_must(loop_new(&d->loop) == 0, "no loop");
	fibers_init(d->loop);
	time_slices_init(&d->slices, d->loop);
	fixture_must(handover_open(handover_make(), &d->handover, &err) == 0,
		     err.text);
	fixture_must(store_open(d->loop, f->dir, &d->store, &err) == 0,
		     err.text);
	fixture_must(users_new(100, &no_quota, &d->users) == 0 &&
		     environments_new(&f->environments,
				      &(struct image_about){ .packages = NULL },
				      &d->environments) == 0 &&
		     jobs_new(d, watchers) == 0 &&
		     nodes_new(&(struct nodes_use){
				       .store = d->store, .slices = &d->slices,
				       .handover = d->handover,
				       .users = d->users }, &d->nodes) == 0,
		     "no memory");
}

static void fixture_close(struct job_fixture *f)
{
	struct fsd *d = &f->d;
	char command[100];

	store_finish_tasks(d->store);
	fibers_finish();
	jobs_end(d);
	time_slices_finish(&d->slices);
	nodes_free(d->nodes);
	store_close(d->store);
	jobs_free(d->jobs);
	users_free(d->users);
	environments_free(d->environments);
	handover_close(d->handover);
	fibers_done();
	loop_free(d->loop);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	fixture_must(system(command) == 0, "the directory stays");
}

static struct job *fixture_job(struct job_fixture *f, const char *name)
{
	struct job *job = NULL;

	fixture_must(job_make(&f->d, name, 0755, getuid(), getgid(), &job) == 0,
		     "no job");
	return job;
}

#endif
