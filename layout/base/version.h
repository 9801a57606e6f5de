/* SPDX-License-Identifier: Apache-2.0 */
/* The version of fsd, for all of its programs. */
#ifndef LAYOUT_BASE_VERSION_H
#define LAYOUT_BASE_VERSION_H

#define FSD_VERSION "0.1.0"

#endif
