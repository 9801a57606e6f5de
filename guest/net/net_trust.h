/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 adds certificates to those that the programs of a job with a network trust. */
#ifndef GUEST_NET_TRUST_H
#define GUEST_NET_TRUST_H

#include "layout/base/err.h"

/* Debian's certificates and the operator's. Environment variables name this file for
 * programs that do not read Debian's bundle, such as Python wheels with a list of their
 * own. */
#define NET_TRUST_ALL "/run/ca.pem"

/* Writes NET_TRUST_ALL and bind-mounts it over Debian's bundle. pem: one certificate or
 * more. Return: 0 or a negative errno with *err. */
int net_trust(const char *pem, struct err *err);

#endif
