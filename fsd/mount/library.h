/* SPDX-License-Identifier: Apache-2.0 */
/* Includes libfuse's header, in the one version of its interface that fsd uses. */
#ifndef FSD_LIBRARY_H
#define FSD_LIBRARY_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#endif
