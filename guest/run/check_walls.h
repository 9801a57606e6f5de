/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the walls around programs (enum wire_wall of wire.h): asks the kernel about
 * living processes, instead of trusting what was set. Runs in init.
 */
#ifndef GUEST_CHECK_WALLS_H
#define GUEST_CHECK_WALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runner.h"

/* Inspects processes that wait to become programs, and the network's helper. Return: the
 * walls that stand around every one of them, bits 1 << enum wire_wall; 0 if no process
 * waits. */
uint32_t check_walls(const struct runner *runners, size_t count, pid_t helper);

/* Returns the walls USER, CAPS and FILTER of a process, from the text of its
 * status in /proc. id: the user and group that it must have. */
uint32_t check_status(const char *text, unsigned id);

#endif
