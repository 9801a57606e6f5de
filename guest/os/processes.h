/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a shared machine's jobs, as text: see wire_fs.h. */
#ifndef GUEST_PROCESSES_H
#define GUEST_PROCESSES_H

#include <stddef.h>

#include "guest/wire/wire.h"

/* serials: of the open lanes' groups, by the lane's number; 0: it is not open.
 * Return: 0 or negative errno. */
int processes_put(struct wire_writer *out, const unsigned *serials,
		  size_t count);

#endif
