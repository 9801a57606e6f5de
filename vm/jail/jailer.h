/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jailer's main function. The server starts its own executable as the
 * jailer.
 */
#ifndef VM_JAILER_H
#define VM_JAILER_H

#define JAILER_COMMAND "jailer" /* first argument of the executable */

enum jailer_fd { JAILER_FD_SOCK = 3, JAILER_FD_KERNEL, JAILER_FD_INITRD };

/*
 * Arguments: JAILER_COMMAND QEMU IMAGE_DIR UID_FIRST UID_COUNT kvm|tcg MOST. It
 * inherits the socket to the server and the image's files (enum jailer_fd).
 * MOST: processes that may live at once. Return: an exit code.
 */
int jailer_main(int argc, char **argv);

#endif
