/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results that a job shows: output/, the virtual files that a user removed or copied,
 * and sink/ for a copied output/. These and the state decide which virtual files exist.
 * Other rooms change them only by the functions of job_results.h. job_keep() copies state
 * that no file has to shared memory, for the next server.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/store/meta_copy.h"
#include "job.h"

/* --- state in shared memory only ---------------------------------------------- */

void job_keep(struct job *job)
{
	struct job_record *k = job->meta.copy;

	if (!k)
		return;
	k->hidden = job->results.hidden;
	k->hidden_run = job->meta.run;
	k->copied = (uint16_t)job->results.copied;
	k->sink = job->results.sink != NULL;
	k->tries = (uint8_t)job->leftover.tries;
}

unsigned job_kept_hidden(const struct job *job)
{
	const struct job_record *k = job->meta.copy;

	return k && k->hidden_run == job->meta.run ? k->hidden : 0;
}

static void find_sink(struct job *job)
{
	errno = 0;
	job->results.sink = node_root_new(&job->file_owner, AREA_SINK, 0, false);
	if (!job->results.sink && errno != ENOENT)
		log_warn("job %s: the output/ that was copied there cannot be "
			 "looked for: %s", job->meta.name, strerror(errno));
}

/* Restores what the previous server wrote to shared memory by job_keep(). */
void job_results_adopt(struct job *job)
{
	struct job_record *k = job->meta.copy;

	if (!k)
		return;
	job->results.hidden = job_kept_hidden(job);
	job->results.copied = k->copied;
	job->leftover.tries = k->tries;
	/* A job that was queued a moment ago may have left a sink/, which is not
	 * shown. */
	if (k->sink && job_takes_copies(job))
		find_sink(job);
	k->sink = job->results.sink != NULL;
}

/* --- output/ ------------------------------------------------------------------ */

struct node *job_output(struct job *job)
{
	if (!job->results.output_unseen)
		return job->results.output;
	errno = 0;
	job->results.output = node_root_new(&job->file_owner, AREA_OUTPUT,
				    job->meta.run, false);
	job->results.output_unseen = !job->results.output && errno != ENOENT;
	return job->results.output;
}

struct node *job_take_output(struct job *job)
{
	job->results.output_unseen = false;
	return take_ptr(job->results.output);
}

int job_output_make(struct job *job, unsigned run)
{
	int r = 0;

	if (job_output(job))
		return 0;
	r = store_output_make(job->d->store, job->meta.no, run);
	if (r == 0)
		job->results.output = node_root_new(&job->file_owner, AREA_OUTPUT, run,
					    true);
	return job->results.output ? 0 : r < 0 ? r : -EIO;
}

void job_output_find(struct job *job)
{
	job->results.output_unseen = true;
	job_output(job);
}

/* Gives an open result a name in STATE/unlinked. A stream without a file is empty and
 * needs none; a result that gets no name is lost. */
static void keep_row(struct job *job, struct open_vfile *vfile)
{
	char tail[64], path[STORE_PATH_MAX], name[STORE_ID_SIZE];
	int r;

	if (vfile->renamed)
		return;
	if (vfile->vfile == JOB_VFILE_LOG)
		snprintf(tail, sizeof(tail), "log");
	else
		snprintf(tail, sizeof(tail), "r%u/%s", vfile->run,
			 job_vfiles[vfile->vfile].name);
	store_job_path(job->meta.no, tail, path);
	snprintf(name, sizeof(name), OPEN_ROW_FMT, vfile->fh);
	r = store_unlinked_add(job->d->store, path, name);
	vfile->renamed = r == 0;
	if (r < 0 && r != -ENOENT)
		*vfile->ino = 0;
}

void job_keep_results(struct job *job)
{
	node_root_keep(job->results.output);
	list_for_each(pos, tmp, &job->rows)
		keep_row(job, list_entry(pos, struct open_vfile, node));
}

