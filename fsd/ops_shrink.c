/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truncating a large file: a file system may take long to give its blocks up,
 * so the chores' thread has it done before the operation that asks for it.
 */
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "chores.h"

struct shrink {
	struct task task;
	struct node *node; /* a reference, counted as a writer meanwhile */
	int fd;            /* owned */
	off_t size;
	fuse_req_t req;
	fuse_ino_t ino;
	struct stat attr;  /* of a setattr */
	int to_set;
	bool is_setattr, has_fi;
	struct fuse_file_info fi;
};

static int shrink_work(struct task *t)
{
	struct shrink *s = container_of(t, struct shrink, task);

	/* What fails here fails again in the operation, which says so. */
	return ftruncate(s->fd, s->size) < 0 ? -errno : 0;
}

static void shrink_end(struct shrink *s)
{
	fd_close(&s->fd);
	s->node->writers--;
	node_changed(s->node);
	quota_settle(s->node);
	node_unref(s->node);
}

static void shrink_done(struct task *t, int result)
{
	struct shrink *s = container_of(t, struct shrink, task);

	shrink_end(s);
	if (result < 0)
		fuse_reply_err(s->req, -result);
	else if (s->is_setattr)
		op_setattr(s->req, s->ino, &s->attr, s->to_set,
			   s->has_fi ? &s->fi : NULL);
	else
		op_open(s->req, s->ino, &s->fi);
	free(s);
}

/* Whatever else there is to say against it, the operation does. */
static struct node *large_node(fuse_req_t req, fuse_ino_t ino, off_t size)
{
	struct target t;
	struct stat st;

	if (ops_target(req, ino, &t) < 0 || t.kind != T_NODE ||
	    t.node->is_dir || t.node->area == AREA_OUTPUT ||
	    (t.job && job_is_frozen(t.job)) || node_stat(t.node, &st) < 0)
		return NULL;
	return st.st_size - size >= (off_t)DEPOT_LARGE ? t.node : NULL;
}

bool ops_shrink_first(fuse_req_t req, fuse_ino_t ino, off_t size,
		      const struct stat *attr, int to_set,
		      const struct fuse_file_info *fi)
{
	struct node *node = large_node(req, ino, size);
	struct shrink *s = node ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return false;
	*s = (struct shrink){
		.task = { .work = shrink_work, .done = shrink_done },
		.node = node, .fd = node_open(node, O_WRONLY), .size = size,
		.req = req, .ino = ino, .to_set = to_set,
		.is_setattr = attr, .has_fi = fi,
	};
	if (attr)
		s->attr = *attr;
	if (fi)
		s->fi = *fi;
	quota_look(node);
	node_ref(node);
	node->writers++;
	if (s->fd >= 0 && depot_chore(ops_fsd(req)->depot, DEPOT_CHORES,
				      &s->task) == 0)
		return true;
	shrink_end(s);
	free(s);
	return false;
}
