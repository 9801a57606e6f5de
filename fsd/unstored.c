/* SPDX-License-Identifier: Apache-2.0 */
#include "unstored.h"

#include <errno.h>
#include <string.h>

#include "depot.h"

static void mark_all(struct node *node)
{
	node->unstored = !node->is_dir;
	if (!node->is_dir)
		return;
	list_for_each(pos, tmp, &node->children)
		mark_all(list_entry(pos, struct node, sibling));
}

/* What is not there any more needs no mark. path is cut into names. */
static void mark(struct job *job, char *path)
{
	struct node *node = job->files;
	char *save = NULL;

	for (char *name = strtok_r(path, "/", &save); name && node;
	     name = strtok_r(NULL, "/", &save))
		node = node->is_dir ? node_find(node, name) : NULL;
	if (node)
		mark_all(node);
}

void unstored_note(struct job *job, const struct buf *paths)
{
	char path[STORE_PATH_MAX];

	job->unstored_known = true;
	for (size_t at = 0; at < paths->len;
	     at += strlen(paths->data + at) + 1) {
		snprintf(path, sizeof(path), "%s", paths->data + at);
		mark(job, path);
		job->unstored = true;
	}
}

/* The first that is marked, or NULL. */
static const struct node *find_marked(const struct node *node)
{
	const struct node *found;

	if (node->unstored)
		return node;
	if (!node->is_dir)
		return NULL;
	list_for_each(pos, tmp, &node->children) {
		found = find_marked(list_entry(pos, struct node, sibling));
		if (found)
			return found;
	}
	return NULL;
}

/* On the stack of the fiber that waits. */
struct look {
	const struct job *job;
	struct buf paths;
};

static int do_look(void *arg)
{
	struct look *l = arg;

	return depot_unstored_read(l->job->d->depot, l->job->meta.no,
				   &l->paths);
}

static int do_drop(void *arg)
{
	const struct job *job = arg;

	return depot_unstored_drop(job->d->depot, job->meta.no);
}

/* An earlier daemon's. Of a job that is queued the disk has taken all. */
static int look(struct job *job)
{
	struct look l = { .job = job };
	int r = depot_do(job->d->depot, do_look, &l);

	if (r == 0)
		unstored_note(job, &l.paths);
	buf_done(&l.paths);
	return r;
}

int unstored_check(struct job *job, struct err *err)
{
	char path[STORE_PATH_MAX];
	const struct node *node;
	int r = 0;

	if (!job->unstored_known && job->meta.state != JOB_QUEUED)
		r = look(job);
	if (r < 0)
		return err_sys(err, r, "whether the disk has taken its inputs "
			       "cannot be read");
	if (!job->unstored)
		return 0;
	node = find_marked(job->files);
	if (!node) {
		job->unstored = false;
		r = depot_do(job->d->depot, do_drop, job);
		if (r < 0)
			log_warn("job %s: a later daemon will ask for inputs "
				 "that were written again: %s", job->meta.name,
				 strerror(-r));
		return 0;
	}
	if (node_rel_path(node, path, sizeof(path)) < 0)
		snprintf(path, sizeof(path), "%s", node->name);
	return err_set(err, -EIO, "%s: the disk has not taken what was written "
		       "to it; write it again, from its beginning", path);
}

void unstored_cut(struct node *node)
{
	node->unstored = false;
}

void unstored_move(const struct job *from, struct job *to)
{
	to->unstored |= from->unstored;
}
