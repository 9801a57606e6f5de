/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: a process beside the daemon for the few things that take rights
 * which the daemon has given up (restrain.h). It is told what, never where: it
 * knows one mount point, one program to start, and of another process no more
 * than the system call that it is in.
 *
 *   CLONE   a descriptor of the mount's root, a clone where that is allowed
 *   NOTIFY  starts the helper for watchers: its socket, its pidfd
 *   CALL    the system call of a process that waits for the mount
 *   UMOUNT  takes the mount away
 */
#ifndef FSD_KEEPER_H
#define FSD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../layout/layout.h"

#define KEEPER_COMMAND "keeper"
#define KEEPER_CALL_WORDS 4 /* its number, three arguments */

struct keeper;
struct loop;
struct mount_options;

int keeper_open(const struct mount_options *options, struct keeper **ret,
		struct err *err);
/* Tells once, from the loop, that it has ended or does not answer any more.
 * Return: 0 or negative errno. */
int keeper_watch(struct keeper *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg);
/* It ends by itself. NULL is fine. */
void keeper_close(struct keeper *k);

/* Each is bounded. Return: 0 or a descriptor, or a negative errno. */
int keeper_clone(struct keeper *k, bool *ret_is_clone);
int keeper_notify(struct keeper *k, int *ret_sock, int *ret_pidfd,
		  pid_t *ret_pid);
int keeper_call(struct keeper *k, pid_t pid,
		unsigned long long ret[KEEPER_CALL_WORDS]);
int keeper_umount(struct keeper *k);

/* The process: KEEPER_COMMAND MNT own|other; its socket is descriptor 3. */
int keeper_main(int argc, char **argv);

#endif
