/* SPDX-License-Identifier: Apache-2.0 */
/* Guards of routes: which sandbox a request is for, and whether it may use it. */
#ifndef GATEWAY_SANDBOX_GUARD_H
#define GATEWAY_SANDBOX_GUARD_H

#include "fsd/gateway/http/request.h"

/* They find r->sandbox. For /execute and /contexts: a token that is sent
 * must be right, and the traffic's must be sent if the sandbox is not public; */
bool sandbox_guard(struct request *r);
/* for all others: the token must be sent, */
bool sandbox_token_guard(struct request *r);
/* or the signature of a file's path. */
bool sandbox_files_guard(struct request *r);

/* 502, as the clients know it. */
void reply_no_sandbox(struct request *r);

/* "v1_" and the signature of a path, "read" or "write"; expires NULL: never. */
void sandbox_signature(const char *path, const char *operation,
		       const char *user, const char *token, const char *expires,
		       char ret[64]);

#endif
