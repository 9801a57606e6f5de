/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves inode numbers to things (struct target) and back, locks jobs, and
 * computes attributes. Owns no state. All functions run on the loop, in a fiber
 * that may wait for the disk or for a job's lock.
 */
#include "fsd/mount/broker.h"
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fsd/control/control.h"
#include "fsd/control/control_ports.h"
#include "fsd/control/control_sandbox.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/removed_files.h"
#include "fsd/mount/inotify.h"
#include "fsd/users/users.h"
#include "fsd/living/sandboxes.h"
#include "fsd/store/store.h"
#include "ops_refusal.h"
#include "ops_guest.h"

struct fsd *ops_fsd(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

int ops_check_owner(fuse_req_t req, const struct job *job)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);

	/* The inotify helper may use only the job that it is watching: another
	 * job may have got the name. */
	if (inotify_is_helper(job->d, who->pid))
		return inotify_is_at(job, who->pid) ? 0 : -EACCES;
	return who->uid == job->meta.uid || who->uid == 0 ? 0 : -EACCES;
}

/* --- inode numbers ------------------------------------------------------ */

static int target_job(struct fsd *d, uint64_t rest, struct target *t)
{
	unsigned vfile = rest & 0xff;

	t->job = job_by_no(d, rest >> 8);
	if (!t->job)
		return -ESTALE;
	t->vfile = vfile;
	t->kind = vfile == 0 ? T_JOB : vfile >= JOB_VFILE_MAX ? T_SINK : T_VFILE;
	return 0;
}

static struct node *root_of(struct job *job, const struct node_record *kept)
{
	struct node *root;

	switch (kept->area) {
	case AREA_FILES:
		return job->files;
	case AREA_SINK:
		return job->results.sink;
	case AREA_REMOVED:
		return removed_files(job, &root) < 0 ? NULL : root;
	case AREA_OUTPUT:
		return job->meta.run == kept->run ? job_output(job) : NULL;
	default:
		return NULL;
	}
}

/* Restores a stored file by the number that a previous server gave it. -ESTALE:
 * it is gone. */
static int restore_node(struct fsd *d, fuse_ino_t ino, struct node **ret)
{
	const struct node_record *kept = nodes_inherited(d->nodes, ino);
	struct job *job = kept ? job_by_no(d, kept->job) : NULL;
	struct node *root = job ? root_of(job, kept) : NULL;
	int r = root ? node_adopt(root, ino, ret) : -ENOENT;

	if (r == -ENOENT) /* the file has no name; an open file may still use it */
		r = node_adopt_unlinked(d->nodes, ino, ret);
	if (r != -ENOENT)
		return r;
	nodes_gone(d->nodes, ino);
	return -ESTALE;
}

static int target_node(struct fsd *d, uint64_t ino, struct target *t)
{
	int r;

	t->node = node_by_ino(d->nodes, ino);
	r = t->node ? 0 : restore_node(d, ino, &t->node);
	if (r < 0)
		return r;
	t->kind = T_NODE;
	t->job = job_of_node(t->node);
	return 0;
}

int ops_resolve(struct fsd *d, fuse_ino_t ino, struct target *ret)
{
	*ret = (struct target){ .kind = T_ROOT };
	if (ino == FUSE_ROOT_ID)
		return 0;
	if (INO_CLASS(ino) == INO_JOB)
		return target_job(d, INO_REST(ino), ret);
	if (INO_CLASS(ino) != INO_FSD)
		return target_node(d, ino, ret);
	ret->kind = T_FSD;
	ret->entry = INO_REST(ino);
	return 0;
}

static int resolve(fuse_req_t req, fuse_ino_t ino, struct target *ret)
{
	int r = ops_resolve(ops_fsd(req), ino, ret);

	if (r == 0 && ret->kind == T_FSD)
		r = control_check(ops_fsd(req), fuse_req_ctx(req)->uid,
			       ret->entry);
	if (r == 0 && ret->job)
		r = ops_check_owner(req, ret->job);
	return r;
}

