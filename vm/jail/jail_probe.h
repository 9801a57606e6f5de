/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a QEMU in its jail from outside: reads what the kernel reports about
 * it, instead of trusting what was set. This QEMU has no machine and lives for
 * a moment. Runs in the jailer.
 */
#ifndef VM_JAIL_PROBE_H
#define VM_JAIL_PROBE_H

#include "jail_slot.h"

struct jail_probe {
	/*
	 * descriptor of the host's /proc, opened before the root changes; owned
	 */
	int proc;
};

void jail_probe_open(struct jail_probe *p);
/*
 * Starts a QEMU, waits for its monitor's greeting (bounded), inspects it, ends it and
 * closes /proc. A wall that *w reports and that does not stand is set to absent.
 * Return: 0, or a negative errno: QEMU cannot run in such a jail.
 */
int jail_probe_run(struct jail_probe *p, struct jailer *j, struct walls *w,
		   struct err *err);

#endif
