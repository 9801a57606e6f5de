/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setattr and access: modes, times, sizes, and the rights that a mode gives.
 * All functions run on the loop, in a fiber.
 */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/jobs/job_state.h"
#include "fsd/store/store_io.h"
#include "fsd/control/control.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"
#include "fsd/jobs/unsynced_inputs.h"

/*
 * Checks a chown. All files of a job belong to its owner. A chown to the
 * present owner is permitted: cp -a and tar make one. If root runs them they set
 * the source's owner, who may be another user. So a chown by root is accepted
 * without effect, or they would fail.
 */
static int check_chown(fuse_req_t req, const struct target *t,
		       const struct stat *attr, int to_set)
{
	if (!t->job)
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_UID) && fuse_req_ctx(req)->uid != 0 &&
	    attr->st_uid != t->job->meta.uid)
		return ops_refuse(req, -EPERM, t->job->meta.name,
				  "a job cannot be given to another user");
	return 0;
}

static int truncate_node(struct fsd *d, const struct target *t, off_t size)
{
	auto_close int fd = node_open(t->node, O_WRONLY);
	int r;

	if (fd < 0)
		return fd;
	r = call_truncate(d->store, fd, size);
	node_changed(t->node);
	if (r == 0)
		ops_changed(t->job, t->node);
	return r;
}

static int set_size(fuse_req_t req, const struct target *t, off_t size,
		    struct fuse_file_info *fi)
{
	struct err err = { 0 };
	int r;

	if (t->kind != T_NODE)
		return 0; /* truncating ctl or a copied result */
	if (t->node->area == AREA_OUTPUT)
		return ops_refuse_at(req, ops_ino(t), NULL, -EPERM,
				     "results cannot be changed");
	if (t->job && ops_is_frozen(t->job, t->node->name))
		return ops_refuse_frozen(req, t->job, t->node->name, false);
	r = quota_resize(t->node, (uint64_t)size, &err);
	if (r < 0)
		return ops_refuse(req, r, t->job ? t->job->meta.name : "",
				  "%s: %s", t->node->name, err.text);
	r = fi ? ops_handle_truncate(req, fi, size)
	       : truncate_node(ops_fsd(req), t, size);
	quota_settle(t->node);
	if (r == 0 && !size)
		unsynced_cut(t->node);
	return r;
}

static int set_times_of(const struct target *t, const struct stat *attr,
			int to_set)
{
	struct timespec times[2] = { attr->st_atim, attr->st_mtim };

	if (t->kind != T_NODE)
		return 0;
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	else if (!(to_set & FUSE_SET_ATTR_ATIME))
		times[0].tv_nsec = UTIME_OMIT;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	else if (!(to_set & FUSE_SET_ATTR_MTIME))
		times[1].tv_nsec = UTIME_OMIT;
	return node_utimens(t->node, times);
}

int ops_record_hold(fuse_req_t req, struct job *job)
{
	int r = job_set_held(job);

	return r < 0 ? ops_refuse(req, r, job->meta.name,
				  "that it is held cannot be stored: %s",
				  strerror(-r))
		     : 0;
}

static int set_mode(const struct target *t, mode_t mode)
{
	if (t->kind == T_NODE)
		return node_chmod(t->node, mode);
	if (t->kind != T_JOB)
		return 0;
	return job_set_mode(t->job, (mode & 0777) | 0700);
}

static int change(fuse_req_t req, const struct target *t,
		  const struct stat *attr, int to_set,
		  struct fuse_file_info *fi)
{
	int r = 0;

	if (ops_sandbox_is(t))
		return ops_sandbox_setattr(req, t, attr, to_set, fi);
	if (t->kind == T_ROOT || (t->kind == T_FSD && control_is_dir(t->entry)))
		return -EPERM;
	if (t->kind == T_FSD)
		return to_set & FUSE_SET_ATTR_SIZE ? 0 : -EPERM;
	if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		r = check_chown(req, t, attr, to_set);
	if (r == 0 && (to_set & FUSE_SET_ATTR_MODE))
		r = set_mode(t, attr->st_mode);
	if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE))
		r = set_size(req, t, attr->st_size, fi);
	if (r == 0 && (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)))
		r = set_times_of(t, attr, to_set);
	return r;
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	struct target t;
	struct stat st;
	int r;

	if (guest_setattr(req, ino, attr, to_set))
		return;
	ops_hold(req, ino, NULL);
	r = ops_target(req, ino, &t);
	if (r == 0)
		r = change(req, &t, attr, to_set, fi);
	if (r == 0)
		r = ops_stat(req, &t, &st);
	if (r < 0)
		ops_fail(req, ino, NULL, r);
	else
		ops_reply_changed(req, t.job, r, &st);
}

/*
 * Handles access(2); without it the kernel would take every file as executable.
 * Whether it may be written is left to open(): rm asks about each file that
 * seems not writable.
 */
void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct target t;
	struct stat st;
	int r;

	if (guest_access(req, ino, mask))
		return;
	r = ops_target(req, ino, &t);
	if (r == 0 && (mask & X_OK)) {
		r = ops_stat(req, &t, &st);
		if (r == 0 && !S_ISDIR(st.st_mode) && !(st.st_mode & 0111))
			r = -EACCES;
	}
	ops_answer(req, r); /* a question, so no sentence */
}
