/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a small program of ours in a sandbox for one request; the reply is made
 * from its output.
 */
#ifndef GATEWAY_PROBE_H
#define GATEWAY_PROBE_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

/* Makes the reply; on the loop. out: its output with a NUL; NULL: it failed, or
 * could not run. */
typedef void probe_reply(struct request *r, void *arg, const char *out);

/* Does slow work before the reply; on a worker. out: as above. */
typedef void probe_digest(void *arg, const char *out);

/*
 * Starts the program; on a worker, the last action of a handler. words: its
 * command; taken. done: frees arg when it is not needed any more, also on a failure;
 * may be NULL.
 */
void probe_start(struct request *r, json_t *words, probe_reply *reply, void *arg,
		 void (*done)(void *arg));
/* The same with a digest, which is not called if the program was lost. */
void probe_start_long(struct request *r, json_t *words, probe_digest *digest,
		      probe_reply *reply, void *arg, void (*done)(void *arg));

#endif
