/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine is to be, as QEMU's arguments. Pure: no file is looked at.
 * All that QEMU uses of ours is handed to it by number (enum argv_fd), but for
 * RAM, which the jailer gives it when it asks, and the kernel's files.
 */
#ifndef VM_ARGV_H
#define VM_ARGV_H

#include <stdbool.h>

#include "layout/base/buf.h"
#include "vm/class.h"
#include "vm/os/accel.h"

/* The descriptors of a machine's process. */
enum argv_fd {
	ARGV_FD_QMP = 3,
	ARGV_FD_WIRE,
	ARGV_FD_ROOTFS,
	ARGV_FD_STATE, /* restored: of the devices, to be read */
	/* Two are a zygote's (vm/zygote/wire.h). */
	ARGV_FD_LAYER = ARGV_FD_STATE + 3, /* the first of an environment */
};

/* Whatever QEMU opens to read and write, it gets the RAM's file. */
#define ARGV_RAM "/ram"

struct argv_spec {
	const char *const *qemu; /* the words that start it (qemu_program.h) */
	const char *kernel, *initrd; /* boot: where they are in its root */
	enum vm_accel accel;  /* KVM or TCG */
	struct vm_class cls;
	unsigned layers;      /* of the environment; 0: base */
	bool boot;            /* boot and share RAM, else be restored, */
	bool zygote;          /* to be forked when it is hot */
	unsigned tsc_khz;     /* TCG: what the guest is told; 0: nothing */
	bool plain;           /* boot: the guest is told to start no interpreter */
};

#define ARGV_MAX 112
#define ARGV_TEXT 4096

struct argv {
	const char *item[ARGV_MAX]; /* NULL at the end; in text or constant */
	unsigned count;
	char text[ARGV_TEXT];
	unsigned used;
};

/* Return: 0 or -E2BIG. */
int argv_make(const struct argv_spec *spec, struct argv *ret);
/* A QEMU without a machine, that waits at its monitor; a zygote, maybe. The
 * same. */
int argv_probe(const char *const *qemu, bool zygote, struct argv *ret);
/* All of it, blank-separated, into out: the golden form, and the key's. */
void argv_join(const struct argv *a, struct buf *out);

#endif
