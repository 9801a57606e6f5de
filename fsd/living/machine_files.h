/* SPDX-License-Identifier: Apache-2.0 */
/* The files of sessions and sandboxes, and the machines that these keep while they are
 * idle. */
#ifndef FSD_MACHINE_FILES_H
#define FSD_MACHINE_FILES_H

#include "fsd/fsd.h"
#include "vm/vm.h"

struct sandbox;

struct machine_files {
	struct sandbox *sandbox; /* or a session */
	const char *name;
	uid_t uid;
	gid_t gid;
	uint32_t tree;           /* enum wire_fs_tree */
};

/* By its key: the number of the session or sandbox, perhaps with GUEST_ROOT.
 * False: it has ended. */
bool machine_files_find(struct fsd *d, uint64_t key, struct machine_files *ret);
/* For guest_inodes_adopt(); d: struct fsd. Is it there, with a machine of a server
 * before this one? */
bool machine_files_are_kept(void *d, uint64_t key);
bool machine_files_are_for(const struct machine_files *h, uid_t uid);
/* Asks its machine; fs->tree is set. As vm_fs(); -ESTALE also: there is none. */
int machine_files_ask(const struct machine_files *h, struct wire_fs *fs, vm_fs_done *done,
		      void *arg);

/* Machines of sessions and sandboxes that something uses just now. */
unsigned kept_machines_in_use(struct fsd *d);
/* Takes an idle machine of uid's: the scheduler's take_back(), see sched.h. arg: the
 * struct fsd. */
bool take_back(void *arg, uid_t uid, uint64_t idle_ns);

#endif
