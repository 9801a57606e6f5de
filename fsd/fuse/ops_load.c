/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of an earlier daemon are loaded when something in them is asked
 * for, the large ones a little at a time: the two requests by which the kernel
 * enters a directory wait for it, so all others find it loaded.
 */
#include "ops.h"

void ops_load(fuse_req_t req, fuse_ino_t ino)
{
	struct target t;
	struct node *dir = ops_target(req, ino, &t) == 0 ? ops_dir_node(&t)
							 : NULL;

	if (!dir || dir->loaded)
		return;
	node_ref(dir);
	while (!dir->unlinked && node_load_some(dir, now_ns() + NS_PER_MS) > 0 &&
	       fiber_self())
		fiber_breathe();
	node_unref(dir);
}
