/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: a process beside the daemon for the few things that take rights
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
#ifndef FSD_BROKER_H
#define FSD_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "vm/os/loop.h"

#define BROKER_COMMAND "broker"
#define BROKER_CALL_WORDS 4 /* its number, three arguments */

struct broker;

int broker_open(const char *mountpoint, bool allow_other, struct broker **ret,
		struct err *err);
/* Tells once, from the loop, that it has ended or does not answer any more.
 * Return: 0 or negative errno. */
int broker_watch(struct broker *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg);
/* Blocks until all who wait have an answer, which is an error if there is none
 * for 3 s. NULL is fine. Return: true if anybody waited. */
bool broker_drain(struct broker *k);
/* It ends by itself. NULL is fine. */
void broker_close(struct broker *k);

/*
 * Each is bounded. In a fiber the loop goes on meanwhile, so all else may have
 * changed when it returns; at the start and at the end the process waits.
 * Return: 0 or a descriptor, or a negative errno.
 */
int broker_clone(struct broker *k, bool *ret_is_clone);
int broker_call(struct broker *k, pid_t pid,
		unsigned long long ret[BROKER_CALL_WORDS]);
/* The mount must be there. */
int broker_umount(struct broker *k);
/* Return: 1 if it has, 0, or a negative errno. */
int broker_opens(struct broker *k, pid_t pid, uint64_t ino);

/* Messages, one struct each way, SOCK_SEQPACKET; descriptors beside them. */
enum broker_op {
	BROKER_CLONE = 1, BROKER_INOTIFY, BROKER_CALL, BROKER_UMOUNT,
	BROKER_OPENS,
	BROKER_OPS
};

struct broker_request {
	uint32_t op;
	int32_t pid;  /* CALL, OPENS */
	uint64_t ino; /* OPENS */
};

struct broker_answer {
	int32_t code;      /* 0 or a negative errno */
	uint32_t is_clone; /* CLONE */
	int32_t pid;       /* NOTIFY */
	uint64_t call[BROKER_CALL_WORDS];
};

/* A question of who is no fiber. Embedded; zero it. */
struct broker_wait {
	struct list node; /* the broker's own */
	struct broker_request request;
	/* From the loop. fds: CLONE has one, NOTIFY its socket and its pidfd,
	 * the callee's; none if code is below 0. */
	void (*fn)(struct broker_wait *w, const struct broker_answer *a,
		   const int *fds);
	void *arg;
};

/* request and fn are to be set before. Return: 0; negative errno: fn is not
 * called. */
int broker_ask_later(struct broker *k, struct broker_wait *w);
void broker_forget(struct broker *k, struct broker_wait *w); /* fn is not */

/* The process: BROKER_COMMAND MNT own|other; its socket is descriptor 3. */
int broker_main(int argc, char **argv);

#endif
