/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of all jails: a read-only tmpfs that has only QEMU's program, its
 * libraries, its firmware and the guest's kernel, bound where QEMU expects
 * them. There is no /proc and no writable file. Everything else a machine uses
 * is passed as an open descriptor.
 */
#ifndef VM_JAIL_ROOT_H
#define VM_JAIL_ROOT_H

#include <stdbool.h>

#include "layout/base/err.h"
#include "qemu_program.h"

#define JAIL_PATH_MAX 512
#define JAIL_FILES_MAX 160

/* QEMU's path in the jail, wherever it lies on the host, so that the jail does
 * not show the host's paths. The files beside it move with it. */
#define JAIL_PREFIX "/usr"
#define JAIL_QEMU JAIL_PREFIX "/bin/qemu-system-x86_64"
/* The paths of a booted machine's kernel in the jail. */
#define JAIL_KERNEL "/kernel"
#define JAIL_INITRD "/initrd"

struct jail_file {
	char path[JAIL_PATH_MAX]; /* path on the host */
	char inside[JAIL_PATH_MAX]; /* path in the jail; absolute, without ".." */
	int same_as; /* descriptor of the file that `path` must be; 0: any */
};

struct jail_files {
	unsigned count;
	struct jail_file file[JAIL_FILES_MAX];
};

/*
 * Finds the files that QEMU needs, by running its dynamic loader. kernel,
 * initrd: the image's files as they were verified. Waits for a process. Return:
 * 0 or negative errno.
 */
int jail_files_find(struct jail_files *files, const struct qemu_program *qemu,
		    const char *image_dir, int kernel, int initrd,
		    struct err *err);
/* Returns the host's path of a file in the jail, or NULL. */
const char *jail_file_of(const struct jail_files *files, const char *inside);
/*
 * Builds the root and makes it the root of this process, which must be in a
 * mount namespace of its own. kvm: include the device. Afterwards no file of
 * the host can be opened by name.
 * Return: 0 or negative errno.
 */
int jail_root_enter(const struct jail_files *files, bool kvm, struct err *err);

#endif
