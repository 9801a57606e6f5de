/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the mount's errors on each surface. */
#ifndef GATEWAY_ERRORS_H
#define GATEWAY_ERRORS_H

#include <stdbool.h>

struct surface {
	int error;           /* an errno */
	unsigned http;       /* control plane, files */
	const char *connect; /* /filesystem., /process. */
	int run;             /* exit_code of /run; 0: it is no such error */
	int rpc;             /* JSON-RPC's code; 0: a tool's result says so */
	bool again;          /* Retry-After: 1 */
};

/* code: a negative errno. Unknown ones are as EIO. */
const struct surface *surface_of(int code);
/* HTTP's status of a Connect code. */
unsigned connect_status(const char *code);

#endif
