/* SPDX-License-Identifier: Apache-2.0 */
/* The walls around the programs here, as the kernel tells them of living ones and
 * not as they were meant. */
#ifndef GUEST_CHECK_WALLS_H
#define GUEST_CHECK_WALLS_H

#include <stddef.h>
#include <stdint.h>

#include "runner.h"

/* Looks at processes that wait to become programs. Return: the walls that stand
 * around every one that there is, bits 1 << enum wire_wall; none where there is no
 * process to look at. */
uint32_t check_walls(const struct runner *runners, size_t count);

/* Return: a process's own walls by its status in /proc: USER, CAPS and FILTER. */
uint32_t check_status(const char *text);

#endif
