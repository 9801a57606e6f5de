/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the files in the machine of a session or a sandbox, for fsd/fuse; and the
 * idle machines of sessions and sandboxes, for the scheduler. Context: the loop's thread,
 * in a fiber or not; no call waits.
 */
#ifndef FSD_MACHINE_FILES_H
#define FSD_MACHINE_FILES_H

#include "fsd/fsd.h"
#include "vm/vm.h"

struct sandbox;

struct machine_files {
	struct sandbox *sandbox; /* borrowed; a session is a sandbox, too: sandboxes.h */
	const char *name;        /* borrowed */
	uid_t uid;
	gid_t gid;
	uint32_t tree;           /* enum wire_fs_tree: which files of the machine */
};

/* Finds a file tree by its key: the number of the session or sandbox, with GUEST_ROOT for
 * the tree from / on. Return: false: the session or sandbox has ended. */
bool machine_files_find(struct fsd *d, uint64_t key, struct machine_files *ret);
/* For guest_inodes_adopt(); d: struct fsd. Return: true if the session or sandbox of this
 * key exists and its machine was adopted. */
bool machine_files_are_kept(void *d, uint64_t key);
/* Return: true if the user may see these files. */
bool machine_files_are_for(const struct machine_files *h, uid_t uid);
/* Sends a request to the machine, and sets fs->tree. Return: as vm_fs(); -ESTALE also if
 * there is no machine. */
int machine_files_ask(const struct machine_files *h, struct wire_fs *fs, vm_fs_done *done,
		      void *arg);

/* Return: how many machines of sessions and sandboxes are in use now, not idle. */
unsigned kept_machines_in_use(struct fsd *d);
/* Takes back the machine of uid that was idle longest: sched_host.take_back(), see
 * sched.h. arg: struct fsd. */
bool take_back(void *arg, uid_t uid, uint64_t idle_ns);

#endif
