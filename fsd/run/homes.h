/* SPDX-License-Identifier: Apache-2.0 */
/* Whose files a tree in a machine are: a session's, or a sandbox's. */
#ifndef FSD_HOMES_H
#define FSD_HOMES_H

#include "fsd/fsd.h"

struct sandbox;
struct session;

struct home {
	struct session *session; /* or NULL */
	struct sandbox *sandbox; /* or NULL */
	const char *name;
	uid_t uid;
	gid_t gid;
	uint32_t tree;           /* enum wire_fs_tree */
};

/* By its key: the number of the session or sandbox, perhaps with REMOTE_ROOT.
 * False: it has ended. */
bool home_find(struct fsd *d, uint64_t key, struct home *ret);
/* Is it there, with a machine of a server before this one? */
bool home_is_kept(struct fsd *d, uint64_t key);
bool home_is_for(const struct home *h, uid_t uid);
/* Asks its machine; fs->tree is set. As vm_fs(); -ESTALE also: there is none. */
int home_fs(const struct home *h, struct wire_fs *fs, vm_fs_done *done,
	    void *arg);

#endif
