/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of FUSE operations, and lookup, forget and getattr, which change
 * nothing. A lookup of a name has three exceptions, for tools that copy a whole
 * job into a draft and for callers that remove a file: see find(). All functions
 * run on the loop, in a fiber.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fsd/mount/broker.h"
#include "ops.h"
#include "ops_refusal.h"
#include "ops_guest.h"

#define CALL_UNKNOWN (~0ull) /* the caller's system call is not known */

/*
 * Returns whether the caller is in open(O_CREAT | O_EXCL). cp -r opens like
 * that in a directory that it has just made. If the lookup found the name, the
 * kernel would return EEXIST without asking us.
 */
static bool is_exclusive_create(const unsigned long long *call)
{
	unsigned long long flags = call[call[0] == SYS_open ? 2 : 3];

	return (call[0] == SYS_open || call[0] == SYS_openat) &&
	       (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

static bool sets_attributes(const unsigned long long *call)
{
	static const unsigned long long calls[] = {
		SYS_utimensat, SYS_utime, SYS_utimes, SYS_futimesat,
		SYS_chmod, SYS_fchmodat, SYS_chown, SYS_lchown, SYS_fchownat,
	};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		found |= call[0] == calls[i];
	return found;
}

/* Returns whether cp may write over t: a copy of a finished job brings its own state,
 * error, log and ctl. */
static bool may_be_copied(const struct target *t)
{
	return t->kind == T_VFILE && job_vfiles[t->vfile].kind != VFILE_DIR &&
	       job_takes_copies(t->job);
}

/* Returns true if the caller removes a virtual file that the previous attempt of the job
 * showed, and that this one does not have: the caller may have listed it before.
 * CALL_UNKNOWN counts as a removal. */
static bool may_be_removed(const struct target *t,
			   const unsigned long long *call)
{
	bool removes = call[0] == SYS_unlink || call[0] == SYS_unlinkat ||
		       call[0] == CALL_UNKNOWN;

	return removes && t->kind == T_VFILE && job_had_vfile(t->job, t->vfile);
}

/* Finds a copied result, which is not visible. Return: whether it is one; then
 * *ret is set. */
static bool find_copy(fuse_req_t req, fuse_ino_t parent, const char *name,
		      struct target *ret)
{
	struct target dir;

	if (ops_target(req, parent, &dir) < 0 || dir.kind != T_JOB ||
	    !(dir.job->results.copied & 1u << job_vfile_by_name(name)) ||
	    !job_takes_copies(dir.job))
		return false;
	*ret = (struct target){ .kind = T_SINK, .job = dir.job,
				.vfile = VFILE_SINK_FILE };
	return true;
}

/*
 * Like ops_find(), with three exceptions. For tools that copy a whole job into
 * a draft: an existing virtual file is not found by an exclusive create; and a
 * copied result, of which no data is stored, is found when its times or mode
 * are set by name (unzip, Python's copytree). For a caller that removes a
 * virtual file: one that has just disappeared is found.
 */
static int find(fuse_req_t req, fuse_ino_t parent, const char *name,
		struct target *t)
{
	unsigned long long call[BROKER_CALL_WORDS];
	struct target copy;
	int r;

	*t = (struct target){ 0 };
	r = ops_find(req, parent, name, t);
	call[0] = CALL_UNKNOWN;
	if (r == 0 ? !may_be_copied(t)
		   : r != -ENOENT || (!may_be_removed(t, call) &&
				      !find_copy(req, parent, name, &copy)))
		return r;
	/* CALL_UNKNOWN: only the exception for a removal applies */
	if (broker_call(ops_fsd(req)->broker, fuse_req_ctx(req)->pid, call) < 0)
		call[0] = CALL_UNKNOWN;
	/* again: broker_call() may have waited */
	r = ops_find(req, parent, name, t);
	if (r == 0 && may_be_copied(t) && is_exclusive_create(call))
		return -ENOENT; /* the caller will create it */
	if (r == -ENOENT && may_be_removed(t, call))
		return 0;
	if (r == -ENOENT && sets_attributes(call) &&
	    find_copy(req, parent, name, t))
		return 0;
	return r;
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	struct target t;
	int r;

	if (guest_lookup(req, parent, name))
		return;
	ops_load(req, parent);
	r = find(req, parent, name, &t);
	if (r == -ESTALE)
		r = -ENOENT; /* the directory was removed meanwhile */
	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		fuse_reply_entry(req, &e);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct node *node;

	if (guest_forgot(req, ino, nlookup))
		return;
	if (INO_CLASS(ino) >= INO_NODE) {
		node = node_by_ino(ops_fsd(req)->nodes, ino);
		if (node)
			node_forget(node, nlookup);
		else
			nodes_forget(ops_fsd(req)->nodes, ino, nlookup);
	}
	fuse_reply_none(req);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct target t;
	struct stat st;
	int r;

	(void)fi;
	if (guest_getattr(req, ino))
		return;
	r = ops_target(req, ino, &t);
	if (r == 0)
		r = ops_stat(req, &t, &st);
	/*
	 * On ESTALE the kernel looks the name up again and may find a new file
	 * there. A directory's inode number is not replaced like that, so
	 * return ENOENT.
	 */
	if (r == -ESTALE && t.kind == T_NODE && t.node->is_dir)
		r = -ENOENT;
	if (r < 0)
		ops_fail(req, ino, NULL, r);
	else
		fuse_reply_attr(req, &st, ops_attr_timeout(req, &t));
}

const struct fuse_lowlevel_ops fsd_ops = {
	.lookup = op_lookup,
	.forget = op_forget,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.mkdir = op_mkdir,
	.mknod = op_mknod,
	.symlink = op_symlink,
	.readlink = op_readlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.access = op_access,
	.create = op_create,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.fsync = op_fsync,
	.release = op_release,
	.poll = op_poll,
};
