/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename: of jobs, and of files in them. All functions run on the loop, in a
 * fiber that holds the jobs' locks.
 */
#include "ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fsd/jobs/unsynced_inputs.h"
#include "fsd/mount/requests.h"
#include "fsd/store/store.h"
#include "fsd/submit/submit.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"

/*
 * Starts the job, if the rename has completed it. Return: 0, or negative errno: the job
 * cannot start, and the caller undoes the rename and then calls undone(). before: the
 * reason why the job could not start before. If that reason is the same now, the rename
 * has completed nothing, and 0 is returned.
 */
static int renamed(struct job *job, const struct node *node, int before)
{
	int r;

	job_touch(job);
	submit_evaluate_now(job, node && node->parent == job->files &&
				 !strcmp(node->name, "config.json"));
	r = submit_answer(job);
	return r == before || job_name_is_draft(job->meta.name) ? 0 : r;
}

static void undone(struct job *job)
{
	job_log(job, "the rename was undone");
	submit_evaluate_now(job, false);
}

/*
 * Ends a rename that has not started the job and cannot be undone. It succeeds if it is
 * persisted that the job is refused. Otherwise the next server would find a draft, so it
 * fails.
 */
static int stay_refused(const struct job *job, int failure)
{
	return store_meta_write(job->d->store, &job->meta) < 0 ? failure : 0;
}

static bool rename_back(struct job *job, const char *from)
{
	struct name_claim claim;
	int r;

	if (!name_claim_free(job->d, &claim, from))
		return false;
	r = job_rename(job, from);
	name_release(&claim);
	return r == 0;
}

static int start_job_renamed(struct job *job, const char *from)
{
	int before = job_name_is_draft(from) ? 0 : submit_answer(job);
	int r = renamed(job, NULL, before);

	if (r == 0)
		return 0;
	if (!rename_back(job, from))
		return stay_refused(job, r);
	undone(job);
	return r;
}

static int rename_job(fuse_req_t req, struct job *job, const char *to)
{
	struct job *old = job_by_name(ops_fsd(req), to);
	auto_free char *from = strdup(job->meta.name);
	struct name_claim claim;
	struct err err = { 0 };
	int r = job_name_check(to);

	if (r < 0)
		return ops_refuse_job_name(req, to, r);
	if (old == job)
		return 0;
	if (job_is_frozen(job))
		return ops_refuse(req, -EBUSY, job->meta.name,
				  "the job is %s and cannot be renamed now",
				  state_name(job->meta.state));
	name_claim(job->d, &claim, to);
	r = from ? ops_check_free(req, to) : -ENOMEM;
	if (r == 0)
		r = submit_precheck_submit(job, to, &err);
	if (r == 0)
		r = job_rename(job, to);
	if (r == 0) {
		job_log(job, "renamed to %s", to);
		r = start_job_renamed(job, from);
	}
	name_release(&claim);
	return r < 0 && err.text[0] ? ops_refuse(req, r, to, "%s", err.text) : r;
}

/* rsync writes a temporary file and renames it. Onto a virtual name in a draft,
 * that is a copy without effect. */
static int rename_to_vfile(fuse_req_t req, struct target *from, unsigned vfile)
{
	struct job *job = from->job;

	if (from->kind == T_NODE && !from->node->is_dir &&
	    job_takes_copies(job)) {
		job_vfile_copied(job, vfile);
		job_keep(job);
		return ops_unlink_node(from);
	}
	return ops_refuse(req, -EPERM, job->meta.name,
			  "%s is a virtual file and cannot be replaced",
			  job_vfiles[vfile].name);
}

static bool is_below(const struct node *node, const struct node *dir)
{
	for (; node; node = node->parent)
		if (node == dir)
			return true;
	return false;
}

static int check_replace(const struct target *from, const struct target *dir,
			 const char *name, unsigned flags)
{
	struct node *to_dir = ops_dir_node(dir), *old;
	int r = node_load(to_dir);

	if (r < 0)
		return r;
	if (from->node->is_dir && is_below(to_dir, from->node))
		return -EINVAL;
	old = node_find(to_dir, name);
	if (!old || old == from->node)
		return 0;
	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (old->is_dir != from->node->is_dir)
		return old->is_dir ? -EISDIR : -ENOTDIR;
	if (old->is_dir && node_has_entries(old))
		return -ENOTEMPTY;
	return 0;
}

/* Moves a file. Return: 0 or negative errno, for some with a sentence. */
static int move_node(struct node *node, struct job *job, struct node *dir,
		     const char *name, struct err *err)
{
	struct job *old_job = job_of_node(node);
	struct quota_move move = { 0 };
	int r = quota_move_begin(&move, node, dir, node_find(dir, name), err);

	if (r == 0)
		r = unsynced_rename(node, job, dir, name);
	if (r == 0)
		r = node_rename(node, dir, name);
	if (r == -ENAMETOOLONG)
		return err_set(err, r, "a path in a job has at most %u names, "
			       "and one below it would have more", LIMIT_DEPTH);
	if (r < 0)
		return r;
	quota_move_end(&move, node);
	unsynced_renamed(old_job, job);
	return 0;
}

/*
 * Starts the job after a file's rename, or undoes the rename. old_dir, old_job,
 * old_name: where it was before. If the file has replaced another one, the
 * rename cannot be undone.
 */
static int start_node_renamed(struct node *node, struct job *job,
			      struct node *old_dir, struct job *old_job,
			      const char *old_name, bool replaced)
{
	struct err err = { 0 };
	int r = renamed(job, node->writers ? NULL : node, submit_answer(job));

	if (r == 0)
		return 0;
	if (replaced || move_node(node, old_job, old_dir, old_name, &err) < 0)
		return stay_refused(job, r);
	undone(job);
	return r;
}

