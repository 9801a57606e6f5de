/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers a request when its job has ended, without a worker that waits. A struct
 * awaited holds a reference to the request until the reply or until the client has gone.
 *
 * Two events may come in either order: the handler returns (`begun`), and the result is
 * known (`known`). The last one makes the reply. When the job is over and the request is
 * detached, ops->free() frees the owner.
 */
#include "awaited.h"

#include <stddef.h>

#include "layout/base/cleanup.h"

/* Takes the request out. Return: it, with its reference. */
static struct request *detach(struct awaited *a)
{
	struct request *r = take_ptr(a->request);

	r->state = NULL;
	return r;
}

static void answer(struct awaited *a)
{
	struct request *r = detach(a);

	a->ops->reply(a, r);
	request_answer(r);
	request_unref(r);
}

void awaited_known(struct awaited *a)
{
	a->known = true;
	if (a->request && a->begun)
		answer(a);
}

void awaited_over(struct awaited *a)
{
	a->over = true;
	awaited_known(a);
	if (!a->request)
		a->ops->free(a);
}

static void on_begun(struct request *r)
{
	struct awaited *a = r->state;

	a->begun = true;
	if (!a->known)
		return;
	detach(a);
	a->ops->reply(a, r); /* the caller sends it */
	request_unref(r); /* this is not the last reference */
	if (a->over)
		a->ops->free(a);
}

static void on_gone(struct request *r)
{
	struct awaited *a = r->state;

	if (!a)
		return;
	detach(a);
	if (a->over)
		a->ops->free(a);
	else if (!a->known)
		follow_abandon(a->follow, 0);
	request_unref(r); /* this is not the last reference */
}

static const struct stream_ops stream_ops = { .begun = on_begun, .gone = on_gone };

int awaited_start(struct awaited *a, const struct awaited_ops *ops, struct request *r,
		  const struct follow_job *job, struct err *err)
{
	int code;

	a->ops = ops;
	a->request = request_ref(r);
	r->state = a;
	reply_later(r, &stream_ops);
	code = follow_start(r->gateway, job, &a->follow, err);
	if (code == 0)
		return 0;
	r->later = false;
	r->ops = NULL;
	detach(a);
	request_unref(r); /* this is not the last reference */
	return code;
}
