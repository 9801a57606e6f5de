/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds QEMU's command line for a machine. Pure: reads no file. QEMU gets
 * every file of ours as an open descriptor (enum argv_fd), with two exceptions:
 * the jailer hands over the RAM when QEMU opens it, and the kernel's files are
 * in the jail's root. May be called on any thread.
 */
#ifndef VM_ARGV_H
#define VM_ARGV_H

#include <stdbool.h>

#include "layout/base/buf.h"
#include "vm/class.h"
#include "vm/os/accel.h"

/* Descriptor numbers in a machine's QEMU. */
enum argv_fd {
	ARGV_FD_QMP = 3,
	ARGV_FD_NET,
	ARGV_FD_WIRE,
	ARGV_FD_ROOTFS,
	ARGV_FD_STATE, /* restored: the devices' state, read-only */
	/* The two between are a zygote's (vm/zygote/wire.h). */
	/* the first layer of an environment */
	ARGV_FD_LAYER = ARGV_FD_STATE + 3,
};

/* QEMU's only file that it opens for reading and writing; the jailer answers
 * that open with the RAM's descriptor. */
#define ARGV_RAM "/ram"

struct argv_spec {
	const char *const *qemu; /* words that start QEMU (qemu_program.h) */
	const char *kernel, *initrd; /* boot: paths in the jail's root */
	enum vm_accel accel; /* KVM or TCG, not AUTO */
	struct vm_class cls;
	unsigned layers; /* number of the environment's disks; 0: base */
	bool boot; /* boot with shared RAM; else restore a template */
	bool zygote; /* restore it so that machines can be forked off */
	/* TCG: the counter's rate that the guest gets; 0: none */
	unsigned tsc_khz;
	bool plain; /* boot: the guest starts no interpreter ahead */
};

#define ARGV_MAX 112
#define ARGV_TEXT 4096

struct argv {
	/* ends with NULL; pointers into text, or constants */
	const char *item[ARGV_MAX];
	unsigned count;
	char text[ARGV_TEXT];
	unsigned used;
};

/* Return: 0 or -E2BIG. */
int argv_make(const struct argv_spec *spec, struct argv *ret);
/* As argv_make(), for a QEMU without a machine that waits at its monitor.
 * zygote: it loads the zygote's library. */
int argv_probe(const char *const *qemu, bool zygote, struct argv *ret);
/* Appends all words to out, separated by blanks. Tests and template keys use
 * this form. */
void argv_join(const struct argv *a, struct buf *out);

#endif