/* Prefetches the store directory of a job that no user has asked for since the
 * server's start. Return: true if it may have waited. */
static bool warm_up(struct job *job)
{
	if (!job->leftover.cold || !fiber_self())
		return false;
	job_hold(job);
	if (job->leftover.cold)
		store_prefetch(job->d->store, job->meta.no);
	leftover_seen(job);
	return true;
}

int ops_target(fuse_req_t req, fuse_ino_t ino, struct target *ret)
{
	int r;

	do {
		r = resolve(req, ino, ret);
	} while (ret->job &&
		 (fiber_lock_wait(&ret->job->lock) || (r == 0 && warm_up(ret->job))));
	return r;
}

struct job *ops_job_at(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct target t;

	if (ino == FUSE_ROOT_ID)
		return name ? job_by_name(ops_fsd(req), name) : NULL;
	return resolve(req, ino, &t) < 0 ? NULL : t.job;
}

void ops_hold(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct job *job, *held = NULL;

	/* After a wait the name may be another job's. Give the first lock back
	 * before waiting: two fibers could wait for each other. */
	while (fiber_self() && (job = ops_job_at(req, ino, name)) &&
	       ops_check_owner(req, job) == 0 &&
	       job->lock.owner != fiber_self()) {
		if (held) {
			fiber_lock_leave(&held->lock);
			job_unref(held);
		}
		job_hold(job);
		held = job;
	}
}

uint64_t ops_ino(const struct target *t)
{
	switch (t->kind) {
	case T_ROOT:
		return FUSE_ROOT_ID;
	case T_FSD:
		return INO_MAKE(INO_FSD, t->entry);
	case T_NODE:
		return t->node->ino;
	default:
		return INO_MAKE(INO_JOB, t->job->meta.no << 8 | t->vfile);
	}
}

struct node *ops_dir_node(const struct target *t)
{
	if (t->kind == T_NODE)
		return t->node->is_dir ? t->node : NULL;
	if (t->kind == T_JOB)
		return t->job->files;
	if (t->kind == T_VFILE && t->vfile == JOB_VFILE_OUTPUT)
		return t->job->results.sink ? t->job->results.sink : job_output(t->job);
	return NULL;
}

static int child_of_root(fuse_req_t req, const char *name, struct target *t)
{
	if (!strcmp(name, FSD_DIR_NAME)) {
		t->kind = T_FSD;
		return 0;
	}
	t->kind = T_JOB;
	do {
		t->job = job_by_name(ops_fsd(req), name);
		/* Check the owner before waiting: a wait would show other users
		 * that it exists. */
		if (!t->job || ops_check_owner(req, t->job) < 0)
			return -ENOENT;
	} while (fiber_lock_wait(&t->job->lock));
	return 0;
}

static int child_vfile(fuse_req_t req, const struct job *job, unsigned vfile)
{
	switch (inotify_sight(job, vfile, fuse_req_ctx(req)->pid)) {
	case INOTIFY_HIDDEN:
		return -ENOENT;
	case INOTIFY_SHOWN:
		return 0;
	default:
		return job_has_vfile(job, vfile) ? 0 : -ENOENT;
	}
}

/* Return: true if name is the directory with the ports of the job dir. A job without
 * ports may have a directory of that name itself. */
static bool child_ports(fuse_req_t req, const struct target *dir, const char *name,
			struct target *t)
{
	if (dir->kind != T_JOB || strcmp(name, CONTROL_PORTS) != 0 ||
	    control_ports_dir(ops_fsd(req), PORT_OF_JOB, dir->job->meta.no,
			      &t->entry) < 0)
		return false;
	t->kind = T_FSD;
	return true;
}

