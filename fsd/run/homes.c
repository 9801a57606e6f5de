/* SPDX-License-Identifier: Apache-2.0 */
#include "homes.h"

#include "fsd/files/remote.h"
#include "sandboxes.h"
#include "sessions.h"

bool home_find(struct fsd *d, uint64_t key, struct home *ret)
{
	uint64_t no = key & ~REMOTE_ROOT;
	struct sandbox *b = sandboxes_by_no(d, no);
	struct session *s = b ? NULL : sessions_by_no(d, no);

	*ret = (struct home){ .session = s, .sandbox = b };
	if (b) {
		ret->name = sandbox_name(b);
		ret->uid = sandbox_uid(b);
		ret->gid = sandbox_gid(b);
		ret->tree = key & REMOTE_ROOT ? WIRE_FS_ROOT : WIRE_FS_HOME;
	} else if (s) {
		ret->name = session_name(s);
		ret->uid = session_uid(s);
		ret->gid = session_gid(s);
	}
	return b || s;
}

bool home_is_kept(struct fsd *d, uint64_t key)
{
	struct home h;

	return home_find(d, key, &h) && h.sandbox && sandbox_is_there(h.sandbox);
}

bool home_is_for(const struct home *h, uid_t uid)
{
	return h->uid == uid || uid == 0;
}

int home_fs(const struct home *h, struct wire_fs *fs, vm_fs_done *done,
	    void *arg)
{
	fs->tree = h->tree;
	return h->sandbox ? sandbox_fs(h->sandbox, fs, done, arg)
			  : session_fs(h->session, fs, done, arg);
}
