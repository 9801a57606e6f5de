/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reply that is made of a job, and no worker waits for it. Its end may come on the
 * loop before the handler has returned, so the last of both makes the reply.
 */
#ifndef GATEWAY_AWAITED_H
#define GATEWAY_AWAITED_H

#include "fsd/gateway/jobs/follow.h"
#include "request.h"

struct awaited;

/* On the loop. */
struct awaited_ops {
	/* Makes the reply. */
	void (*reply)(struct awaited *a, struct request *r);
	/* Last: the job is over, and the client has its reply or has gone. */
	void (*free)(struct awaited *a);
};

struct awaited {
	const struct awaited_ops *ops;
	struct request *request; /* a reference; NULL: it is answered, or has gone */
	struct follow *follow;
	bool begun; /* the handler has returned */
	bool known; /* the reply can be made */
	bool over;  /* the job */
};

/*
 * On a worker; the last that a handler does. job->ops calls awaited_over() at its end,
 * and awaited_known() when the reply can be made before that.
 * Return: 0, or negative errno with a sentence: there is no reply yet, and a stays the
 * caller's.
 */
int awaited_start(struct awaited *a, const struct awaited_ops *ops, struct request *r,
		  const struct follow_job *job, struct err *err);

/* On the loop. */
void awaited_known(struct awaited *a);
void awaited_over(struct awaited *a); /* may free it */

#endif
