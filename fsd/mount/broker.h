/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: a helper process that still has rights which the server has given
 * up (restrain.h). It accepts no paths: it knows one mount point, and the programs
 * that it starts: fsd itself, fsd-door, and fusermount3 to unmount without root. Of
 * another process it reads only its present system call, and whether it has a file open.
 *
 *   CLONE   a descriptor of the mount's root, a clone where that is allowed
 *   INOTIFY starts the inotify helper: its socket, its pidfd
 *   CALL    the system call of a process that waits for the mount
 *   UMOUNT  unmounts
 *   OPENS   whether a process has a file of this number open
 *   DOOR    starts the network's helper, fsd-door: its socket, its pidfd
 *   BIND    binds a socket in the mount, in a process of its own: the socket and that
 *           process's pidfd. The socket listens if the process has ended well.
 *
 * All functions run on the loop.
 */
#ifndef FSD_BROKER_H
#define FSD_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "vm/os/loop.h"

#define BROKER_COMMAND "broker"
/* number of the call and its first three arguments */
#define BROKER_CALL_WORDS 4

struct broker;

/* door: the arguments of fsd-door, its path first; NULL: DOOR fails. */
int broker_open(const char *mountpoint, bool allow_other, const char *const *door,
		struct broker **ret, struct err *err);
/* Calls gone(arg) once, from the loop, when the broker has ended or does not
 * answer. Return: 0 or negative errno. */
int broker_watch(struct broker *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg);
/* Blocks until all waiting callers have an answer; an error if none comes for 3
 * s. k may be NULL. Return: true if any waited. */
bool broker_drain(struct broker *k);
/* Closes the socket; the broker then ends by itself. k may be NULL. */
void broker_close(struct broker *k);

/*
 * Each has a timeout. In a fiber the loop runs on meanwhile, so any state may
 * have changed when it returns; at the server's start and end the thread
 * blocks. Return: 0 or a descriptor, or a negative errno.
 */
int broker_clone(struct broker *k, bool *ret_is_clone);
int broker_call(struct broker *k, pid_t pid,
		unsigned long long ret[BROKER_CALL_WORDS]);
/* Unmounts; the mount must exist. */
int broker_umount(struct broker *k);
/* Starts a door. Return: its socket; *ret_pid is its process. */
int broker_door(struct broker *k, pid_t *ret_pid);
/* Returns 1 if the process has the file open, 0, or a negative errno. */
int broker_opens(struct broker *k, pid_t pid, uint64_t ino);

/* Messages: one struct in each direction, SOCK_SEQPACKET, with descriptors. */
enum broker_op {
	BROKER_CLONE = 1, BROKER_INOTIFY, BROKER_CALL, BROKER_UMOUNT,
	BROKER_OPENS, BROKER_BIND, BROKER_DOOR,
	BROKER_OPS
};

struct broker_request {
	uint32_t op;
	int32_t pid;  /* request CALL and OPENS: the process */
	uint64_t ino; /* request OPENS: the inode */
	uint32_t owner, port; /* BIND: see fsd/network/ports.h */
};

struct broker_answer {
	int32_t code;      /* 0 or a negative errno */
	uint32_t is_clone; /* answer to CLONE */
	int32_t pid;       /* answer to INOTIFY, BIND, DOOR: the process that was started */
	uint64_t call[BROKER_CALL_WORDS];
};

/* A question by a caller outside of fibers. Embedded; zero it. */
struct broker_wait {
	struct list node; /* link in the broker's own lists */
	struct broker_request request;
	/* Called from the loop. fds: for CLONE one, for INOTIFY, BIND and DOOR the
	 * socket and the pidfd, owned by the callee; none if code is below 0. */
	void (*fn)(struct broker_wait *w, const struct broker_answer *a,
		   const int *fds);
	void *arg;
};

/* Sends a question; set request and fn before. Return: 0; negative errno: fn is
 * not called. */
int broker_ask_later(struct broker *k, struct broker_wait *w);
/* Drops a question: fn is not called. */
void broker_forget(struct broker *k, struct broker_wait *w);

/* The broker's main function: BROKER_COMMAND MNT own|other DOOR...; its socket is
 * descriptor 3. DOOR...: the argument `door` of broker_open(). */
int broker_main(int argc, char **argv);

/* The main function of a process of BIND: PORT_COMMAND NAME; its socket is descriptor 3,
 * the mount's root descriptor 4. */
#define PORT_COMMAND "port"
int port_main(int argc, char **argv);

#endif
