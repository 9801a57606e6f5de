/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request as an object: references, parsed parts, memory. Owns its texts,
 * its sandbox and its handler's state; the last reference frees them. Any
 * thread.
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/jobs/sandbox.h"

struct request *request_ref(struct request *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

static void free_headers(struct header *h, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(h[i].name);
		free(h[i].value);
	}
}

void request_unref(struct request *r)
{
	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	if (r->state && r->state_free)
		r->state_free(r->state);
	sandbox_free(r->sandbox);
	holding_set(&r->held, 0);
	free(r->raw_target);
	free_headers(r->header, r->headers);
	free_headers(r->reply.header, r->reply.headers);
	buf_done(&r->reply.body);
	buf_done(&r->body);
	buf_done(&r->out);
	target_done(&r->target);
	free(r);
}

const char *request_header(const struct request *r, const char *name)
{
	for (unsigned i = 0; i < r->headers; i++)
		if (r->header[i].name && text_is(r->header[i].name, name))
			return r->header[i].value;
	return NULL;
}

const char *request_query(const struct request *r, const char *name)
{
	return target_query(&r->target, name);
}

bool request_hold(struct request *r, size_t more)
{
	return holding_set(&r->held, r->held.amount + more);
}

void request_share(const struct request *r, struct holding *ret)
{
	*ret = (struct holding){ .shares = r->held.shares };
	memcpy(ret->owner, r->held.owner, sizeof(ret->owner));
}

void request_take(struct request *r, struct holding *from)
{
	if (strcmp(r->held.owner, from->owner) != 0)
		return;
	r->held.amount += from->amount;
	from->amount = 0;
}
