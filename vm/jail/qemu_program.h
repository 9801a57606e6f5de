/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How QEMU is started. One that was brought lies in a tree with its own dynamic
 * loader and libraries, ROOT/usr/bin/NAME: the host's loader and libraries may be
 * too old for it. The host's own is the same with "" as ROOT, and is started as it
 * is. In a jail the tree's files are bound at their places below ROOT, so that the
 * kernel finds the loader by itself.
 */
#ifndef VM_QEMU_PROGRAM_H
#define VM_QEMU_PROGRAM_H

#include <limits.h>

#define QEMU_WORDS 6

struct qemu_program {
	char path[PATH_MAX];
	char root[PATH_MAX];   /* of its tree, without links; "": the host's */
	/* The beginning of its command line, NULL at the end. */
	const char *word[QEMU_WORDS + 1];
	char text[3 * PATH_MAX];
};

/* path: absolute. ret is not to be copied. */
void qemu_program_find(const char *path, struct qemu_program *ret);

#endif
