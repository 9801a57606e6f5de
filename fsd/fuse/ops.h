/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FUSE face. Each operation decodes its request, calls into node, job,
 * commit or face, which know no FUSE, and replies exactly once. Shared by
 * ops*.c; server/serve.c gives fsd_ops to the mount.
 */
#ifndef FSD_OPS_H
#define FSD_OPS_H

#include "fsd/jobs/job.h"
#include "fsd/mount/library.h"

extern const struct fuse_lowlevel_ops fsd_ops;

/* What an inode number stands for. */
enum target_kind {
	T_ROOT,
	T_FSD,  /* .fsd and below; place */
	T_JOB,  /* a job's directory; job */
	T_VFILE, /* a virtual file of a job; job, row */
	T_SINK, /* a result's copy in a draft: accepted, no effect; job, row */
	T_NODE, /* a stored file or directory; node, job */
};

/* A row above the job table's, for copies of results in a draft. */
enum { VFILE_SINK_FILE = 0xff };

struct target {
	enum target_kind kind;
	struct job *job;
	unsigned vfile;
	uint64_t entry;
	struct node *node;
};

/* Who asks, and whether the job is theirs. -EACCES if not. */
struct fsd *ops_fsd(fuse_req_t req);
int ops_check_owner(fuse_req_t req, const struct job *job);
/* Resolves ino and checks the owner, when nobody else is changing the job.
 * Return: 0, -ESTALE or -EACCES. */
int ops_target(fuse_req_t req, fuse_ino_t ino, struct target *ret);
/* The same for nobody in particular. */
int ops_resolve(struct fsd *d, fuse_ino_t ino, struct target *ret);
/*
 * For an operation that changes a job: holds it (lane.h) until its end. ino is
 * of something in the job, or the root; then it is the job of that name, if
 * name is not NULL. To know is the operation's: it looks again.
 */
void ops_hold(fuse_req_t req, fuse_ino_t ino, const char *name);
/* That job, or NULL. */
struct job *ops_job_at(fuse_req_t req, fuse_ino_t ino, const char *name);
/* The entry `name` of a directory; T_ROOT, T_FSD, T_JOB, T_NODE, output/.
 * Return: 0, -ENOENT, -ENOTDIR, -EACCES, -ENAMETOOLONG. */
int ops_child(fuse_req_t req, const struct target *dir, const char *name,
	      struct target *ret);
/* Both: the entry `name` of the directory with number parent. */
int ops_find(fuse_req_t req, fuse_ino_t parent, const char *name,
	     struct target *ret);
/* The stored directory behind a target (files/, output/ or one below), or
 * NULL if it has none. */
struct node *ops_dir_node(const struct target *t);
uint64_t ops_ino(const struct target *t);
/* Return: 0 or negative errno. */
int ops_stat(fuse_req_t req, const struct target *t, struct stat *ret);
/* For how many seconds the kernel may keep the answer of ops_stat(). */
double ops_attr_timeout(fuse_req_t req, const struct target *t);
/* Fills and counts a lookup for replying with fuse_reply_entry/create. */
int ops_entry(fuse_req_t req, const struct target *t,
	      struct fuse_entry_param *ret);

/* Adds what it knows to st, which has the time of the job's last change. */
void ops_stat_vfile(struct job *job, unsigned vfile, struct stat *st);
/* 0, or file_name_check()'s error with last_error told of dir. */
int ops_check_file_name(fuse_req_t req, const char *dir, const char *name);
/* 0, or -EBUSY / -EPERM with last_error told, if dir may not be changed. */
int ops_check_writable(fuse_req_t req, const struct target *dir,
		       const char *name);
/* Is a file of that name not to be written now? An editor's swap file may be, while
 * the job runs. */
static inline bool ops_is_frozen(const struct job *job, const char *name)
{
	return job_is_frozen(job) && !file_is_swap(name);
}
/* As ops_check_writable(), of a file that is made and written. */
int ops_check_file(fuse_req_t req, const struct target *dir, const char *name);
/* ops_link.c: may a link, or one that is moved there, be dir/name? Return: 0,
 * negative errno with last_error told. */
int ops_check_link(fuse_req_t req, const struct target *dir, const char *name,
		   const struct node *link);
/* Sets .fsd/last_error and returns code. */
int ops_refuse(fuse_req_t req, int code, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Something of it is about to change, or is there and empty. */
void ops_touched(struct job *job);
/* An input changed for good; node: it is complete now, NULL: it is not, or it
 * is gone. */
void ops_changed(struct job *job, const struct node *node);

/*
 * For the end of an operation that may have changed what job is: answers with
 * -r (st and 0: with attributes) once the job has been looked at, which is at
 * once but for a large config. job may be NULL.
 */
void ops_reply_changed(fuse_req_t req, struct job *job, int r,
		       const struct stat *st);
/*
 * True if this fiber has waited until the job (NULL: none) was looked at, which
 * a large config or many files had put off. Then it holds no job any more, and
 * what it knew of the tree may have changed.
 */
bool ops_await_settled(struct job *job);

/* ops_dir.c: of a name that job_name_check() gave r. Return: r. */
int ops_refuse_job_name(fuse_req_t req, const char *name, int r);
/* ops_dir.c: may a job have that name? Return: 0, -EEXIST or -EACCES. */
int ops_check_free(fuse_req_t req, const char *name);
/* ops_dir.c: t is of a node. */
int ops_unlink_node(struct target *t);

/* ops_list.c: knows the entries of the directory ino afterwards, if it can. */
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

/* ops_file.c: a handle's truncation, for setattr. */
int ops_handle_truncate(fuse_req_t req, struct fuse_file_info *fi, off_t size);

/* ops_vfile.c: the size of a row of a removed job, by a handle on it. */
off_t ops_handle_size(const struct job *job, unsigned vfile);
/* ops_open.c: at the very end. */
void ops_handles_free(struct fsd *d);
void ops_listings_free(struct fsd *d);

/* ops_restore.c: the files that were open when the previous server was killed. */
void ops_restore(struct fsd *d);

#endif
