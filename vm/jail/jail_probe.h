/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look from outside at a QEMU in its jail: what the kernel says of it, not
 * what was asked for. It has no machine and lives for a moment.
 */
#ifndef VM_JAIL_PROBE_H
#define VM_JAIL_PROBE_H

#include "jail_slot.h"

struct jail_probe {
	int proc; /* the host's /proc, while it can still be named; owned */
};

void jail_probe_open(struct jail_probe *p);
/*
 * Starts one, waits for its monitor's greeting (bounded), looks, ends it and
 * lets go of /proc. Walls that were said to stand and do not are set absent.
 * Return: 0, or a negative errno: no QEMU runs in such a jail.
 */
int jail_probe_run(struct jail_probe *p, struct jailer *j, struct walls *w,
		   struct err *err);

#endif
