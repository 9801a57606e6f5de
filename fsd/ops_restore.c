/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open files of the server before, by what it has left of them in
 * d->inherit. What they are on is found by its number; where it is gone, a
 * handle stays without an object and its owner is told ESTALE.
 */
#include <errno.h>
#include <string.h>

#include "face.h"
#include "ops_handle.h"
#include "open_files.h"
#include "requests.h"

static struct node *root_of(struct job *job, const struct inherit_node *kept)
{
	switch (kept->area) {
	case AREA_FILES:
		return job->files;
	case AREA_SINK:
		return job->sink;
	case AREA_OUTPUT:
		return job->meta.run == kept->run ? job_output(job) : NULL;
	default:
		return NULL;
	}
}

int ops_restore_node(struct fsd *d, fuse_ino_t ino, struct node **ret)
{
	const struct inherit_node *kept = nodes_inherited(d->nodes, ino);
	struct job *job = kept ? job_by_no(d, kept->job) : NULL;
	struct node *root = job ? root_of(job, kept) : NULL;
	int r = root ? node_adopt(root, ino, ret) : -ENOENT;

	if (r != -ENOENT)
		return r;
	nodes_gone(d->nodes, ino);
	return -ESTALE;
}

static void restore_file(struct fsd *d, struct inherit_handle *kept)
{
	struct target t;
	int r = ops_resolve(d, kept->ino, &t);

	if (r == 0)
		r = ops_handle_restore(d, kept, &t);
	if (r == 0)
		return;
	/* Another file may get its number in the store now, which the next
	 * server would take for it. */
	if (r == -ESTALE || r == -ENOENT || r == -EISDIR)
		kept->ino = 0;
	log_warn("an open file cannot be taken over: %s", strerror(-r));
}

void ops_restore(struct fsd *d)
{
	uint32_t count = inherit_count(d->inherit, INHERIT_HANDLES);

	for (uint32_t i = 0; i < count; i++) {
		struct inherit_handle *kept =
			inherit_at(d->inherit, INHERIT_HANDLES, i);

		/* Without memory it goes, and its user is told ESTALE. */
		if (!kept || open_files_adopt(d, kept, NULL) < 0)
			continue;
		if (!kept->ino)
			continue; /* gone with the server before that one */
		if (kept->kind == INHERIT_FILE)
			restore_file(d, kept);
		else if (kept->kind == INHERIT_LISTING)
			ops_listing_restore(d, kept);
	}
	inherit_recycle(d->inherit, INHERIT_HANDLES);
}
