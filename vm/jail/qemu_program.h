/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to start QEMU. A brought QEMU lies in a tree with its own dynamic loader
 * and libraries, ROOT/usr/bin/NAME, because the host's may be too old for it.
 * It is started by that loader. The host's own QEMU has "" as ROOT and is
 * started directly. In a jail the files of a tree are bound at their places
 * below ROOT, so the kernel finds the loader itself.
 */
#ifndef VM_QEMU_PROGRAM_H
#define VM_QEMU_PROGRAM_H

#include <limits.h>

#define QEMU_WORDS 6

struct qemu_program {
	char path[PATH_MAX];
	char root[PATH_MAX]; /* the tree that QEMU lies in, without links; "": the host's
			      * own */
	/* The first words of its command line; ends with NULL. */
	const char *word[QEMU_WORDS + 1];
	char text[3 * PATH_MAX];
};

/* Fills in ret. path: absolute. Do not copy *ret: it has pointers into itself.
 * Reads the disk. */
void qemu_program_find(const char *path, struct qemu_program *ret);

#endif
