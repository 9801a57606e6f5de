/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FS: the files of a session's or a shared machine, used from outside. Each request is carried out at once
 * and by nobody's right but the user's own, or on nobody's file but the user's,
 * so that whatever a hostile program makes of the tree meanwhile, it gains
 * nothing that it could not do itself.
 */
#ifndef GUEST_FS_H
#define GUEST_FS_H

#include "layout/base/err.h"
#include "guest/os/port.h"

struct fs_trees {
	int home, root; /* directories; -1: there is no such tree to use */
	/* Puts the machine's processes, or NULL. Return: 0 or negative errno. */
	int (*processes)(void *arg, struct wire_writer *out);
	void *arg;
};

/* Puts the answer. There is room for one (port_can_answer()). Return: 0, or
 * -EPROTO: the request breaks a rule. */
int fs_answer(const struct fs_trees *trees, struct port *port, const struct frame *frame,
	      struct err *err);

#endif
