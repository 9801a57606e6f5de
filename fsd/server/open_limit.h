/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may have. */
#ifndef FSD_OPEN_LIMIT_H
#define FSD_OPEN_LIMIT_H

#include <stdint.h>

/* Descriptors are what a busy mount needs most: from now on this process may have
 * as many as are allowed. Return: how many, UINT64_MAX if nobody says. */
uint64_t open_limit_raise(void);

#endif
