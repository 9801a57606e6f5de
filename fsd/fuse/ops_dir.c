/* SPDX-License-Identifier: Apache-2.0 */
/* Directories: making, removing, renaming. */
#include "ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fsd/submit/commit.h"
#include "fsd/submit/draft.h"
#include "face.h"
#include "fsd/mount/notify.h"
#include "fsd/mount/requests.h"
#include "fsd/run/run.h"
#include "fsd/run/sessions.h"
#include "ops_refusal.h"
#include "ops_remote.h"
#include "ops_sandbox.h"
#include "fsd/jobs/unstored.h"

static const char *dir_name(const struct target *dir)
{
	return dir->job ? dir->job->meta.name : FSD_DIR_NAME;
}

static bool is_output(const struct target *dir)
{
	const struct node *node = ops_dir_node(dir);

	return node ? node->area == AREA_OUTPUT
		    : dir->kind == T_ROW && dir->row == JOB_ROW_OUTPUT;
}

int ops_check_writable(fuse_req_t req, const struct target *dir,
		       const char *name)
{
	const struct node *node = ops_dir_node(dir);
	int r;

	if (dir->kind == T_FSD)
		return ops_refuse(req, -EPERM, FSD_DIR_NAME,
				  "this directory belongs to fsd");
	if (!dir->job || (!node && !is_output(dir)))
		return -ENOENT;
	r = ops_check_file_name(req, dir_name(dir), name);
	if (r < 0)
		return r;
	if (is_output(dir))
		return ops_refuse(req, -EPERM, dir_name(dir),
				  "output/ is the program's: nothing can be "
				  "added or changed");
	if (job_is_frozen(dir->job))
		return ops_refuse_frozen(req, dir->job, name,
					 !node || !node_find(ops_dir_node(dir),
							     name));
	if (node && node->depth >= LIMIT_DEPTH)
		return ops_refuse(req, -ENAMETOOLONG, dir_name(dir),
				  "a path in a job has at most %u names, and "
				  "this one would have more", LIMIT_DEPTH);
	return 0;
}

/* --- making --------------------------------------------------------------------- */

static int refuse_name(fuse_req_t req, const char *name, int r)
{
	char shown[64];

	snprintf(shown, sizeof(shown), "%.40s", r == -EILSEQ ? "?" : name);
	if (r == -EPERM)
		return ops_refuse(req, r, shown, "this name is fsd's own");
	return ops_refuse(req, r, shown,
			  "a job's name is 1 to 200 bytes of valid UTF-8 "
			  "without control characters");
}

/* The server before was about to do it: what it has done counts. */
static bool done_before(const struct fsd *d)
{
	uint64_t unused;

	return requests_again(d, &unused);
}

/*
 * To whom the job of that name is somebody else's, it does not exist, but the
 * name cannot be had. What says so fits other reasons as well.
 */
static int check_free(fuse_req_t req, const char *name)
{
	const struct job *old = job_by_name(ops_fsd(req), name);

	if (!old)
		return 0;
	if (ops_check_owner(req, old) == 0)
		return -EEXIST;
	return ops_refuse(req, -EACCES, name,
			  "this name is not to be had here; choose another");
}

static int make_job(fuse_req_t req, const char *name, mode_t mode,
		    struct target *t)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct fsd *d = ops_fsd(req);
	struct name_claim claim;
	struct err err = { 0 };
	int r = job_name_check(name), made = 0;

	if (r < 0)
		return refuse_name(req, name, r);
	t->kind = T_JOB;
	t->job = done_before(d) ? job_by_name(d, name) : NULL;
	if (t->job && t->job->meta.uid == who->uid)
		return 0;
	r = quota_check_job(d->quota, who->uid, &err);
	if (r < 0)
		return ops_refuse(req, r, name, "%s", err.text);
	name_claim(d, &claim, name);
	r = check_free(req, name);
	if (r == 0) {
		requests_begin(d, 0);
		made = job_make(d, name, mode | 0700, who->uid, who->gid,
				&t->job);
	}
	name_release(&claim);
	if (r < 0)
		return r;
	if (made < 0)
		return ops_refuse(req, made, name,
				  "the job cannot be made in %s: %s",
				  depot_dir(d->depot), strerror(-made));
	return 0;
}

