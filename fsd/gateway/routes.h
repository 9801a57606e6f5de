/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all routes. */
#ifndef GATEWAY_ROUTES_H
#define GATEWAY_ROUTES_H

#include "fsd/gateway/http/route.h"

/* All routes; the last row has no path. */
extern const struct route routes[];

#endif
