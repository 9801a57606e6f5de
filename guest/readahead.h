/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the root disk is read ahead while the interpreters start. */
#ifndef GUEST_READAHEAD_H
#define GUEST_READAHEAD_H

#include "layout/base/err.h"

/* While the kernel's /dev is there. ret_disk: owned. */
int readahead_widen(int *ret_disk, struct err *err);
/* As the kernel had it, for files that a program opens. */
int readahead_restore(int disk, struct err *err);

#endif