void job_vfile_closed(struct job *job, struct open_vfile *vfile)
{
	char name[STORE_ID_SIZE];

	list_del(&vfile->node);
	snprintf(name, sizeof(name), OPEN_ROW_FMT, vfile->fh);
	if (vfile->renamed)
		store_unlinked_drop(job->d->store, name);
}

/* --- a run's end and the next one --------------------------------------------- */

void job_results_find(struct job *job)
{
	job->results.has = job->meta.run && !job_is_frozen(job);
	job->results.output_unseen = job->results.has;
}

void job_results_take_back(struct job *job, bool has)
{
	job->results.has = has;
	job->results.output_unseen = has && !job->results.output;
	job->results.hidden = job_kept_hidden(job);
}

void job_results_show(struct job *job, bool recorded)
{
	job->results.has = true;
	if (recorded)
		return;
	/* Hide them in this server only: the next one decides how this run ended, and
	 * shows the results that it finds. */
	node_root_free(job_take_output(job));
	job->results.hidden |= 1u << JOB_VFILE_RESULT;
}

void job_results_hide(struct job *job)
{
	node_root_free(job_take_output(job));
	quota_area_end(&job->file_owner, AREA_OUTPUT);
	job->results.hidden = 0;
	job->results.has = false;
	job_sink_drop(job);
	job_keep(job);
}

void job_results_free(struct job *job)
{
	node_root_free(job_take_output(job));
	node_root_free(take_ptr(job->results.sink));
}

/* --- copies and rows ---------------------------------------------------------- */

int job_sink_make(struct job *job)
{
	int r = store_sink_make(job->d->store, job->meta.no);

	if (r < 0)
		return r;
	job->results.sink = node_root_new(&job->file_owner, AREA_SINK, 0, true);
	job_keep(job);
	return job->results.sink ? 0 : -ENOMEM;
}

void job_sink_drop(struct job *job)
{
	if (!job->results.sink)
		return;
	node_root_free(take_ptr(job->results.sink));
	job_keep(job);
	quota_area_end(&job->file_owner, AREA_SINK);
	store_sink_drop(job->d->store, job->meta.no);
}

void job_vfile_hide(struct job *job, enum job_vfile vfile)
{
	job->results.hidden |= 1u << vfile;
	job_keep(job);
}

void job_vfile_copied(struct job *job, enum job_vfile vfile)
{
	job->results.copied |= 1u << vfile;
}

bool job_is_frozen(const struct job *job)
{
	return job->meta.state == JOB_QUEUED || job->meta.state == JOB_RUNNING;
}

bool job_takes_copies(const struct job *job)
{
	return job->meta.state == JOB_DRAFT || job->meta.state == JOB_REFUSED;
}

/* False if the run has failed and the disk, full or broken, has no result.json: the name
 * must not be listed, because it cannot be opened. `error` says why. */
static bool has_result(const struct job *job)
{
	struct stat st;

	return job->meta.exit_code != status_exit_code(STATUS_FAILED, 0) ||
	       (store_run_stat(job->d->store, job->meta.no, job->meta.run,
			       "result.json", &st) == 0 &&
		st.st_size);
}

bool job_has_vfile(const struct job *job, enum job_vfile vfile)
{
	if (job->results.hidden & (1u << vfile))
		return false;
	if (vfile == JOB_VFILE_RESULT && job->results.has && !has_result(job))
		return false;
	if (vfile == JOB_VFILE_OUTPUT && job->results.sink)
		return true;
	if (job->results.has && job_vfiles[vfile].result)
		return true;
	return job_vfile_exists(vfile, job->meta.state);
}

bool job_was_put_back(const struct job *job)
{
	return job->meta.state == JOB_QUEUED &&
	       store_run_has(job->d->store, job->meta.no, job->meta.run);
}

bool job_had_vfile(const struct job *job, enum job_vfile vfile)
{
	return job->meta.state == JOB_QUEUED &&
	       job_vfile_exists(vfile, JOB_RUNNING) &&
	       (job->meta.attempt > 1 || job_was_put_back(job));
}
