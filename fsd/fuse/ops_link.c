/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symlink, readlink and link: symbolic links that stay inside their job, and no
 * hard links. All functions run on the loop, in a fiber.
 */
#include "ops.h"

#include <errno.h>
#include <string.h>

#include "fsd/mount/requests.h"
#include "ops_refusal.h"

#define LEADS_OUT "a link's target is relative and stays inside the job; this " \
		  "one leads outside. Copy the file in its place (cp -L, " \
		  "tar -h, rsync -L)"

/* Returns whether fsd itself reads such a file at the top of a job. */
static bool is_ours(const char *name)
{
	return code_kind(name) != CODE_NO || !strcmp(name, "config.json") ||
	       !strcmp(name, "stdin");
}

static int check(fuse_req_t req, const struct target *dir, const char *name,
		 const char *target)
{
	const struct node *parent = ops_dir_node(dir);

	if (parent->area == AREA_FILES && !parent->parent && is_ours(name))
		return ops_refuse(req, -EPERM, dir->job->meta.name,
				  "%s must be a file, not a link", name);
	if (!wire_link_ok(parent->depth, target))
		return ops_refuse(req, -EPERM, dir->job->meta.name,
				  "%s: " LEADS_OUT, name);
	return 0;
}

int ops_check_link(fuse_req_t req, const struct target *dir, const char *name,
		   const struct node *link)
{
	char target[LIMIT_PATH + 1];
	int r = node_read_link(link, target);

	if (r == -EPERM)
		return 0; /* the link leads outside already, and cannot be read */
	return r < 0 ? r : check(req, dir, name, target);
}

static int make_link(fuse_req_t req, const char *target, fuse_ino_t parent,
		     const char *name, struct target *t)
{
	struct fsd *d = ops_fsd(req);
	struct err err = { 0 };
	struct target dir;
	uint64_t before;
	int r = ops_target(req, parent, &dir);

	if (r < 0)
		return r;
	if (dir.kind == T_ROOT || (dir.kind == T_JOB && job_vfile_by_name(name)))
		return ops_refuse(req, -EPERM, name,
				  "a link cannot be made here");
	r = ops_check_writable(req, &dir, name);
	if (r == 0)
		r = check(req, &dir, name, target);
	if (r < 0)
		return r;
	*t = (struct target){ .kind = T_NODE, .job = dir.job };
	t->node = node_find(ops_dir_node(&dir), name);
	if (t->node)
		return t->node->is_link && requests_again(d, &before)
			       ? 0 : -EEXIST;
	r = quota_check_create(ops_dir_node(&dir), &err);
	if (r < 0)
		return ops_refuse(req, r, dir.job->meta.name, "%s: %s", name,
				  err.text);
	requests_begin(d, 0);
	r = node_make_link(ops_dir_node(&dir), name, target, &t->node);
	if (r < 0)
		return ops_refuse(req, r, dir.job->meta.name,
				  "%s cannot be made: %s", name, strerror(-r));
	quota_made(t->node);
	return 0;
}

void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent,
		const char *name)
{
	struct fuse_entry_param e;
	struct target t = { 0 };
	int r;

	ops_hold(req, parent, NULL);
	r = INO_CLASS(parent) == INO_GUEST
		    ? ops_refuse(req, -EPERM, name, "links cannot be made among "
				 "a session's files")
		    : make_link(req, link, parent, name, &t);
	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0) {
		ops_fail(req, parent, name, r);
		return;
	}
	fuse_reply_entry(req, &e);
	if (t.node->area == AREA_FILES)
		/* the job may have waited for this input */
		ops_changed(t.job, t.node);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[LIMIT_PATH + 1];
	struct target t;
	int r = ops_target(req, ino, &t);

	if (r == 0 && (t.kind != T_NODE || !t.node->is_link))
		r = -EINVAL;
	if (r == 0)
		r = node_read_link(t.node, target);
	if (r == -EPERM)
		ops_refuse(req, r, t.job ? t.job->meta.name : "?",
			   "%s: " LEADS_OUT, t.node->name);
	if (r < 0)
		ops_fail(req, ino, NULL, r);
	else
		fuse_reply_readlink(req, target);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
	     const char *name)
{
	(void)ino;
	ops_answer(req, ops_refuse_at(req, parent, name, -EPERM,
				      "hard links cannot be made here; copy the "
				      "file"));
}
