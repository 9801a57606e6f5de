/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GATEWAY_RESTRAIN_H
#define GATEWAY_RESTRAIN_H

#include "layout/base/err.h"

struct gateway;

/*
 * Gives up rights that the gateway does not need: files except the mount's and
 * the keys', capabilities, system calls. Call it when its sockets are open and
 * before it has threads. Return: 0 or negative errno.
 */
int gateway_restrain(struct gateway *g, struct err *err);

#endif
