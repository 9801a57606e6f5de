/* SPDX-License-Identifier: Apache-2.0 */
/* Where a mount's directories lie, beside each other. */
#ifndef FSD_PLACES_H
#define FSD_PLACES_H

#include "fsd/fsd.h"

/* What a server needs when it follows another one must not be reached through
 * the mount that nobody serves then; who else may write in the state directory
 * is warned of. */
int places_check(const struct mount_options *options, struct err *err);

#endif
