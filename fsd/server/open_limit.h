/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open files. */
#ifndef FSD_OPEN_LIMIT_H
#define FSD_OPEN_LIMIT_H

#include <stdint.h>

/* Raises the soft limit of open files to the hard limit: a busy mount needs descriptors
 * most. Return: the limit; UINT64_MAX if the kernel does not tell it. */
uint64_t open_limit_raise(void);

#endif
