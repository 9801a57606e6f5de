/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FS: gives the host access to the files of a session's or a shared machine.
 * Each request is carried out at once, with the user's rights only, or on the
 * user's own files only. So a hostile program that changes the tree meanwhile
 * gains no access that it does not have itself. Runs in init.
 */
#ifndef GUEST_FS_H
#define GUEST_FS_H

#include "layout/base/err.h"
#include "guest/os/port.h"

struct fs_trees {
	int home, root; /* directories; -1: that tree may not be used */
	/* Puts the list of the machine's processes; NULL: not supported.
	 * Return: 0 or negative errno. */
	int (*processes)(void *arg, struct wire_writer *out);
	void *arg;
};

/* Answers a request; call it only if port_can_answer(). Return: 0, or -EPROTO:
 * the request breaks a rule. */
int fs_answer(const struct fs_trees *trees, struct port *port, const struct frame *frame,
	      struct err *err);

#endif
