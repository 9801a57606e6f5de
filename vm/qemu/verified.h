/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a file's sum, and remembers for the next server, and the next mount, that
 * it was right.
 *
 * Hundreds of MB take 0.3 s of processor, and reading them up to as much again. That
 * is most of what a mount does before its first machine. An entry of `known` holds for
 * one state of one file: its device, inode, size and times. Each write changes the
 * ctime, which no user can set.
 */
#ifndef VM_VERIFIED_H
#define VM_VERIFIED_H

#include "vm/os/sha.h"
#include "vm/options.h"

/* verified_kept.c. Fills in, once, what mounts before this one have found right, since
 * the host was started. */
void verified_recall(struct vm_known *known, const char *cache_dir);
/* Leaves to the next mount what is new of it. */
void verified_record(struct vm_known *known, const char *cache_dir);
/*
 * Is `want` the sum of the file, as sha_file() or (sparse) sha_sparse() has it?
 * known: of the mount, or NULL; one thread at a time has it.
 * Return: 0, -EBADMSG: it is not, -ECANCELED, or another negative errno.
 */
int verified_compare(struct vm_known *known, int fd, const char *want,
		     bool sparse, const atomic_bool *cancel);

#endif