static int check_move(fuse_req_t req, struct target *from,
		      const struct target *dir, const char *name,
		      unsigned flags)
{
	struct target source = { .kind = T_JOB, .job = from->job };
	struct err err = { 0 };
	int r = ops_check_writable(req, dir, name);

	if (r == 0 && from->node->is_link)
		r = ops_check_link(req, dir, name, from->node);
	if (r == 0 && from->job != dir->job)
		r = ops_check_writable(req, &source, name);
	if (r == 0 && from->node->area == AREA_OUTPUT)
		r = -EXDEV; /* results cannot be moved: mv copies them */
	if (r == 0)
		r = check_replace(from, dir, name, flags);
	if (r < 0)
		return r;
	if (dir->kind == T_JOB && !strcmp(name, "config.json"))
		r = submit_precheck_config(dir->job, from->node, &err);
	return r < 0 ? ops_refuse(req, r, dir->job->meta.name, "%s", err.text)
		     : 0;
}

static int rename_node(fuse_req_t req, struct target *from,
		       const struct target *dir, const char *name,
		       unsigned flags)
{
	auto_free char *old_name = strdup(from->node->name);
	struct node *to_dir = ops_dir_node(dir), *old_dir = from->node->parent;
	struct job *old_job = from->job;
	struct err err = { 0 };
	bool replaces;
	int r = old_name ? check_move(req, from, dir, name, flags) : -ENOMEM;

	if (r < 0)
		return r;
	replaces = node_find(to_dir, name);
	r = move_node(from->node, dir->job, to_dir, name, &err);
	if (r < 0 && err.text[0])
		return ops_refuse(req, r, dir->job->meta.name, "%s: %s", name,
				  err.text);
	if (r == 0)
		r = start_node_renamed(from->node, dir->job, old_dir, old_job,
				       old_name, replaces);
	if (old_job != dir->job)
		ops_changed(old_job, NULL);
	return r;
}

/* Starts the job that the previous server has renamed, unless that server has started
 * the job already: then the job has a run that was not there before. */
static int renamed_before(struct target *found, struct target *to,
			  const char *name, uint64_t run_before,
			  struct job **ret_job)
{
	struct job *job = found->kind == T_JOB ? found->job : to->job;
	int r = 0;

	*ret_job = job;
	if (!job || job->meta.run > run_before)
		return 0;
	if (found->kind == T_JOB)
		return start_job_renamed(job, name);
	if (found->kind == T_NODE)
		r = renamed(job, found->node->writers ? NULL : found->node, 0);
	return r < 0 ? stay_refused(job, r) : 0;
}

/* Renames. ret_job: the job whose state may have changed. */
static int do_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		     fuse_ino_t newparent, const char *newname, unsigned flags,
		     struct job **ret_job)
{
	struct target dir, to = { 0 }, from;
	uint64_t run_before;
	unsigned vfile;
	int r = ops_target(req, parent, &dir);

	if (r == 0)
		r = ops_target(req, newparent, &to);
	if (r == 0)
		r = ops_child(req, &dir, name, &from);
	if (r == -ENOENT && to.kind == T_JOB && job_vfile_by_name(newname) &&
	    job_takes_copies(to.job) &&
	    requests_again(ops_fsd(req), &run_before))
		return 0; /* rename_to_vfile() has already removed it */
	if (r == -ENOENT && requests_again(ops_fsd(req), &run_before) &&
	    ops_child(req, &to, newname, &from) == 0)
		return renamed_before(&from, &to, name, run_before, ret_job);
	if (r < 0)
		return r;
	if (ops_sandbox_is(&from) && ops_sandbox_is(&to))
		return ops_sandbox_rename(req, &from, &to, newname, flags);
	*ret_job = from.kind == T_JOB ? from.job : to.job;
	requests_begin(ops_fsd(req), *ret_job ? (*ret_job)->meta.run : 0);
	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return -EINVAL;
	if (from.kind == T_JOB && to.kind == T_ROOT)
		return rename_job(req, from.job, newname);
	/* Not EXDEV: mv would then copy, and take half of the job apart. */
	if (from.kind == T_JOB)
		return ops_refuse(req, -EPERM, name,
				  "a job cannot be moved into another "
				  "directory; to take a name that a job has, "
				  "remove that one first");
	if (from.kind != T_NODE)
		return ops_refuse_at(req, parent, name, -EPERM,
				     "a virtual file cannot be renamed");
	if (!from.job)
		return -ENOENT; /* the job's tree is being removed */
	if (to.kind == T_JOB && (vfile = job_vfile_by_name(newname)))
		return rename_to_vfile(req, &from, vfile);
	if (to.kind == T_ROOT)
		return from.node->is_dir
			       ? -EXDEV
			       : ops_refuse(req, -EPERM, newname,
					    "only jobs (directories) can be "
					    "made here");
	return rename_node(req, &from, &to, newname, flags);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
	       fuse_ino_t newparent, const char *newname, unsigned flags)
{
	struct job *job = NULL;
	int r;

	if (guest_rename(req, parent, name, newparent, newname, flags))
		return;
	do {
		ops_hold(req, parent, name);
		ops_hold(req, newparent, NULL);
	} while (ops_await_settled(ops_job_at(req, parent, name)) ||
		 ops_await_settled(ops_job_at(req, newparent, NULL)));
	r = do_rename(req, parent, name, newparent, newname, flags, &job);
	if (job)
		submit_give_place(job);
	if (r < 0)
		ops_fail(req, newparent, newname, r);
	else
		ops_reply_changed(req, job, r, NULL);
}
