/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine is to be, as QEMU's arguments. Pure: no file is looked at.
 * All that QEMU opens is handed to it by number, in the order of enum argv_fd.
 */
#ifndef VM_ARGV_H
#define VM_ARGV_H

#include <stdbool.h>

#include "backend.h"

/* The descriptors of a machine's process. */
enum argv_fd {
	ARGV_FD_QMP = 3,
	ARGV_FD_WIRE,
	ARGV_FD_RAM,
	ARGV_FD_ROOTFS,
	ARGV_FD_OWN,                  /* from here on: */
	ARGV_FD_STATE = ARGV_FD_OWN,  /* restored: of the devices, to be read */
	ARGV_FD_KERNEL = ARGV_FD_OWN, /* booted: both files */
	ARGV_FD_INITRD,
};

struct argv_spec {
	const char *qemu;     /* program */
	enum vm_accel accel;  /* KVM or TCG */
	struct vm_class cls;
	bool boot;            /* boot and share RAM, else be restored */
	unsigned tsc_khz;     /* TCG: what the guest is told; 0: nothing */
};

#define ARGV_MAX 64
#define ARGV_TEXT 2048

struct argv {
	const char *item[ARGV_MAX]; /* NULL at the end; in text or constant */
	unsigned count;
	char text[ARGV_TEXT];
	unsigned used;
};

/* Return: 0 or -E2BIG. */
int argv_make(const struct argv_spec *spec, struct argv *ret);
/* All of it, blank-separated, into out: the golden form, and the key's. */
void argv_join(const struct argv *a, struct buf *out);

#endif