static int child_of_node(fuse_req_t req, const struct target *dir,
			 const char *name, struct target *t)
{
	struct node *node = ops_dir_node(dir);

	t->job = dir->job;
	if (t->job && t->job->removed)
		return -ENOENT;
	if (dir->kind == T_JOB) {
		t->vfile = job_vfile_by_name(name);
		t->kind = T_VFILE;
		if (t->vfile)
			return child_vfile(req, t->job, t->vfile);
	}
	if (!node)
		return dir->kind == T_VFILE && dir->vfile == JOB_VFILE_OUTPUT
			       ? -ENOENT
			       : -ENOTDIR;
	t->kind = T_NODE;
	t->node = node_find(node, name);
	return t->node ? 0 : node->loaded ? -ENOENT : -EIO;
}

/* Refuses a name that is too long. A caller that wants to create it looks it up
 * first, and gets the sentence here. */
static int too_long(fuse_req_t req, const struct target *dir, const char *name)
{
	if (dir->job)
		return ops_check_file_name(req, dir->job->meta.name, name);
	return ops_refuse(req, -ENAMETOOLONG, "?",
			  "a job's name is 1 to 200 bytes");
}

int ops_child(fuse_req_t req, const struct target *dir, const char *name,
	      struct target *ret)
{
	*ret = (struct target){ 0 };
	if (strlen(name) > LIMIT_FILE_NAME)
		return too_long(req, dir, name);
	if (dir->kind == T_ROOT)
		return child_of_root(req, name, ret);
	if (dir->kind == T_FSD) {
		ret->kind = T_FSD;
		return control_find(ops_fsd(req), fuse_req_ctx(req)->uid,
				 dir->entry, name, &ret->entry);
	}
	return child_ports(req, dir, name, ret) ? 0
						: child_of_node(req, dir, name, ret);
}

int ops_find(fuse_req_t req, fuse_ino_t parent, const char *name,
	     struct target *ret)
{
	struct target dir;
	int r = ops_target(req, parent, &dir);

	return r < 0 ? r : ops_child(req, &dir, name, ret);
}

/* --- attributes --------------------------------------------------------------- */

static void set_times(struct stat *st, uint64_t ns)
{
	st->st_mtim.tv_sec = (time_t)(ns / NS_PER_S);
	st->st_mtim.tv_nsec = (long)(ns % NS_PER_S);
	st->st_atim = st->st_ctim = st->st_mtim;
}

static void stat_vfile(const struct target *t, struct stat *st)
{
	const struct job_meta *m = &t->job->meta;
	mode_t mode = t->vfile == VFILE_SINK_FILE ? S_IFREG | 0644
		      : t->vfile ? job_vfiles[t->vfile].mode
			       : S_IFDIR | 0777;

	st->st_mode = mode & (S_IFMT | m->mode);
	st->st_uid = m->uid;
	st->st_gid = m->gid;
	st->st_nlink = t->job->removed ? 0 : S_ISDIR(mode) ? 2 : 1;
	set_times(st, m->changed_ns);
	if (t->kind == T_VFILE && t->job->removed)
		st->st_size = ops_handle_size(t->job, t->vfile);
	else if (t->kind == T_VFILE)
		ops_stat_vfile(t->job, t->vfile, st);
	st->st_blocks = (st->st_size + 511) / 512;
}

static int stat_node(fuse_req_t req, const struct target *t, struct stat *st)
{
	int r = node_stat(t->node, st);

	if (r < 0)
		return r;
	st->st_uid = t->job ? t->job->meta.uid : fuse_req_ctx(req)->uid;
	st->st_gid = t->job ? t->job->meta.gid : fuse_req_ctx(req)->gid;
	st->st_nlink = t->node->unlinked || t->node->area == AREA_REMOVED
			       ? 0 : t->node->is_dir ? 2 : 1;
	return 0;
}

