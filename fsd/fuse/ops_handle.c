/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and frees open files (struct handle), with their records, references
 * and counts. All functions run on the loop.
 */
#include "ops_handle.h"

#include "fsd/jobs/event_log.h"
#include "fsd/control/control_sandbox.h"
#include "fsd/jobs/held.h"
#include "fsd/living/sandboxes.h"
#include "fsd/users/users.h"
#include "handle_table.h"
#include "ops_refusal.h"

bool ops_handle_holds(const struct handle *h)
{
	return h->t.kind == T_VFILE && held_by(h->t.job, h->t.vfile);
}

struct sandbox *ops_handle_sandbox(const struct handle *h)
{
	return h->t.kind == T_FSD ? control_sandbox_held(h->d, h->t.entry) : NULL;
}

struct handle *ops_handle_make(struct fsd *d, enum handle_kind kind,
			       const struct target *t,
			       struct handle_record *kept)
{
	struct handle *h = calloc(1, sizeof(*h));
	uint64_t fh;

	if (!h)
		return NULL;
	h->kept = kept ? kept : open_files_add(d->open_files, OPEN_FILE,
					       ops_ino(t), h, &fh);
	if (!h->kept) {
		free(h);
		return NULL;
	}
	list_add_tail(open_files_handles(d->open_files), &h->node);
	h->d = d;
	h->kind = kind;
	h->t = *t;
	h->fd = -1;
	if (!kept)
		h->kept->seen = -1;
	if (t->job)
		job_ref(t->job);
	if (t->kind == T_NODE)
		node_ref(t->node);
	if (ops_handle_holds(h))
		held_more(t->job);
	if (ops_handle_sandbox(h))
		sandbox_held_more(ops_handle_sandbox(h));
	return h;
}

int ops_handle_weigh(fuse_req_t req, struct handle *h)
{
	struct err err = { 0 };
	int r = user_weigh(h->d->users, fuse_req_ctx(req)->uid, &h->weight,
			   h->text.len, &err);

	return r < 0 ? ops_refuse_at(req, ops_ino(&h->t), NULL, r, err.text) : 0;
}

struct handle *ops_handle_new(struct fsd *d, enum handle_kind kind,
			      const struct target *t)
{
	return ops_handle_make(d, kind, t, NULL);
}

struct handle *ops_handle(fuse_req_t req, const struct fuse_file_info *fi)
{
	return open_files_at(ops_fsd(req)->open_files, fi->fh, OPEN_FILE);
}

void ops_handle_free(struct handle *h)
{
	list_del(&h->node);
	user_closes(h->payer);
	open_files_del(h->d->open_files, take_ptr(h->kept));
	loop_timer_del(&h->doubt);
	blocked_poll_drop(&h->poll);
	quota_done_with(&h->open);
	if (h->t.job)
		job_vfile_closed(h->t.job, &h->vfile);
	if (h->t.kind == T_NODE)
		node_close(h->t.node, h->fd);
	else
		fd_close(&h->fd);
	free(h->prefix);
	buf_done(&h->text);
	user_unweigh(&h->weight);
	events_reader_free(h->events);
	if (h->t.kind == T_NODE)
		node_unref(h->t.node);
	if (ops_handle_holds(h))
		held_less(h->t.job);
	if (ops_handle_sandbox(h))
		sandbox_held_less(ops_handle_sandbox(h));
	if (h->t.job)
		job_unref(h->t.job);
	free(h);
}

/* Frees all open files: the mount is gone, so no release will come. */
void ops_handles_free(struct fsd *d)
{
	if (!d->open_files)
		return; /* the server never started */
	list_for_each(pos, tmp, open_files_handles(d->open_files))
		ops_handle_free(list_entry(pos, struct handle, node));
}
