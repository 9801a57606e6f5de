/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of all jails: a read-only tmpfs in which QEMU's program, its
 * libraries, its firmware and the guest's kernel are bound at the places where
 * QEMU looks for them, and nothing else. There is no /proc and no writable
 * file; what a machine uses besides was opened for it.
 */
#ifndef VM_JAIL_ROOT_H
#define VM_JAIL_ROOT_H

#include <stdbool.h>

#include "layout/base/err.h"
#include "qemu_program.h"

#define JAIL_PATH_MAX 512
#define JAIL_FILES_MAX 160

/* Where QEMU is inside, wherever it is outside, and with it what is beside it:
 * a place of the host's is nobody's business there. */
#define JAIL_PREFIX "/usr"
#define JAIL_QEMU JAIL_PREFIX "/bin/qemu-system-x86_64"
/* Where a booted machine finds the kernel inside. */
#define JAIL_KERNEL "/kernel"
#define JAIL_INITRD "/initrd"

struct jail_file {
	char path[JAIL_PATH_MAX];   /* outside */
	char inside[JAIL_PATH_MAX]; /* absolute, no ".." */
	int same_as; /* a descriptor of what it must be; 0: whatever it is */
};

struct jail_files {
	unsigned count;
	struct jail_file file[JAIL_FILES_MAX];
};

/* Asks the dynamic loader what QEMU needs. kernel, initrd: the image's files as they
 * were opened for its verification. */
int jail_files_find(struct jail_files *files, const struct qemu_program *qemu,
		    const char *image_dir, int kernel, int initrd,
		    struct err *err);
/* What is bound there: its path outside, or NULL. */
const char *jail_file_of(const struct jail_files *files, const char *inside);
/*
 * Makes it the root of this process, which must be in a mount namespace of its
 * own. kvm: with the device. The host's files cannot be named any more.
 */
int jail_root_enter(const struct jail_files *files, bool kvm, struct err *err);

#endif
