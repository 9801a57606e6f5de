/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of an earlier daemon are loaded when something in them is asked
 * for, the large ones in turns: the two requests by which the kernel enters a
 * directory wait for it, so all others find it loaded.
 */
#include "ops.h"

#include <string.h>

struct load {
	struct turn turn;
	struct node *dir; /* a reference */
	fuse_req_t req;
	fuse_ino_t ino;
	char *name;       /* owned; NULL: it is an opendir */
	struct fuse_file_info fi;
};

static bool on_turn(struct turn *t, uint64_t until)
{
	struct load *l = container_of(t, struct load, turn);

	if (!l->dir->unlinked && node_load_some(l->dir, until) > 0)
		return true;
	node_unref(l->dir);
	if (l->name)
		op_lookup(l->req, l->ino, l->name);
	else
		op_opendir(l->req, l->ino, &l->fi);
	free(l->name);
	free(l);
	return false;
}

bool ops_load_first(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const struct fuse_file_info *fi)
{
	struct fsd *d = ops_fsd(req);
	struct target t;
	struct load *l;
	struct node *dir = ops_target(req, ino, &t) == 0 ? ops_dir_node(&t)
							 : NULL;

	if (!dir || node_load_some(dir, now_ns() + NS_PER_MS) <= 0)
		return false;
	l = calloc(1, sizeof(*l));
	if (!l)
		return false;
	*l = (struct load){ .turn.work = on_turn, .dir = dir, .req = req,
			    .ino = ino, .name = name ? strdup(name) : NULL };
	if (fi)
		l->fi = *fi;
	if (name && !l->name) {
		free(l);
		return false;
	}
	node_ref(dir);
	turn_begin(&d->turns, &l->turn);
	return true;
}
