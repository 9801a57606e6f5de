/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a mount. */
#ifndef FSD_MOUNT_OPTIONS_H
#define FSD_MOUNT_OPTIONS_H

#include "fsd/fsd.h"

/* Fills what the command line left open. */
void mount_options_defaults(struct mount_options *options);
void mount_options_done(struct mount_options *options);

#endif
