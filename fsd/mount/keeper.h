/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: a process beside the daemon for the few things that take rights
 * which the daemon has given up (restrain.h). It is told what, never where: it
 * knows one mount point, one program to start, and of another process no more
 * than the system call that it is in, and whether a file is among its own.
 *
 *   CLONE   a descriptor of the mount's root, a clone where that is allowed
 *   NOTIFY  starts the helper for watchers: its socket, its pidfd
 *   CALL    the system call of a process that waits for the mount
 *   UMOUNT  takes the mount away
 *   OPENS   whether a process has a file of this number open
 */
#ifndef FSD_KEEPER_H
#define FSD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "vm/os/loop.h"

#define KEEPER_COMMAND "keeper"
#define KEEPER_CALL_WORDS 4 /* its number, three arguments */

struct keeper;

int keeper_open(const char *mountpoint, bool allow_other, struct keeper **ret,
		struct err *err);
/* Tells once, from the loop, that it has ended or does not answer any more.
 * Return: 0 or negative errno. */
int keeper_watch(struct keeper *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg);
/* Blocks until all who wait have an answer, which is an error if there is none
 * for 3 s. NULL is fine. Return: true if anybody waited. */
bool keeper_settle(struct keeper *k);
/* It ends by itself. NULL is fine. */
void keeper_close(struct keeper *k);

/*
 * Each is bounded. In a fiber the loop goes on meanwhile, so all else may have
 * changed when it returns; at the start and at the end the process waits.
 * Return: 0 or a descriptor, or a negative errno.
 */
int keeper_clone(struct keeper *k, bool *ret_is_clone);
int keeper_call(struct keeper *k, pid_t pid,
		unsigned long long ret[KEEPER_CALL_WORDS]);
/* The mount must be there. */
int keeper_umount(struct keeper *k);
/* Return: 1 if it has, 0, or a negative errno. */
int keeper_opens(struct keeper *k, pid_t pid, uint64_t ino);

/* Messages, one struct each way, SOCK_SEQPACKET; descriptors beside them. */
enum keeper_op {
	KEEPER_CLONE = 1, KEEPER_NOTIFY, KEEPER_CALL, KEEPER_UMOUNT,
	KEEPER_OPENS,
	KEEPER_OPS
};

struct keeper_request {
	uint32_t op;
	int32_t pid;  /* CALL, OPENS */
	uint64_t ino; /* OPENS */
};

struct keeper_answer {
	int32_t code;      /* 0 or a negative errno */
	uint32_t is_clone; /* CLONE */
	int32_t pid;       /* NOTIFY */
	uint64_t call[KEEPER_CALL_WORDS];
};

/* A question of who is no fiber. Embedded; zero it. */
struct keeper_wait {
	struct list node; /* the keeper's own */
	struct keeper_request request;
	/* From the loop. fds: CLONE has one, NOTIFY its socket and its pidfd,
	 * the callee's; none if code is below 0. */
	void (*fn)(struct keeper_wait *w, const struct keeper_answer *a,
		   const int *fds);
	void *arg;
};

/* request and fn are to be set before. Return: 0; negative errno: fn is not
 * called. */
int keeper_ask_later(struct keeper *k, struct keeper_wait *w);
void keeper_forget(struct keeper *k, struct keeper_wait *w); /* fn is not */

/* The process: KEEPER_COMMAND MNT own|other; its socket is descriptor 3. */
int keeper_main(int argc, char **argv);

#endif
