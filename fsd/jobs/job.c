/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of jobs, and a job's life in it: made, found in the store, renamed, removed.
 * The table, each handle and each parked request have a reference to their job. The last
 * one frees it, perhaps after its removal. On the loop or in a fiber.
 */
#include "job.h"

#include <errno.h>
#include <string.h>

#include "job_state.h"
#include "event_log.h"
#include "fsd/store/meta_copy.h"
#include "parsed_config.h"
#include "fsd/users/users.h"
#include "jobs_int.h"
#include "leftover.h"
#include "unloaded_jobs.h"
#include "statistics.h"

int jobs_new(struct fsd *d, const struct job_watcher *const *watchers)
{
	d->jobs = calloc(1, sizeof(*d->jobs));
	if (!d->jobs)
		return -ENOMEM;
	if (statistics_new(&d->jobs->statistics) < 0) {
		free(take_ptr(d->jobs));
		return -ENOMEM;
	}
	d->jobs->d = d;
	d->jobs->watchers = watchers;
	list_init(&d->jobs->all);
	list_init(&d->jobs->cursors);
	list_init(&d->jobs->claims);
	list_init(&d->jobs->retention.doomed);
	list_init(&d->jobs->log_writer.unlogged);
	return 0;
}

void jobs_end(struct fsd *d)
{
	if (jobs_ended(d))
		return;
	unloaded_free(d);
	list_for_each(pos, tmp, &d->jobs->all) {
		struct job *job = list_entry(pos, struct job, all);

		watch_leaving(job);
		job_log_flush(job);
		list_del(&job->all);
		job->removed = true;
		watch_unloaded(job);
		job_unref(job);
	}
	hash_done(&d->jobs->by_no);
	hash_done(&d->jobs->by_name);
	d->jobs->ended = true;
	retention_end(&d->jobs->retention);
	log_writer_end(&d->jobs->log_writer);
	leftovers_end(&d->jobs->leftovers);
}

bool jobs_ended(const struct fsd *d)
{
	return !d->jobs || d->jobs->ended;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	statistics_free(jobs->statistics);
	free(jobs);
}

struct job *job_by_no(struct fsd *d, uint64_t no)
{
	struct hash_node *h = hash_first(&d->jobs->by_no, hash_u64(no));

	for (; h; h = hash_next(h)) {
		struct job *job = container_of(h, struct job, by_no);

		if (job->meta.no == no)
			return job;
	}
	return unloaded_by_no(d, no);
}

struct job *job_by_name(struct fsd *d, const char *name)
{
	struct hash_node *h = hash_first(&d->jobs->by_name, hash_text(name, 0));

	for (; h; h = hash_next(h)) {
		struct job *job = container_of(h, struct job, by_name);

		if (!strcmp(job->meta.name, name))
			return job;
	}
	return unloaded_by_name(d, name);
}

struct list *jobs_all(struct fsd *d)
{
	return &d->jobs->all;
}

uint64_t jobs_last_seq(const struct fsd *d)
{
	return d->jobs->seq;
}

void jobs_walk(struct list_cursor *w, struct fsd *d)
{
	list_cursor_begin(w, &d->jobs->cursors, &d->jobs->all);
}

/* --- life --------------------------------------------------------------- */

struct job *job_ref(struct job *job)
{
	job->refs++;
	return job;
}

/* Gives the record a name in STATE/unlinked: users have results of the removed job open,
 * and the next server needs the record for them. */
static void rename_record(struct job *job)
{
	char path[STORE_PATH_MAX], id[STORE_ID_SIZE];

	store_job_path(job->meta.no, "meta", path);
	store_id(job->meta.no, id);
	job->results.renamed = store_unlinked_add(job->d->store, path, id) == 0;
}

static void unname_record(const struct job *job)
{
	char id[STORE_ID_SIZE];

	store_id(job->meta.no, id);
	if (job->results.renamed)
		store_unlinked_drop(job->d->store, id);
}

void job_unref(struct job *job)
{
	if (--job->refs) {
		retain_let_go(job);
		return;
	}
	if (!jobs_ended(job->d))
		hash_del(&job->d->jobs->by_no, &job->by_no);
	unname_record(job);
	node_root_free(job->files);
	node_root_free(job->removed_files.root);
	job_results_free(job);
	parsed_config_unref(job->config.parsed);
	events_free(job->events);
	free(job->error);
	free(job->meta.name);
	if (job->meta.copy && !job->meta.copy->live)
		meta_copy_free(job->d->handover, job->meta.copy);
	free(job);
}