/* A virtual name: a copy's output/ in a draft, else nobody's to make. */
static int make_row_dir(fuse_req_t req, struct job *job, unsigned row,
			struct target *t)
{
	*t = (struct target){ .kind = T_ROW, .job = job, .row = row };
	if (notify_take_made(job, row, fuse_req_ctx(req)->pid))
		return 0;
	if (job_has_row(job, row))
		return job->sink && row == JOB_ROW_OUTPUT && done_before(job->d)
			       ? 0
			       : -EEXIST;
	if (row != JOB_ROW_OUTPUT || !job_takes_copies(job))
		return ops_refuse(req, -EPERM, job->meta.name,
				  "%s is a virtual file and cannot be made by "
				  "hand",
				  job_rows[row].name);
	requests_begin(job->d, 0);
	return job_sink_make(job);
}

static int make_dir(fuse_req_t req, fuse_ino_t parent, const char *name,
		    mode_t mode, struct target *t)
{
	struct target dir;
	unsigned row = 0;
	int r = ops_target(req, parent, &dir);

	if (r < 0)
		return r;
	if (dir.kind == T_ROOT)
		return make_job(req, name, mode, t);
	if (ops_sandbox_is(&dir))
		return ops_sandbox_mkdir(req, &dir, name, t);
	if (dir.kind == T_JOB)
		row = job_row_by_name(name);
	if (row)
		return make_row_dir(req, dir.job, row, t);
	r = ops_check_writable(req, &dir, name);
	if (r < 0)
		return r;
	t->kind = T_NODE;
	t->job = dir.job;
	t->node = node_find(ops_dir_node(&dir), name);
	if (t->node)
		return t->node->is_dir && done_before(dir.job->d) ? 0 : -EEXIST;
	requests_begin(dir.job->d, 0);
	return node_make_dir(ops_dir_node(&dir), name, mode, &t->node);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fuse_entry_param e;
	struct target t = { 0 };
	int r;

	if (remote_mkdir(req, parent, name, mode))
		return;
	ops_hold(req, parent, NULL);
	r = make_dir(req, parent, name, mode, &t);
	if (r == 0 && t.kind == T_NODE)
		ops_touched(t.job);
	if (r == 0 && t.kind == T_JOB)
		draft_changed(t.job);
	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		fuse_reply_entry(req, &e);
}

/* True if the helper makes a row that is there. */
static bool is_told(fuse_req_t req, fuse_ino_t parent, const char *name,
		    struct fuse_entry_param *ret)
{
	struct target t;

	if (ops_target(req, parent, &t) < 0 || t.kind != T_JOB)
		return false;
	t.kind = T_ROW;
	t.row = job_row_by_name(name);
	return t.row &&
	       notify_take_made(t.job, t.row, fuse_req_ctx(req)->pid) &&
	       ops_entry(req, &t, ret) == 0;
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t rdev)
{
	struct fuse_entry_param e;

	if (is_told(req, parent, name, &e)) {
		fuse_reply_entry(req, &e);
		return;
	}
	(void)mode;
	(void)rdev;
	ops_answer(req, ops_refuse_at(req, parent, name, -EPERM,
				      "only files and directories can be made "
				      "here"));
}

/* --- removing --------------------------------------------------------------------- */

/* Virtual files come and go with the job: rm -r must get past them. A result
 * that is removed by hand stays away until the next run. */
static int unlink_row(struct job *job, unsigned row)
{
	if (job_rows[row].result && job->has_results) {
		job->hidden |= 1u << row;
		job_keep(job);
		notify_removed(job, row);
	}
	return 0;
}

static int unlink_node(struct target *t)
{
	struct job *job = t->job;
	bool input = t->node->area == AREA_FILES, lost;
	int r = input && job ? run_keep_inputs(job, t->node) : 0;

	if (r < 0)
		return r;
	lost = input && job && node_is_lost(t->node);
	r = node_unlink(t->node);
	if (r == 0 && lost)
		run_lose_input(job);
	if (r == 0 && input)
		ops_changed(job, NULL);
	return r;
}

