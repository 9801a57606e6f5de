/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the removed inputs of a job's submission. A rename moves each file, so after a
 * kill or a crash it is in one of the two places. Their directory is searched once for a
 * submission. It may have a directory that the user has not removed: the parent of a
 * removed file.
 */
#include "removed_files.h"

#include <errno.h>
#include <string.h>

int removed_files(struct job *job, struct node **ret)
{
	struct job_removed *r = &job->removed_files;

	*ret = NULL;
	if (!job_is_frozen(job))
		return 0;
	if (r->no != job->meta.queued_no) {
		errno = 0;
		r->root = node_root_new(&job->file_owner, AREA_REMOVED, 0, false);
		if (!r->root && errno != ENOENT)
			return errno ? -errno : -ENOMEM;
		r->no = job->meta.queued_no;
	}
	*ret = r->root;
	return r->root ? node_load(r->root) : 0;
}

static int make_root(struct job *job)
{
	const struct job_meta *m = &job->meta;
	int r = store_removed_make(job->d->store, m->no, m->queued_no);

	if (r < 0)
		return r;
	job->removed_files.root = node_root_new(&job->file_owner, AREA_REMOVED, 0,
						true);
	return job->removed_files.root ? 0 : -ENOMEM;
}

/* Makes the directory below root that has the path of dir below files/. */
static int mirror(struct node *root, const struct node *dir, struct node **ret)
{
	struct node *above;
	struct stat st;
	int r = dir->parent ? mirror(root, dir->parent, &above) : 0;

	*ret = root;
	if (r < 0 || !dir->parent)
		return r;
	*ret = node_find(above, dir->name);
	if (*ret)
		return 0;
	r = node_stat(dir, &st);
	return r < 0 ? r : node_make_dir(above, dir->name, st.st_mode, ret);
}

int removed_files_take(struct job *job, struct node *node)
{
	struct quota_move move;
	struct node *root, *dir;
	struct err err;
	int r = removed_files(job, &root);

	if (r == 0 && !root)
		r = make_root(job);
	if (r == 0)
		r = mirror(job->removed_files.root, node->parent, &dir);
	if (r < 0)
		return r;
	if (node_find(dir, node->name))
		return node_unlink(node);
	r = quota_move_begin(&move, node, dir, NULL, &err);
	if (r == 0)
		r = node_rename(node, dir, node->name);
	if (r == 0)
		quota_move_end(&move, node);
	return r;
}

void removed_files_drop(struct job *job)
{
	struct job_removed *r = &job->removed_files;

	if (!r->root)
		return;
	node_root_free(take_ptr(r->root));
	quota_area_end(&job->file_owner, AREA_REMOVED);
	store_removed_drop(job->d->store, job->meta.no, r->no);
}

/* --- inputs ------------------------------------------------------------------ */

static int find_below(struct node *node, const char *path, struct node **ret)
{
	auto_free char *copy = strdup(path);
	char *save = NULL;
	int r = copy ? 0 : -ENOMEM;

	for (char *part = copy ? strtok_r(copy, "/", &save) : NULL;
	     r == 0 && part && node; part = strtok_r(NULL, "/", &save)) {
		r = node->is_dir ? node_load(node) : 0;
		node = r == 0 && node->is_dir ? node_find(node, part) : NULL;
	}
	*ret = node;
	return r;
}

int job_input(struct job *job, const char *path, struct node **ret)
{
	struct node *root;
	int r = find_below(job->files, path, ret);

	if (r < 0 || *ret)
		return r;
	r = removed_files(job, &root);
	return r < 0 || !root ? r : find_below(root, path, ret);
}
