/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and times of virtual files. A result has the time at which it was
 * written, so that a program edited after its run is newer. All functions run
 * on the loop; they may wait for the disk.
 */
#include "handle_table.h"
#include "ops_handle.h"

#include <string.h>

#include "fsd/store/store.h"
#include "fsd/submit/restart.h"
#include "fsd/run/run.h"

/* Copies the size and the time of the last write of a stored file. */
static void take(const struct stat *stored, struct stat *ret)
{
	ret->st_size = stored->st_size;
	ret->st_atim = ret->st_ctim = ret->st_mtim = stored->st_mtim;
}

static void stat_result(const struct job *job, unsigned vfile, struct stat *ret)
{
	struct stat st;

	if (store_run_stat(job->d->store, job->meta.no, job->meta.run,
			   job_vfiles[vfile].name, &st) == 0)
		take(&st, ret);
}

void ops_stat_vfile(struct job *job, unsigned vfile, struct stat *st)
{
	const struct job_meta *m = &job->meta;
	struct stat stored;
	char line[16];

	switch (vfile) {
	case JOB_VFILE_STATE:
		st->st_size = (off_t)strlen(state_name(m->state)) + 1;
		break;
	case JOB_VFILE_ERROR:
		restart_examine(job);
		st->st_size = (off_t)strlen(job_error(job));
		break;
	case JOB_VFILE_LOG:
		job_log_flush(job);
		if (store_log_stat(job->d->store, m->no, &stored) == 0)
			take(&stored, st);
		break;
	case JOB_VFILE_STDOUT:
	case JOB_VFILE_STDERR:
		/* An empty one may have no file in the store. */
		if (job->results.has)
			stat_result(job, JOB_VFILE_RESULT, st);
		st->st_size = 0;
		stat_result(job, vfile, st);
		if (job->run) /* part of it may not be in the store yet */
			st->st_size = (off_t)run_stream_size(
				job, vfile == JOB_VFILE_STDOUT ? VM_OUT : VM_ERR);
		break;
	case JOB_VFILE_RESULT:
		stat_result(job, vfile, st);
		break;
	case JOB_VFILE_EXIT_CODE:
		stat_result(job, JOB_VFILE_RESULT, st);
		st->st_size = snprintf(line, sizeof(line), "%u\n",
				       m->exit_code);
		break;
	case JOB_VFILE_OUTPUT:
		stat_result(job, JOB_VFILE_RESULT, st);
		st->st_size = 0;
		break;
	default:
		break;
	}
}

off_t ops_handle_size(const struct job *job, unsigned vfile)
{
	struct stat st;

	list_for_each(pos, tmp, open_files_handles(job->d->open_files)) {
		struct handle *h = list_entry(pos, struct handle, node);

		if (h->t.job == job && h->t.kind == T_VFILE && h->t.vfile == vfile &&
		    h->fd >= 0 && fstat(h->fd, &st) == 0)
			return st.st_size;
	}
	return 0;
}
