/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes of a shared machine's jobs, as text: see wire_fs.h. Runs
 * in init.
 */
#ifndef GUEST_PROCESSES_H
#define GUEST_PROCESSES_H

#include <stddef.h>

#include "guest/wire/wire.h"

/* serials: those of the open lanes' groups, indexed by lane number; 0: not
 * open. Return: 0 or negative errno. */
int processes_put(struct wire_writer *out, const unsigned *serials,
		  size_t count);

#endif
