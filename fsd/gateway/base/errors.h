/* SPDX-License-Identifier: Apache-2.0 */
/* Translates errors of the mount for each protocol. Pure. */
#ifndef GATEWAY_ERRORS_H
#define GATEWAY_ERRORS_H

#include <stdbool.h>

struct surface {
	int error;           /* an errno */
	unsigned http; /* HTTP status, for control plane and files */
	/* Connect's code, for /filesystem. and /process. */
	const char *connect;
	int run; /* exit_code of /run; 0: /run does not report it so */
	int rpc; /* JSON-RPC's code; 0: reported in a tool's result */
	bool again; /* send Retry-After: 1 */
};

/* Finds the row of a negative errno. Unknown ones get EIO's. */
const struct surface *surface_of(int code);
/* Returns the HTTP status of a Connect code. */
unsigned connect_status(const char *code);

#endif
