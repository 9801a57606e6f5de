/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a port of a sandbox other than the gateway's own two. On workers. */
#ifndef GATEWAY_PORT_TRAFFIC_H
#define GATEWAY_PORT_TRAFFIC_H

#include "fsd/gateway/http/request.h"

/* Finds the sandbox, opens the port, and connects to the program. */
bool port_guard(struct request *r);

#endif
