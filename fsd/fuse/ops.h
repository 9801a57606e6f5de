/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FUSE operations. Each decodes its request, calls files/, jobs/, submit/
 * or control/, which know no FUSE, and replies exactly once. Shared by ops*.c;
 * server/serve.c passes fsd_ops to the mount. All functions run on the loop, in
 * a fiber that may wait.
 */
#ifndef FSD_OPS_H
#define FSD_OPS_H

#include "fsd/jobs/job.h"
#include "fsd/mount/library.h"

extern const struct fuse_lowlevel_ops fsd_ops;

/* The kinds of things that an inode number can stand for. */
enum target_kind {
	T_ROOT,
	T_FSD, /* .fsd and below; uses `entry` */
	T_JOB, /* a job's directory; uses `job` */
	T_VFILE, /* a virtual file of a job; uses `job` and `vfile` */
	/* copy of a result into a draft: accepted without effect; `job`,
	 * `vfile` */
	T_SINK,
	T_NODE, /* a stored file or directory; uses `node` and `job` */
};

/* A copied result in a draft, as vfile of T_SINK: no virtual file has this index. */
enum { VFILE_SINK_FILE = 0xff };

struct target {
	enum target_kind kind;
	struct job *job;
	unsigned vfile;
	uint64_t entry;
	struct node *node;
};

/* ops_check_owner(): returns 0, or -EACCES if the job is not the caller's. */
struct fsd *ops_fsd(fuse_req_t req);
int ops_check_owner(fuse_req_t req, const struct job *job);
/* Resolves ino and checks the owner; waits until no other fiber changes the
 * job. Return: 0, -ESTALE or -EACCES. */
int ops_target(fuse_req_t req, fuse_ino_t ino, struct target *ret);
/* Resolves ino without checking an owner. */
int ops_resolve(struct fsd *d, fuse_ino_t ino, struct target *ret);
/*
 * Locks a job for an operation that changes it, until the operation's end. ino:
 * something in the job; or the root, then it is the job `name` if name is not
 * NULL. The operation must resolve its target again afterwards.
 */
void ops_hold(fuse_req_t req, fuse_ino_t ino, const char *name);
/* Returns the job of that entry, or NULL. */
struct job *ops_job_at(fuse_req_t req, fuse_ino_t ino, const char *name);
/* Finds the entry `name` of a directory: T_ROOT, T_FSD, T_JOB, T_NODE or
 * output/. Return: 0, -ENOENT, -ENOTDIR, -EACCES, -ENAMETOOLONG. */
int ops_child(fuse_req_t req, const struct target *dir, const char *name,
	      struct target *ret);
/* ops_target() and ops_child() in one: the entry `name` of the directory with
 * inode number parent. */
int ops_find(fuse_req_t req, fuse_ino_t parent, const char *name,
	     struct target *ret);
/* Returns the stored directory behind a target (files/, output/ or one below),
 * or NULL if it has none. */
struct node *ops_dir_node(const struct target *t);
uint64_t ops_ino(const struct target *t);
/* Return: 0 or negative errno. */
int ops_stat(fuse_req_t req, const struct target *t, struct stat *ret);
/* Returns for how many seconds the kernel may cache ops_stat(). */
double ops_attr_timeout(fuse_req_t req, const struct target *t);
/* Fills in *ret for fuse_reply_entry() or fuse_reply_create(), and counts a
 * lookup. */
int ops_entry(fuse_req_t req, const struct target *t,
	      struct fuse_entry_param *ret);

/* Sets the size and the times of a virtual file in st, as far as they are known. The
 * caller has set the time of the job's last change there. */
void ops_stat_vfile(struct job *job, unsigned vfile, struct stat *st);
/* Returns 0, or file_name_check()'s error after setting last_error. dir: for
 * the sentence. */
int ops_check_file_name(fuse_req_t req, const char *dir, const char *name);
/* Returns 0; or -EBUSY or -EPERM, after setting last_error, if dir may not be
 * changed. */
int ops_check_writable(fuse_req_t req, const struct target *dir,
		       const char *name);
/* Returns whether a file of that name may not be written now. An editor's swap
 * file may, even while the job runs. */
static inline bool ops_is_frozen(const struct job *job, const char *name)
{
	return job_is_frozen(job) && !file_is_swap(name);
}
/* Like ops_check_writable(), for a file that is made and written. */
int ops_check_file(fuse_req_t req, const struct target *dir, const char *name);
/* ops_link.c: checks whether dir/name may be this link. Return: 0, or negative
 * errno after setting last_error. */