static uint64_t control_time(fuse_req_t req, const struct target *t)
{
	struct fsd *d = ops_fsd(req);
	struct times seen = user_times(d->users, fuse_req_ctx(req)->uid);

	if (t->kind == T_ROOT)
		return seen.listed_ns;
	return control_is_fixed(t->entry) ? users_started_ns(d->users)
				       : seen.changed_ns;
}

int ops_stat(fuse_req_t req, const struct target *t, struct stat *ret)
{
	struct fsd *d = ops_fsd(req);
	const struct sandbox *owner;
	const struct ports *ports;
	struct buf text = { 0 };
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->st_blksize = 4096;
	if (t->kind == T_NODE) {
		r = stat_node(req, t, ret);
	} else if (t->job) {
		stat_vfile(t, ret);
	} else {
		ret->st_mode = t->kind == T_ROOT ? S_IFDIR | 0755
						 : control_mode(t->entry);
		if (t->kind == T_ROOT && d->options->allow_other)
			ret->st_mode |= 01777;
		ret->st_nlink = S_ISDIR(ret->st_mode) ? 2 : 1;
		ret->st_uid = geteuid();
		ret->st_gid = getegid();
		owner = t->kind == T_FSD ? control_sandbox(d, t->entry) : NULL;
		if (owner) {
			ret->st_uid = sandbox_uid(owner);
			ret->st_gid = sandbox_gid(owner);
		}
		ports = t->kind == T_FSD ? control_ports(d, t->entry) : NULL;
		if (ports) {
			ret->st_uid = ports_uid(ports);
			ret->st_gid = ports_gid(ports);
		}
		if (t->kind == T_FSD && !control_is_dir(t->entry) &&
		    control_text(d, t->entry, fuse_req_ctx(req)->uid, &text) == 0)
			ret->st_size = (off_t)text.len;
		buf_done(&text);
		set_times(ret, owner ? sandbox_made_ns(owner)
				     : control_time(req, t));
	}
	ret->st_ino = ops_ino(t);
	return r;
}

/*
 * The kernel may cache what changes only by its requests: the names of jobs
 * (unless they may be removed by time), and names and attributes of users'
 * files. Virtual files and results appear without a request; each open asks for
 * them again, so their attributes may be cached once they are final.
 */
#define REMEMBER_S 3600.0
#define REMEMBER_FINAL_S 1.0

static bool is_users_own(const struct target *t)
{
	return t->kind == T_JOB ||
	       (t->kind == T_NODE && t->node->area == AREA_FILES);
}

static bool is_final(const struct target *t)
{
	if (t->kind == T_NODE)
		return t->node->area == AREA_OUTPUT;
	if (t->kind != T_VFILE)
		return false;
	switch (job_vfiles[t->vfile].kind) {
	case VFILE_FOLLOW:
	case VFILE_WAIT: /* these files have no size */
		return true;
	default:
		return job_vfiles[t->vfile].result &&
		       t->job->meta.state == JOB_DONE;
	}
}

double ops_attr_timeout(fuse_req_t req, const struct target *t)
{
	/* Other users may use the mount, so the owner must be checked for each
	 * of them. */
	if (ops_fsd(req)->options->allow_other)
		return 0.0;
	if (t->kind == T_NODE && t->node->area == AREA_FILES)
		return REMEMBER_S;
	return is_final(t) ? REMEMBER_FINAL_S : 0.0;
}

int ops_entry(fuse_req_t req, const struct target *t,
	      struct fuse_entry_param *ret)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = ops_stat(req, t, &ret->attr);
	if (r < 0)
		return r;
	ret->ino = ops_ino(t);
	ret->generation = 1;
	if (is_users_own(t) && !ops_fsd(req)->options->allow_other &&
	    !(t->kind == T_JOB && retain_may_go(t->job)))
		ret->entry_timeout = REMEMBER_S;
	ret->attr_timeout = ops_attr_timeout(req, t);
	if (t->kind == T_NODE)
		node_lookup_add(t->node);
	return 0;
}
