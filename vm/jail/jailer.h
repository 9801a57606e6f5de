/* SPDX-License-Identifier: Apache-2.0 */
/* The jailer as a program: the daemon's own executable, started again. */
#ifndef VM_JAILER_H
#define VM_JAILER_H

#define JAILER_COMMAND "jailer" /* as the executable's first argument */

enum jailer_fd { JAILER_FD_SOCK = 3, JAILER_FD_KERNEL, JAILER_FD_INITRD };

/* JAILER_COMMAND QEMU IMAGE_DIR UID_FIRST UID_COUNT kvm|tcg MOST, with the
 * socket to the daemon and the image's files; MOST is how many processes may
 * live at once. Return: an exit code. */
int jailer_main(int argc, char **argv);

#endif
