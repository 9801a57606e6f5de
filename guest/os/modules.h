/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the modules that the initramfs carries. */
#ifndef GUEST_MODULES_H
#define GUEST_MODULES_H

#include "layout/base/err.h"

/*
 * Loads /modules/NAME for every line of /modules/order, in that order. Without
 * that list does nothing: then the kernel has all of them built in. Runs in
 * init.
 */
int modules_load(struct err *err);

#endif
