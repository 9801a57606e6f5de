/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a file's checksum, and records that it was right: then the next
 * server and the next mount need not compare it again.
 *
 * Hundreds of MB take 0.3 s of processor time, and reading them up to as much
 * again. That is most of what a mount does before its first machine. A line of
 * the record is valid until the host is restarted, for one state of one file:
 * device, inode, size and times. Each write changes the ctime, and no user can
 * set that back.
 */
#ifndef VM_VERIFIED_H
#define VM_VERIFIED_H

#include "vm/os/sha.h"

#define VERIFIED_MAX 16u /* most lines: 3 of the image, 2 of each template */

/*
 * Compares the file's checksum with `want`. sparse: it is of sha_sparse(), else
 * of sha_file(). cache_dir: directory of the record; NULL: always compare, and
 * record nothing. Run it on a worker thread: it reads the whole file unless the
 * record has it. Return: 0, -EBADMSG: the file differs, -ECANCELED, or another
 * negative errno.
 */
int verified_compare(const char *cache_dir, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel);

#endif
