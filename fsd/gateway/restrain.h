/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GATEWAY_RESTRAIN_H
#define GATEWAY_RESTRAIN_H

#include "layout/base/err.h"

struct gateway;

/* Gives up what the gateway does not need, when its sockets are open and before it has
 * threads: files but the mount's and the keys', capabilities, system calls. Return: 0
 * or negative errno. */
int gateway_restrain(struct gateway *g, struct err *err);

#endif
