/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount that a command uses: the one of --mount, FSD_MOUNT or the host's service, or
 * a private one; and the signals that reach the command meanwhile.
 */
#ifndef FSD_CLIENT_MOUNT_H
#define FSD_CLIENT_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "private.h"
#include "run_client.h"

/* Signals that wait at a descriptor: INT, TERM, QUIT, and HUP unless it is ignored. */
struct client_signals {
	int fd;       /* owned: a signalfd, or -1 */
	int more;     /* set by the caller: another signal, or 0 */
	uint64_t got; /* bit set of the signals that have come */
	int last;     /* number of the last one, or 0 */
};
#define CLIENT_SIGNALS_NONE { .fd = -1 }

void client_signals_catch(struct client_signals *s);
/* Takes a signal that has come. Return: its number, 0: none has. */
int client_signal(struct client_signals *s);
/* Ends this process by that signal, because a shell stops a loop at Ctrl-C only if the
 * command died of the signal. Returns for a signal that would dump core, and for 0. */
void client_die_of(int number);

struct client_mount {
	const char *mnt; /* its path for messages; it may exist only in another
			  * namespace */
	int root;        /* owned: the mount's, or -1 */
	struct private_mount own;
};
#define CLIENT_MOUNT_NONE { .root = -1, .own = PRIVATE_NONE }

/* Opens the mount, or starts a private one. From then on signals wait at their
 * descriptor. Return: 0, 128 + the number of a signal, or an exit code, and standard
 * error has the sentence. */
int client_mount_open(struct client_mount *m, const struct run_client *c,
		      struct client_signals *signals);
/* Opens a mount by its path. Return: 0 or an exit code, and standard error has the
 * sentence. */
int client_mount_at(struct client_mount *m, const char *mnt);
void client_mount_close(struct client_mount *m); /* does nothing if there is none */
/* True if client_mount_open() starts a private mount. */
bool client_mount_is_private(const struct run_client *c);
/* Return: how long a command waits for a mount that does not answer: FSD_PATIENCE in
 * seconds, or a minute. */
uint64_t client_patience_ns(void);

#endif
