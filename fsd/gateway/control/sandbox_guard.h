/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards of routes: find the sandbox of a request, and check whether the client
 * may use it. On workers.
 */
#ifndef GATEWAY_SANDBOX_GUARD_H
#define GATEWAY_SANDBOX_GUARD_H

#include "fsd/gateway/http/request.h"

/* Sets r->sandbox. For /execute and /contexts: a token, if sent, must be right;
 * and if the sandbox is not public, the token of its traffic must be sent. */
bool sandbox_guard(struct request *r);
/* Guards port traffic, which may be public. */
bool sandbox_traffic_guard(struct request *r);
/* Guards all other routes: the token must be sent. */
bool sandbox_token_guard(struct request *r);
/* Guards files: needs the token, or the signature of the file's path. */
bool sandbox_files_guard(struct request *r);

/* Replies 502, in the form that clients expect. */
void reply_no_sandbox(struct request *r);

/* Makes "v1_" and the signature of a path. operation: "read" or "write". expires: NULL:
 * never. */
void sandbox_signature(const char *path, const char *operation,
		       const char *user, const char *token, const char *expires,
		       char ret[64]);

#endif