static int do_unlink(fuse_req_t req, struct target *t)
{
	requests_begin(ops_fsd(req), 0);
	if (t->kind == T_ROW &&
	    notify_take_gone(t->job, t->row, fuse_req_ctx(req)->pid))
		return 0; /* it was gone before */
	if (t->kind == T_ROW)
		return job_rows[t->row].kind == ROW_DIR
			       ? -EISDIR
			       : unlink_row(t->job, t->row);
	if (t->kind == T_NODE)
		return t->node->is_dir ? -EISDIR : unlink_node(t);
	if (ops_sandbox_is(t))
		return ops_sandbox_unlink(req, t);
	return t->kind == T_JOB ? -EISDIR : -EPERM;
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct target t = { 0 };
	int r;

	if (remote_unlink(req, parent, name))
		return;
	ops_hold(req, parent, name);
	r = ops_find(req, parent, name, &t);
	if (r == 0)
		r = do_unlink(req, &t);
	else if (r == -ENOENT && (t.row || done_before(ops_fsd(req))))
		r = 0; /* a result may go by itself after it was looked up */
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		ops_reply_changed(req, t.job, r, NULL);
}

static int rmdir_output(struct job *job)
{
	if (job->sink) {
		if (node_has_entries(job->sink))
			return -ENOTEMPTY;
		job_sink_drop(job);
		return 0;
	}
	if (job_output(job) && node_has_entries(job->output))
		return -ENOTEMPTY;
	return unlink_row(job, JOB_ROW_OUTPUT);
}

static int rmdir_job(fuse_req_t req, struct job *job)
{
	int r = node_has_entries(job->files) ? -ENOTEMPTY : job_remove(job);

	if (r < 0 && r != -ENOTEMPTY)
		return ops_refuse(req, r, job->meta.name,
				  "the job cannot be removed from %s: %s",
				  depot_dir(job->d->depot), strerror(-r));
	return r;
}

static int do_rmdir(fuse_req_t req, struct target *t)
{
	struct session *session =
		t->kind == T_FSD ? face_session(ops_fsd(req), t->place) : NULL;

	requests_begin(ops_fsd(req), 0);
	if (session) {
		session_end(session);
		return 0;
	}
	if (ops_sandbox_is(t))
		return ops_sandbox_rmdir(req, t);
	if (t->kind == T_JOB && notify_is_helper(ops_fsd(req),
						 fuse_req_ctx(req)->pid))
		return retain_take(take_ptr(t->job));
	if (t->kind == T_JOB)
		return rmdir_job(req, take_ptr(t->job));
	if (t->kind == T_ROW)
		return t->row == JOB_ROW_OUTPUT ? rmdir_output(t->job)
						: -ENOTDIR;
	if (t->kind == T_NODE)
		return t->node->is_dir ? unlink_node(t) : -ENOTDIR;
	return -EPERM;
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct target t = { 0 };
	int r;

	if (remote_rmdir(req, parent, name))
		return;
	ops_hold(req, parent, name);
	r = ops_find(req, parent, name, &t);
	if (r == 0)
		r = do_rmdir(req, &t);
	else if (r == -ENOENT && done_before(ops_fsd(req)))
		r = 0;
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		ops_reply_changed(req, t.job, r, NULL);
}

/* --- renaming ---------------------------------------------------------------------- */

static int rename_job(fuse_req_t req, struct job *job, const char *to)
{
	struct job *old = job_by_name(ops_fsd(req), to);
	struct name_claim claim;
	struct err err = { 0 };
	bool full;
	int r = job_name_check(to);

	if (r < 0)
		return refuse_name(req, to, r);
	if (old == job)
		return 0;
	if (job_is_frozen(job))
		return ops_refuse(req, -EBUSY, job->meta.name,
				  "the job is %s and cannot be renamed now",
				  state_name(job->meta.state));
	name_claim(job->d, &claim, to);
	r = check_free(req, to);
	if (r == 0)
		r = commit_precheck_submit(job, to, &err);
	full = r < 0 && err.text[0];
	if (r == 0)
		r = job_rename(job, to);
	name_release(&claim);
	if (full)
		return ops_refuse(req, r, to, "%s", err.text);
	if (r == 0) {
		job_log(job, "renamed to %s", to);
		commit_evaluate(job, false);
		r = commit_answer(job); /* though the name has changed */
	}
	return r;
}

/* rsync writes a temporary file and renames it: onto a virtual name, in a
 * draft, that is a copy without effect. */
