/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a file's sum, and has it on record that it was right: the next server and the
 * next mount need not compare it.
 *
 * Hundreds of MB take 0.3 s of processor, and reading them up to as much again. That
 * is most of what a mount does before its first machine. A line of the record holds
 * while the host runs, and for one state of one file: its device, inode, size and times.
 * Each write changes the ctime, which no user can set.
 */
#ifndef VM_VERIFIED_H
#define VM_VERIFIED_H

#include "vm/os/sha.h"

#define VERIFIED_MAX 16u /* lines: 3 of the image, 2 of each template */

/*
 * Is `want` the sum of the file, as sha_file() or (sparse) sha_sparse() has it?
 * cache_dir: has the record; NULL: compare in any case, and record nothing. On a worker
 * thread: it reads the whole file unless the record has it.
 * Return: 0, -EBADMSG: it is not, -ECANCELED, or another negative errno.
 */
int verified_compare(const char *cache_dir, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel);

#endif
