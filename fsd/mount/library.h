/* SPDX-License-Identifier: Apache-2.0 */
/* libfuse's header, of the one version of its interface that is used here. */
#ifndef FSD_LIBRARY_H
#define FSD_LIBRARY_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#endif
