/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a file's sum, and remembers for the next server that it was right.
 *
 * Hundreds of MB take 0.3 s of processor. A server that takes over from a killed
 * one would pay that before its first machine, though the killed one would have
 * compared nothing again. An entry of `known` holds for one state of one file: its
 * device, inode, size and times. Each write changes the ctime, which no user can
 * set.
 */
#ifndef VM_VERIFIED_H
#define VM_VERIFIED_H

#include "vm/os/sha.h"
#include "vm/backend.h"

/*
 * Is `want` the sum of the file, as sha_file() or (sparse) sha_sparse() has it?
 * known: of the mount, or NULL; one thread at a time has it.
 * Return: 0, -EBADMSG: it is not, -ECANCELED, or another negative errno.
 */
int verified_compare(struct vm_known *known, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel);

#endif
