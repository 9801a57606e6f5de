/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates that programs of a job with a network trust, as PID 1. */
#ifndef GUEST_NET_TRUST_H
#define GUEST_NET_TRUST_H

#include "layout/base/err.h"

/* All that programs trust: Debian's certificates and the operator's. */
#define NET_TRUST_ALL "/run/ca.pem"
/* The operator's alone. */
#define NET_TRUST_EXTRA "/run/ca-extra.pem"

/* Writes both files, and binds the first one over Debian's bundle. pem: one certificate or
 * more. Return: 0 or a negative errno with *err. */
int net_trust(const char *pem, struct err *err);

#endif
