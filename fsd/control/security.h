/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the text of .fsd/security: a line for each wall, "NAME
 * active|absent|degraded DETAIL", as it was found to stand.
 */
#ifndef FSD_SECURITY_H
#define FSD_SECURITY_H

#include "fsd/fsd.h"

/* Appends to out. */
void security_text(const struct fsd *d, struct buf *out);

#endif
