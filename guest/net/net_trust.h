/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates that programs of a job with a network trust, as PID 1. */
#ifndef GUEST_NET_TRUST_H
#define GUEST_NET_TRUST_H

#include "layout/base/err.h"

/* Debian's certificates and the operator's, for variables of programs that read no list of
 * Debian's, such as those of Python's wheels. */
#define NET_TRUST_ALL "/run/ca.pem"

/* Writes the file, and binds it over Debian's bundle. pem: one certificate or more. Return:
 * 0 or a negative errno with *err. */
int net_trust(const char *pem, struct err *err);

#endif
