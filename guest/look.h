/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the programs here, as the kernel tells it of living ones
 * and not as it was meant. */
#ifndef GUEST_LOOK_H
#define GUEST_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "runner.h"

/* Of processes that wait to become programs. Return: the walls that stand
 * around every one of them, bits 1 << enum wire_wall; none where there is no
 * process to look at. */
uint32_t look_at_walls(const struct runner *runners, size_t count);

/* What a process's status in /proc says, the walls of its own: USER, CAPS and
 * FILTER. */
uint32_t look_at_status(const char *text);

#endif
