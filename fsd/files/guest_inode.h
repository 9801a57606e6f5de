/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inode numbers of files in machines. This is a table of paths only: the machine
 * alone knows which files exist. A lookup makes a number, which lives until the kernel
 * forgets it. The path of a number may change meanwhile. The number has no path after
 * the file was removed, or after its session has ended.
 */
#ifndef FSD_GUEST_INODE_H
#define FSD_GUEST_INODE_H

#include <stdbool.h>
#include <stdint.h>

struct guest_inodes;

/* The key of a tree of files (`session` below) is the number of a session or a sandbox.
 * A sandbox has a second tree, its root: the key of that has this bit too. */
#define GUEST_ROOT (1ull << 62)

/* handover: borrowed; NULL: the numbers are not kept for another server. Return: 0 or
 * -ENOMEM. */
struct handover;
int guest_inodes_new(struct handover *handover, struct guest_inodes **ret);
/* Restores the numbers of the previous server. is_there(): returns whether the session or
 * sandbox of this key (perhaps with GUEST_ROOT) exists. */
void guest_inodes_adopt(struct guest_inodes *all,
			bool (*is_there)(void *arg, uint64_t session), void *arg);
void guest_inodes_free(struct guest_inodes *all);

/* Return: the path of a number below its tree, borrowed until the next call here, and
 * in *ret_session the tree's key; NULL: the number has no path any more. */
const char *guest_inode_path(struct guest_inodes *all, uint64_t ino,
			     uint64_t *ret_session);
/* Return: also false if the number is not known. */
bool guest_inode_is_dir(struct guest_inodes *all, uint64_t ino);
/* Counts a lookup of a file that exists. Return: its number; 0: no memory. */
uint64_t guest_inode_found(struct guest_inodes *all, uint64_t session, const char *path,
			   bool is_dir);
void guest_inode_forget(struct guest_inodes *all, uint64_t ino, uint64_t count);
/* Call it when the file at path was removed or replaced: its number has no path any
 * more. */
void guest_inode_gone(struct guest_inodes *all, uint64_t session, const char *path);
/* Call it after a rename: the file, and all files below it, have new paths. */
void guest_inode_moved(struct guest_inodes *all, uint64_t session, const char *from,
		       const char *to);
/* Call it when the session has ended: none of its numbers has a path any more. No-op on
 * NULL. */
void guest_inode_drop(struct guest_inodes *all, uint64_t session);

#endif