void job_hold(struct job *job)
{
	job_ref(job); /* for the wait, and as long as this fiber holds the lock */
	if (!fiber_lock_enter(&job->lock))
		job_unref(job);
}

void jobs_let_go(void)
{
	struct list *held = fiber_self() ? fiber_held(fiber_self()) : NULL;
	struct fiber_lock *lock;

	while (held && (lock = list_first(held, struct fiber_lock, held))) {
		fiber_lock_leave(lock);
		job_unref(container_of(lock, struct job, lock));
	}
}

struct job_call {
	struct job *job; /* a reference */
	void (*fn)(struct job *job);
};

static void on_job_call(void *arg)
{
	struct job_call call = *(struct job_call *)arg;

	job_hold(call.job);
	call.fn(call.job);
	jobs_let_go();
	job_unref(call.job);
}

void job_start(struct job *job, void (*fn)(struct job *job))
{
	struct job_call call = { job_ref(job), fn };

	if (fiber_start(on_job_call, &call) == 0)
		return;
	fn(job); /* no memory for a fiber: the call blocks the loop */
	job_unref(job);
}

static struct job *job_new(struct fsd *d, const struct job_meta *meta)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->d = d;
	job->refs = 1;
	job->meta = *meta;
	job->owner = user_of(d->users, meta->uid);
	fiber_lock_init(&job->lock);
	job->file_owner.nodes = d->nodes;
	job->file_owner.meta = &job->meta;
	list_init(&job->file_owner.open);
	list_init(&job->rows);
	list_init(&job->inotify.notes);
	list_init(&job->readers.parked);
	list_init(&job->readers.polls);
	list_init(&job->readers.cursors);
	job->meta.name = strdup(meta->name);
	if (!job->meta.name) {
		free(job);
		return NULL;
	}
	return job;
}

/* Adds the job to the table; on failure frees it. */
static int job_enlist(struct job *job, bool loaded)
{
	struct jobs *jobs = job->d->jobs;
	struct job_meta *m = &job->meta;

	job->files = node_root_new(&job->file_owner, AREA_FILES, 0, loaded);
	job->error_stored = !loaded && m->state != JOB_DRAFT;
	job_results_find(job);
	if (!loaded)
		job_results_adopt(job);
	if (!job->files ||
	    quota_job_begin(&job->file_owner, !loaded, job->results.sink) < 0 ||
	    hash_add(&jobs->by_no, &job->by_no, hash_u64(m->no)) < 0) {
		quota_job_end(&job->file_owner);
		job_unref(job);
		return -ENOMEM;
	}
	if (hash_add(&jobs->by_name, &job->by_name,
		     hash_text(m->name, 0)) < 0) {
		hash_del(&jobs->by_no, &job->by_no);
		quota_job_end(&job->file_owner);
		job_unref(job);
		return -ENOMEM;
	}
	watch_known(job);
	/* Comes from the clock: a counter would show users how many jobs others make. */
	job->seq = jobs->seq = MAX(jobs->seq + 1, now_ns());
	list_add_tail(&jobs->all, &job->all);
	user_count(job->owner, m->state, 1);
	return 0;
}

int job_make(struct fsd *d, const char *name, mode_t mode, uid_t uid,
	     gid_t gid, struct job **ret_job)
{
	uint64_t now = realtime_ns();
	struct job_meta meta = {
		.no = store_next_no(d->store), .uid = uid, .gid = gid,
		.mode = mode & 0777, .state = JOB_DRAFT,
		.created_ns = now, .changed_ns = now,
	};
	struct job *job;
	int r;

	meta.name = strdup(name);
	job = meta.name ? job_new(d, &meta) : NULL;
	free(meta.name);
	if (!job)
		return -ENOMEM;
	job->meta.copy = meta_copy_new(d->handover, meta.no);
	r = job->meta.copy ? store_job_make(d->store, &job->meta) : -ENOMEM;
	if (r < 0) {
		job_unref(job);
		return r;
	}
	job->unsynced.known = true;
	r = job_enlist(job, true);
	if (r < 0)
		return r;
	user_listed(d->users, job->owner);
	*ret_job = job;
	return 0;
}

