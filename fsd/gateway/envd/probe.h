/* SPDX-License-Identifier: Apache-2.0 */
/* A small program of ours that runs in a sandbox for one request, whose answer is made
 * of what it prints. */
#ifndef GATEWAY_PROBE_H
#define GATEWAY_PROBE_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

/* On the loop. Makes the reply. out: what it has printed, ended by a NUL; NULL: it has
 * failed, or could not run. */
typedef void probe_reply(struct request *r, void *arg, const char *out);

/* On a worker, before the reply: what takes long, so that the loop does not. out: as above. */
typedef void probe_digest(void *arg, const char *out);

/* On a worker; the last that a handler does. words: its command; taken. arg: freed by
 * done when it is not needed any more, whatever happens; done may be NULL. */
void probe_start(struct request *r, json_t *words, probe_reply *reply, void *arg,
		 void (*done)(void *arg));
/* The same. A program that was lost has no digest. */
void probe_start_long(struct request *r, json_t *words, probe_digest *digest,
		      probe_reply *reply, void *arg, void (*done)(void *arg));

#endif
