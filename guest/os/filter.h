/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that a program may not ask of the kernel. */
#ifndef GUEST_FILTER_H
#define GUEST_FILTER_H

#include "layout/base/err.h"

/* Once, in init: makes the filter that filter_install() puts in place. */
int filter_make(struct err *err);
/* For the caller and for all that comes of it, for ever; no_new_privs must be
 * set. Return: 0 or a negative errno. */
int filter_install(void);

#endif
