/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores the open files of the previous server from their records in
 * d->handover. Finds a file by its inode number, or by its name in STATE/unlinked.
 * If the file is gone, the handle stays without an object, and its user gets
 * ESTALE. All functions run on the loop, at the server's start.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/mount/requests.h"
#include "fsd/store/store_io.h"
#include "ops_handle.h"
#include "ops_guest.h"

/* Opens a result by its name in STATE/unlinked. If the server was killed before it
 * made that name, renames the run's file now. *ret -1: an empty stream had no file. */
static int open_unlinked(struct fsd *d, const struct handle_record *kept,
			 const struct job *job, unsigned vfile, int *ret)
{
	char name[STORE_ID_SIZE], path[STORE_ID_SIZE + sizeof(STORE_UNLINKED)];
	char from[STORE_PATH_MAX], tail[64];

	snprintf(name, sizeof(name), OPEN_ROW_FMT, open_files_fh(d->open_files, kept));
	snprintf(path, sizeof(path), STORE_UNLINKED "%s", name);
	snprintf(tail, sizeof(tail), "r%u/%s", (unsigned)kept->end, job_vfiles[vfile].name);
	store_job_path(job->meta.no, tail, from);
	*ret = open_quietly(store_jobs_fd(d->store), path, O_RDONLY);
	if (*ret < 0 && errno == ENOENT && !job->removed &&
	    store_unlinked_add(d->store, from, name) == 0)
		*ret = open_quietly(store_jobs_fd(d->store), path, O_RDONLY);
	if (*ret >= 0 || job_vfiles[vfile].kind == VFILE_STREAM)
		return 0;
	return -ESTALE;
}

/* Restores a result that existed at its open, of a removed job or of an earlier
 * run. Only this open file has it now. */
static int restore_gone(struct fsd *d, struct handle_record *kept,
			struct target *t)
{
	uint64_t no = INO_REST(kept->ino) >> 8, vfile = INO_REST(kept->ino) & 0xff;
	struct job *job;
	int fd = -1, r;

	if (kept->what != H_FILE || !vfile || vfile >= JOB_VFILE_MAX ||
	    kept->end > UINT32_MAX)
		return -ESTALE;
	job = job_by_no(d, no);
	job = job ? job_ref(job) : job_gone(d, no);
	if (!job)
		return -ESTALE;
	*t = (struct target){ .kind = T_VFILE, .job = job,
			      .vfile = (unsigned)vfile };
	r = open_unlinked(d, kept, job, (unsigned)vfile, &fd);
	if (r == 0)
		r = ops_handle_restore(d, kept, t, fd);
	job_unref(job);
	return r;
}

static bool is_gone(const struct handle_record *kept, int r,
		    const struct target *t)
{
	return INO_CLASS(kept->ino) == INO_JOB &&
	       (r == -ESTALE ||
		(r == 0 && t->job &&
		 (t->job->removed || ops_vfile_is_gone(kept, t))));
}

static void restore_file(struct fsd *d, struct handle_record *kept)
{
	struct target t;
	int r = ops_resolve(d, kept->ino, &t);

	if (is_gone(kept, r, &t))
		r = restore_gone(d, kept, &t);
	else if (r == 0)
		r = ops_handle_restore(d, kept, &t, -1);
	if (r == 0)
		return;
	/* Forget the number: another file may get it now, which the next server
	 * would take for this one. */
	if (r == -ESTALE || r == -ENOENT || r == -EISDIR)
		kept->ino = 0;
	log_warn("an open file cannot be taken over: %s", strerror(-r));
}

/* Counts the open files of removed jobs, after all were restored. */
static void count_gone(struct fsd *d)
{
	list_for_each(pos, tmp, open_files_handles(d->open_files)) {
		struct handle *h = list_entry(pos, struct handle, node);

		if (h->t.kind == T_VFILE && h->t.job->removed)
			quota_gone_end(&h->t.job->file_owner);
	}
}

/* Calls ops_doubt() again for each file whose close promised a start. If that close
 * was one of a duplicate, no release follows it. */
static void doubt_closes(struct fsd *d)
{
	list_for_each(pos, tmp, open_files_handles(d->open_files)) {
		struct handle *h = list_entry(pos, struct handle, node);

		if (h->kept->closer && !h->kept->failed &&
		    h->t.kind == T_NODE && h->t.node->owner)
			ops_doubt(h);
	}
}

/* True if something that is open needs this name of STATE/unlinked. */
static bool is_needed(void *arg, const char *name)
{
	struct fsd *d = arg;
	uint64_t no = 0, fh = *name == 'f' ? strtoull(name + 1, NULL, 16) : 0;
	const struct handle *h = fh ? open_files_at(d->open_files, fh, OPEN_FILE)
				    : NULL;
	const struct job *job = store_no(name, &no) == 0 ? job_by_no(d, no) : NULL;

	return nodes_need(d->nodes, name) || (h && h->vfile.renamed) ||
	       (job && job->removed);
}

void ops_restore(struct fsd *d)
{
	struct handle_record *kept;

	for (uint32_t i = 0; (kept = handover_next(d->handover, &handle_records, &i)); ) {
		/*
		 * Without memory the handle is lost, and its user gets ESTALE.
		 */
		if (open_files_adopt(d->open_files, kept, NULL) < 0)
			continue;
		if (!kept->ino)
			continue; /* an earlier server has lost this file already */
		if (kept->kind == OPEN_FILE)
			restore_file(d, kept);
		else if (kept->kind == OPEN_LISTING)
			ops_listing_restore(d, kept);
		else if (kept->kind == OPEN_GUEST_LISTING)
			guest_listing_restore(d, kept);
	}
	count_gone(d);
	doubt_closes(d);
	store_unlinked_sweep(d->store, is_needed, d);
	handover_recycle(d->handover, &handle_records);
}

void ops_wake_polls(struct fsd *d)
{
	const struct handle_record *kept;

	for (uint32_t i = 0; (kept = handover_next(d->handover, &handle_records, &i)); )
		if (kept->poll)
			requests_wake(d, kept->poll);
}