int job_load(struct fsd *d, const struct job_meta *meta, struct job **ret_job)
{
	struct job *job = job_new(d, meta);

	*ret_job = job;
	if (!job)
		return -ENOMEM;
	leftover_loaded(job);
	return job_enlist(job, false);
}

struct job *job_gone(struct fsd *d, uint64_t no)
{
	struct job_meta meta = { .no = no };
	struct job *job;

	if (store_unlinked_job(d->store, &meta) < 0)
		return NULL;
	meta.state = JOB_DONE;
	job = job_new(d, &meta);
	free(meta.name);
	if (!job)
		return NULL;
	job->removed = job->results.renamed = true;
	if (hash_add(&d->jobs->by_no, &job->by_no, hash_u64(no)) < 0) {
		job_unref(job);
		return NULL;
	}
	quota_gone_begin(&job->file_owner);
	return job;
}

static void job_delist(struct job *job)
{
	struct jobs *jobs = job->d->jobs;

	hash_del(&jobs->by_name, &job->by_name);
	list_cursors_leave(&jobs->cursors, &job->all);
	list_del(&job->all);
	user_count(job->owner, job->meta.state, -1);
	job->removed = true;
	user_listed(job->d->users, job->owner);
}

int job_rename(struct job *job, const char *name)
{
	struct jobs *jobs = job->d->jobs;
	auto_free char *copy = strdup(name);
	struct job_meta meta = job->meta;
	int r;

	if (!copy)
		return -ENOMEM;
	meta.name = copy;
	job_fill_accepted(job, &meta);
	r = store_meta_write(job->d->store, &meta);
	if (r < 0)
		return r;
	hash_del(&jobs->by_name, &job->by_name);
	hash_add(&jobs->by_name, &job->by_name, hash_text(name, 0));
	free(job->meta.name);
	job->meta.name = take_ptr(copy);
	user_listed(job->d->users, job->owner);
	return 0;
}

int job_remove(struct job *job)
{
	int r;

	watch_leaving(job);
	meta_copy_begin(job->meta.copy);
	if (!list_empty(&job->rows))
		rename_record(job);
	node_root_keep(job->files);
	node_root_keep(job->removed_files.root);
	node_root_keep(job->results.sink);
	job_keep_results(job);
	r = store_job_remove(job->d->store, job->meta.no);
	if (r == 0)
		meta_copy_gone(job->meta.copy);
	if (r < 0) {
		log_warn("job %s: it cannot be removed: %s", job->meta.name,
			 strerror(-r));
		watch_stays(job);
		return r;
	}
	if (job_is_frozen(job))
		statistics_removed(job->d);
	job_delist(job);
	job_log_drop(job);
	watch_removed(job);
	node_root_free(take_ptr(job->files));
	node_root_free(take_ptr(job->removed_files.root));
	job_results_free(job);
	quota_job_end(&job->file_owner);
	job_unref(job);
	return 0;
}

/* --- small things ------------------------------------------------------- */

const char *job_error(struct job *job)
{
	if (job->error_stored)
		job->error = store_error_read(job->d->store, job->meta.no);
	job->error_stored = false;
	return job->error ? job->error : "";
}

static void store_error(struct job *job, const char *text)
{
	int r = 0;

	if (text || *job_error(job))
		r = store_error_write(job->d->store, job->meta.no, text);
	if (r < 0)
		log_warn("job %s: its error cannot be stored: %s",
			 job->meta.name, strerror(-r));
}

static void set_error(struct job *job, const char *sentence, bool store)
{
	char *text = NULL;

	if (sentence && asprintf(&text, "%s\n", sentence) < 0)
		text = NULL;
	if (store)
		store_error(job, text);
	free(job->error);
	job->error = text;
	job->error_stored = false;
	job_touch(job);
}

void job_set_error(struct job *job, const char *sentence)
{
	set_error(job, sentence, true);
}

void job_show_error(struct job *job, const char *sentence)
{
	set_error(job, sentence, false);
}

void job_touch(struct job *job)
{
	job->meta.changed_ns = user_changed(job->d->users, job->owner);
}
