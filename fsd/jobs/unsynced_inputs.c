/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the nodes whose fsync(2) failed, and keeps a list of them in jobs/ID/unstored. A
 * mark goes when the file is written again from its beginning.
 */
#include "unsynced_inputs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fsd/store/store.h"

/* Marks all files below node. Files of a directory that cannot be read have no nodes, and
 * no job can use them either. */
static void mark_all(struct node *node)
{
	node->unsynced = !node->is_dir;
	if (!node->is_dir || node_load(node) < 0)
		return;
	list_for_each(pos, tmp, &node->children)
		mark_all(list_entry(pos, struct node, sibling));
}

/* Marks the node of path (changed: cut into names); a missing file needs no mark. */
static void mark(struct job *job, char *path)
{
	struct node *node = job->files;
	char *save = NULL;

	for (char *name = strtok_r(path, "/", &save); name && node;
	     name = strtok_r(NULL, "/", &save))
		node = node->is_dir && node_load(node) == 0
			       ? node_find(node, name)
			       : NULL;
	if (node)
		mark_all(node);
}

void unsynced_note(struct job *job, const struct buf *paths)
{
	char path[STORE_PATH_MAX];

	job->unsynced.known = true;
	if (paths->failed) { /* no memory for the list: any input may be unsynced */
		mark_all(job->files);
		job->unsynced.some = true;
	}
	for (size_t at = 0; at < paths->len;
	     at += strlen(paths->data + at) + 1) {
		snprintf(path, sizeof(path), "%s", paths->data + at);
		mark(job, path);
		job->unsynced.some = true;
	}
}

/* Return: the first node that is marked, or NULL. */
static const struct node *find_marked(const struct node *node)
{
	const struct node *found;

	if (node->unsynced)
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

/* The argument of a task, on the stack of the fiber that waits. */
struct look {
	const struct job *job;
	struct buf paths;
};

static int do_look(void *arg)
{
	struct look *l = arg;

	return store_unsynced_read(l->job->d->store, l->job->meta.no,
				   &l->paths);
}

static int do_drop(void *arg)
{
	const struct job *job = arg;

	return store_unsynced_drop(job->d->store, job->meta.no);
}

static int do_write(void *arg)
{
	const struct look *l = arg;

	return store_unsynced_write(l->job->d->store, l->job->meta.no,
				    &l->paths);
}

/* Reads the list that an earlier server stored. */
static int look(struct job *job)
{
	struct look l = { .job = job };
	int r = store_do(job->d->store, do_look, &l);

	if (r == 0)
		unsynced_note(job, &l.paths);
	buf_done(&l.paths);
	return r;
}

int unsynced_check(struct job *job, struct err *err)
{
	char path[STORE_PATH_MAX];
	const struct node *node;
	int r = 0;

	/* The inputs of a queued job were all synced when it was accepted. */
	if (!job->unsynced.known && job->meta.state != JOB_QUEUED)
		r = look(job);
	if (r < 0)
		return err_sys(err, r, "whether the disk has taken its inputs "
			       "cannot be read");
	if (!job->unsynced.some)
		return 0;
	node = find_marked(job->files);
	if (!node) {
		job->unsynced.some = false;
		r = store_do(job->d->store, do_drop, job);
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

void unsynced_cut(struct node *node)
{
	node->unsynced = false;
}

/* --- the stored list -------------------------------------------------------- */

struct listing {
	struct buf *paths;
	size_t cut;     /* how many bytes at the start of each path are replaced */
	const char *as; /* the text that replaces them */
	char path[STORE_PATH_MAX];
};

/* Adds to the list: node if it is marked, or else the marked nodes below it. */
static int list(struct listing *l, const struct node *node)
{
	int r;

	if (node->unsynced) {
		r = node_rel_path(node, l->path, sizeof(l->path));
		if (r < 0)
			return r;
		r = buf_str(l->paths, l->as);
		return r < 0 ? r
			     : buf_add(l->paths, l->path + l->cut,
				       strlen(l->path + l->cut) + 1);
	}
	if (!node->is_dir)
		return 0;
	list_for_each(pos, tmp, &node->children) {
		r = list(l, list_entry(pos, struct node, sibling));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Writes the list of the nodes that are marked now. */
static int save(struct job *job)
{
	struct look l = { .job = job };
	struct listing all = { .paths = &l.paths, .as = "" };
	int r = list(&all, job->files);

	job->unsynced.some = r < 0 || l.paths.len;
	if (r == 0)
		r = store_do(job->d->store, l.paths.len ? do_write : do_drop,
			     l.paths.len ? (void *)&l : job);
	buf_done(&l.paths);
	return r;
}

void unsynced_fsync(struct node *node, int error)
{
	struct job *job = job_of_node(node);

	/* Inputs of an accepted job were synced before; this error is of later writes. */
	if (error == -EINTR || error == -EBADF || node->area != AREA_FILES ||
	    node->unlinked || !job || job->removed || job_is_frozen(job))
		return;
	if (!job->unsynced.known && look(job) < 0)
		log_warn("job %s: what else the disk has not taken cannot be "
			 "read", job->meta.name);
	node->unsynced = true;
	if (save(job) < 0)
		log_warn("job %s: which inputs the disk has not taken cannot "
			 "be stored", job->meta.name);
}

static int rename_in(struct look *l, struct job *to, const struct node *node,
		     const struct node *dir, const char *name)
{
	char as[STORE_PATH_MAX + NAME_MAX + 1] = "";
	struct listing list_of = { .paths = &l->paths, .as = "" };
	int r = to->unsynced.known ? 0 : look(to);

	if (r == 0)
		r = list(&list_of, to->files);
	if (r == 0)
		r = node_rel_path(dir, as, STORE_PATH_MAX);
	if (r < 0)
		return r;
	snprintf(as + r, sizeof(as) - (size_t)r, "%s%s", r ? "/" : "", name);
	r = node_rel_path(node, list_of.path, sizeof(list_of.path));
	if (r < 0)
		return r;
	list_of.as = as;
	list_of.cut = (size_t)r;
	r = list(&list_of, node);
	return r < 0 ? r : store_do(to->d->store, do_write, l);
}

int unsynced_rename(const struct node *node, struct job *to,
		    const struct node *dir, const char *name)
{
	struct look l = { .job = to };
	struct job *from = job_of_node(node);
	int r = from->unsynced.known ? 0 : look(from);

	if (r < 0 || !from->unsynced.some || !find_marked(node))
		return r;
	r = rename_in(&l, to, node, dir, name);
	to->unsynced.some = true;
	buf_done(&l.paths);
	return r;
}

void unsynced_renamed(struct job *from, struct job *to)
{
	if (from->unsynced.some && save(from) < 0)
		log_warn("job %s: a later daemon may ask for inputs that were "
			 "written again", from->meta.name);
	if (to != from && to->unsynced.some && save(to) < 0)
		log_warn("job %s: a later daemon may ask for inputs that were "
			 "written again", to->meta.name);
}