int ops_check_link(fuse_req_t req, const struct target *dir, const char *name,
		   const struct node *link);
/* Sets .fsd/last_error and returns code. */
int ops_refuse(fuse_req_t req, int code, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Call it when a part of the job is about to change, or was just made empty. */
void ops_touched(struct job *job);
/* Call it when an input has changed. node: it is complete now; NULL: it is not,
 * or it was removed. */
void ops_changed(struct job *job, const struct node *node);

/*
 * Ends an operation that may have changed the job's state: replies with -r (r 0
 * and st: with attributes) once the job was examined. That is at once, except
 * with a large config. job may be NULL.
 */
void ops_reply_changed(fuse_req_t req, struct job *job, int r,
		       const struct stat *st);
/*
 * Waits until the job (NULL: none) was examined, if a large config or many
 * files have delayed that. Return: true if it waited. Then it holds no lock any
 * more, and the tree may have changed.
 */
bool ops_await_settled(struct job *job);

/* ops_dir.c: sets last_error for a name for which job_name_check() returned r.
 * Return: r. */
int ops_refuse_job_name(fuse_req_t req, const char *name, int r);
/* ops_dir.c: checks whether a job may get that name. Return: 0, -EEXIST or
 * -EACCES. */
int ops_check_free(fuse_req_t req, const char *name);
/* ops_dir.c: removes the node of t. */
int ops_unlink_node(struct target *t);

/* ops_list.c: loads the entries of the directory ino, if possible. */
void ops_load(fuse_req_t req, fuse_ino_t ino);

/* The operations, by file. */
void op_lookup(fuse_req_t, fuse_ino_t, const char *);
void op_forget(fuse_req_t, fuse_ino_t, uint64_t);
void op_getattr(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_setattr(fuse_req_t, fuse_ino_t, struct stat *, int,
		struct fuse_file_info *);
void op_statfs(fuse_req_t, fuse_ino_t);
void op_getxattr(fuse_req_t, fuse_ino_t, const char *, size_t);
void op_listxattr(fuse_req_t, fuse_ino_t, size_t);

void op_mkdir(fuse_req_t, fuse_ino_t, const char *, mode_t);
void op_mknod(fuse_req_t, fuse_ino_t, const char *, mode_t, dev_t);
void op_symlink(fuse_req_t, const char *, fuse_ino_t, const char *);
void op_readlink(fuse_req_t, fuse_ino_t);
void op_link(fuse_req_t, fuse_ino_t, fuse_ino_t, const char *);
void op_unlink(fuse_req_t, fuse_ino_t, const char *);
void op_rmdir(fuse_req_t, fuse_ino_t, const char *);
void op_rename(fuse_req_t, fuse_ino_t, const char *, fuse_ino_t, const char *,
	       unsigned);
void op_opendir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_readdir(fuse_req_t, fuse_ino_t, size_t, off_t,
		struct fuse_file_info *);
void op_releasedir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);

void op_create(fuse_req_t, fuse_ino_t, const char *, mode_t,
	       struct fuse_file_info *);
void op_access(fuse_req_t, fuse_ino_t, int);
void op_open(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_read(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_write(fuse_req_t, fuse_ino_t, const char *, size_t, off_t,
	      struct fuse_file_info *);
void op_flush(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_fsync(fuse_req_t, fuse_ino_t, int, struct fuse_file_info *);
void op_release(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_poll(fuse_req_t, fuse_ino_t, struct fuse_file_info *,
	     struct fuse_pollhandle *);

/* ops_file.c: truncates an open file, for setattr. */
int ops_handle_truncate(fuse_req_t req, struct fuse_file_info *fi, off_t size);

/* ops_vfile.c: returns the size of a virtual file of a removed job, from an
 * open file on it. */
off_t ops_handle_size(const struct job *job, unsigned vfile);
/* ops_handle.c, ops_list.c: free the open files and the listings that are left at
 * the server's end. */
void ops_handles_free(struct fsd *d);
void ops_listings_free(struct fsd *d);

/* ops_restore.c: restores the files that were open when the previous server was
 * killed. */
void ops_restore(struct fsd *d);
/* Wakes every poll of a file that the previous server had open. */
void ops_wake_polls(struct fsd *d);

#endif
