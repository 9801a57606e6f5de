/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private mount: it lives as long as the `fsd run` that asked for it.
 *
 *   fsd run                    its holder, a process of its own
 *   private_start()  --------> makes DIR, locks it           (cli/private_holder.c)
 *                    <-------- DIR
 *                    <-------- a byte and the mount's root, when it answers
 *   private_stop()   --------> HOLDER_LEAVE; the kernel sends it, too, if the
 *                              client dies
 *                              ends the mount, removes DIR, ends
 *
 * DIR is in $TMPDIR or /tmp, and as own_dir.h says: a later `fsd run` removes DIR if
 * its holder was killed.
 */
#ifndef FSD_PRIVATE_H
#define FSD_PRIVATE_H

#include <limits.h>
#include <signal.h>

#include "vm/os/spawn.h"

#define PRIVATE_COMMAND "private" /* COMMAND JOBS PRIVATE_PLAIN|PRIVATE_SPACE RULE...:
				     the holder of a client; SPAWN_FD_FIRST is its socket */
#define PRIVATE_PLAIN "plain"     /* without a namespace */
#define PRIVATE_SPACE "namespace"
#define PRIVATE_NO_NAMESPACE 77   /* exit code of the holder: the system allows no
				   * namespace */
#define PRIVATE_NAME "fsd-run-"
#define PRIVATE_MNT "/mnt"
#define PRIVATE_DIR 1024
#define PRIVATE_PATH (PRIVATE_DIR + 16)
/* From so many jobs on, the mount keeps machines ready and forks them from a running one.
 * To prepare that takes a few seconds of a processor. */
#define PRIVATE_MANY 50u
#define PRIVATE_LEAVE (SIGRTMIN + 1) /* HOLDER_LEAVE of its holder */

struct private_mount {
	unsigned jobs;         /* the client's: about how many it will have */
	const char *const *rules; /* borrowed: what its jobs may reach */
	unsigned rule_count;      /* 0: they have no network */
	char dir[PRIVATE_DIR]; /* "": not known yet */
	char mnt[PRIVATE_PATH];
	int root;              /* descriptor of the mount's root, or -1 */
	struct child holder;
};
#define PRIVATE_NONE { .root = -1, .holder = { .pidfd = -1, .stderr_fd = -1 } }

/* Starts a private mount. command: its name for messages, as "run". signals: a signalfd;
 * a signal ends the start. Return: 0; 128 + the signal's number; or the exit code of a
 * failure. Call private_stop() in each case. */
int private_start(struct private_mount *p, const char *command, int signals);
void private_stop(struct private_mount *p); /* does nothing if there is none */

/* Removes directories that killed holders of this user have left. */
void private_clean(void);
/* Return: the directory in which private mounts are made. */
const char *private_base(void);
/* Removes the directory of a private mount with all its entries, and before that a dead
 * mount in it. */
void private_remove(const char *dir);

#endif
