/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of system calls around every program. */
#ifndef GUEST_FILTER_H
#define GUEST_FILTER_H

#include "layout/base/err.h"

/* Compiles the filter for filter_install(); call it once, in init. */
int filter_make(struct err *err);
/* Installs the filter for the caller and all its descendants, for ever; needs
 * no_new_privs. Return: 0 or a negative errno. */
int filter_install(void);

#endif
