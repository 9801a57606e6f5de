/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extended attribute of a directory in a machine: how many of its entries
 * no listing shows, because they are links, fifos and the like. All functions
 * run on the loop.
 */
#include "ops_refusal.h"
#include "ops_guest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fsd/files/guest_inode.h"

#define XATTR_HIDDEN "user.fsd.hidden"

static void reply_xattr(fuse_req_t req, const char *data, size_t len,
			size_t size)
{
	if (!size)
		fuse_reply_xattr(req, len);
	else if (size < len)
		ops_answer(req, -ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

static void hidden_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct wire_cursor c;
	char text[16];
	int len;

	wire_begin(&c, data, size);
	len = snprintf(text, sizeof(text), "%u", wire_get_u32(&c));
	reply_xattr(a->req, text, (size_t)len, a->want);
	ask_free(a);
}

/* Answers that a file, which is no directory, does not have the attribute. Return: false:
 * the error is another one. */
static bool hidden_failed(struct ask *a, int r)
{
	if (r != -ENOTDIR)
		return false;
	ops_answer(a->req, -ENODATA);
	ask_free(a);
	return true;
}

static bool is_dir(fuse_req_t req, fuse_ino_t ino)
{
	return guest_root_key(ino) || guest_inode_is_dir(ops_fsd(req)->guest_inodes, ino);
}

bool guest_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size)
{
	if (!guest_is(ino))
		return false;
	if (!strcmp(name, XATTR_HIDDEN) && is_dir(req, ino))
		return ask(req, ino, NULL, &(struct ask){
			.fs.op = WIRE_FS_HIDDEN, .want = size,
			.answered = hidden_answered, .failed = hidden_failed });
	ops_answer(req, -ENODATA);
	return true;
}

bool guest_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	static const char hidden[] = XATTR_HIDDEN;

	if (!guest_is(ino))
		return false;
	reply_xattr(req, hidden, is_dir(req, ino) ? sizeof(hidden) : 0, size);
	return true;
}