static int rename_to_row(fuse_req_t req, struct target *from, unsigned row)
{
	struct job *job = from->job;

	if (from->kind == T_NODE && !from->node->is_dir &&
	    job_takes_copies(job)) {
		job->copied |= 1u << row;
		job_keep(job);
		return unlink_node(from);
	}
	return ops_refuse(req, -EPERM, job->meta.name,
			  "%s is a virtual file and cannot be replaced",
			  job_rows[row].name);
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

static int rename_node(fuse_req_t req, struct target *from,
		       const struct target *dir, const char *name,
		       unsigned flags)
{
	struct target source = { .kind = T_JOB, .job = from->job };
	struct node *to_dir = ops_dir_node(dir);
	struct job *old_job = from->job;
	struct quota_move move = { 0 };
	struct err err = { 0 };
	int r = ops_check_writable(req, dir, name);

	if (r == 0 && from->node->is_link)
		r = ops_check_link(req, dir, name, from->node);
	if (r == 0 && old_job != dir->job)
		r = ops_check_writable(req, &source, name);
	if (r == 0 && from->node->area == AREA_OUTPUT)
		r = -EXDEV; /* results stay: mv copies them */
	if (r == 0)
		r = check_replace(from, dir, name, flags);
	if (r < 0)
		return r;
	if (dir->kind == T_JOB && !strcmp(name, "config.json"))
		r = commit_precheck_config(dir->job, from->node, &err);
	if (r < 0)
		return ops_refuse(req, r, dir->job->meta.name, "%s", err.text);
	r = quota_move_begin(&move, from->node, to_dir, node_find(to_dir, name),
			     &err);
	if (r == -EDQUOT)
		return ops_refuse(req, r, dir->job->meta.name, "%s: %s", name,
				  err.text);
	if (r == 0)
		r = unstored_rename(from->node, dir->job, to_dir, name);
	if (r == 0)
		r = node_rename(from->node, to_dir, name);
	if (r == -ENAMETOOLONG)
		return ops_refuse(req, r, dir->job->meta.name,
				  "%s: a path in a job has at most %u names, "
				  "and one below it would have more", name,
				  LIMIT_DEPTH);
	if (r < 0)
		return r;
	quota_move_end(&move, from->node);
	unstored_renamed(old_job, dir->job);
	if (old_job != dir->job)
		ops_changed(old_job, NULL);
	ops_changed(dir->job, from->node->writers ? NULL : from->node);
	return commit_answer(dir->job);
}

/* What follows from what the server before has renamed, unless it had come to
 * that: then there is a run that was not there. */
static int renamed_before(struct target *found, struct target *to,
			  uint64_t run_before, struct job **ret_job)
{
	struct job *job = found->kind == T_JOB ? found->job : to->job;

	*ret_job = job;
	if (!job || job->meta.run > run_before)
		return 0;
	if (found->kind == T_JOB)
		commit_evaluate(job, false);
	if (found->kind == T_NODE)
		ops_changed(job, found->node->writers ? NULL : found->node);
	return commit_answer(job); /* as in rename_job() */
}

/* ret_job: whose state it may change. */
static int do_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		     fuse_ino_t newparent, const char *newname, unsigned flags,
		     struct job **ret_job)
{
	struct target dir, to = { 0 }, from;
	uint64_t run_before;
	unsigned row;
	int r = ops_target(req, parent, &dir);

	if (r == 0)
		r = ops_target(req, newparent, &to);
	if (r == 0)
		r = ops_child(req, &dir, name, &from);
	if (r == -ENOENT && to.kind == T_JOB && job_row_by_name(newname) &&
	    job_takes_copies(to.job) &&
	    requests_again(ops_fsd(req), &run_before))
		return 0; /* rename_to_row() has taken it */
	if (r == -ENOENT && requests_again(ops_fsd(req), &run_before) &&
	    ops_child(req, &to, newname, &from) == 0)
		return renamed_before(&from, &to, run_before, ret_job);
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
	/* EXDEV would have mv copy, and take half of the job apart. */
	if (from.kind == T_JOB)
		return ops_refuse(req, -EPERM, name,
				  "a job cannot be moved into another "
				  "directory; to take a name that a job has, "
				  "remove that one first");
	if (from.kind != T_NODE)
		return ops_refuse_at(req, parent, name, -EPERM,
				     "a virtual file cannot be renamed");
	if (!from.job)
		return -ENOENT; /* the tree that it is in is given up */
	if (to.kind == T_JOB && (row = job_row_by_name(newname)))
		return rename_to_row(req, &from, row);
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

	if (remote_rename(req, parent, name, newparent, newname, flags))
		return;
	ops_hold(req, parent, name);
	ops_hold(req, newparent, NULL);
	r = do_rename(req, parent, name, newparent, newname, flags, &job);
	if (job)
		commit_give_place(job);
	if (r < 0)
		ops_fail(req, newparent, newname, r);
	else
		ops_reply_renamed(req, job, r);
}
