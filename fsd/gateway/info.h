/* SPDX-License-Identifier: Apache-2.0 */
/* Routes about the gateway itself. */
#ifndef GATEWAY_INFO_H
#define GATEWAY_INFO_H

#include "fsd/gateway/http/request.h"

void get_health(struct request *r);
void get_healthz(struct request *r);
void get_metrics(struct request *r);
/* Replies 501: fsd does not have it; the route's topic names it. */
void not_there(struct request *r);

#endif
