/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply that is made from a job, without a worker that waits for it. The
 * job's end may come on the loop before the handler has returned; the later of
 * both makes the reply.
 */
#ifndef GATEWAY_AWAITED_H
#define GATEWAY_AWAITED_H

#include "fsd/gateway/jobs/follow.h"
#include "request.h"

struct awaited;

/* Callbacks, on the loop. */
struct awaited_ops {
	/* Makes the reply. */
	void (*reply)(struct awaited *a, struct request *r);
	/* Called last: the job is over, and the client has its reply or is
	 * gone. */
	void (*free)(struct awaited *a);
};

struct awaited {
	const struct awaited_ops *ops;
	/* owns a reference; NULL: answered, or the client is gone */
	struct request *request;
	struct follow *follow;
	bool begun; /* the handler has returned */
	bool known; /* the reply can be made */
	bool over; /* the job is over */
};

/*
 * Starts the job; on a worker, the last action of a handler. job->ops must call
 * awaited_over() at its end, and awaited_known() when the reply can be made
 * before that. Return: 0, or negative errno with a sentence: there is no reply
 * yet, and the caller owns a.
 */
int awaited_start(struct awaited *a, const struct awaited_ops *ops, struct request *r,
		  const struct follow_job *job, struct err *err);

/* On the loop. */
void awaited_known(struct awaited *a);
void awaited_over(struct awaited *a); /* may free it */

#endif
