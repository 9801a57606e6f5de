/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the jailer. The jailer is a separate process, the only
 * one that can make jails. It gets numbers and descriptors, never a path or an
 * argument, and builds QEMU's command line itself (jail_wire.h). Its machines
 * die with it. It ends when no process has this side's socket any more, so a
 * new server that gets the socket can adopt its machines. All functions run on
 * the loop.
 */
#ifndef VM_JAIL_H
#define VM_JAIL_H

#include "jail_wire.h"
#include "vm/os/loop.h"
#include "walls.h"

struct jail;

struct jail_options {
	const char *qemu;      /* path of QEMU */
	const char *image_dir; /* directory of a booted machine's kernel */
	int kernel, initrd; /* verified files of the image; borrowed */
	uint32_t uid_first, uid_count; /* 0: the default range */
	/* most processes alive at once; further ones are refused */
	uint32_t most;
	bool kvm;              /* machines may use /dev/kvm */
	bool strict; /* fail if a required wall is missing */
	/* Findings of an earlier jailer, so that jail_open() need not wait for
	 * them; NULL: none. */
	const struct walls *known;
	/* the jailer has ended, and its machines with it */
	void (*gone)(void *arg);
	void *arg;
};

/* One machine's process; embedded in its owner, zeroed. */
struct jailed {
	/* The process is reaped, or was never started (status 0, *err set).
	 * Called once. */
	void (*ended)(struct jailed *m, int status, const struct err *err);
	/* The answer to jailed_ask_cost(). May be NULL. */
	void (*cost)(struct jailed *m, uint64_t bytes);
	struct jail *jail; /* NULL when there is no process */
	struct list node;
	uint32_t id;
};

/*
 * Starts the jailer and waits (some 0.1 s, bounded) until it has built the root
 * of all jails and tested the walls on a running QEMU. *ret_walls gets its
 * findings and must outlive the jail. With `known` it does not wait: the
 * findings come later, and a jailer that finds fewer walls is ended. Return: 0,
 * or a negative errno with what is missing and a remedy.
 */
int jail_open(struct loop *loop, const struct jail_options *options,
	      struct jail **ret, struct walls *ret_walls, struct err *err);
/* Kills every machine and waits (bounded) for the jailer's end, even if other processes
 * have its socket. j may be NULL. */
void jail_close(struct jail *j);
/* As jail_close(), without waiting. */
void jail_leave(struct jail *j);
/* Returns the socket to the jailer; borrowed. */
int jail_socket(const struct jail *j);

/*
 * Takes over the jailer of a dead server. sock: the connected socket to it; consumed.
 * Start no machine in it. Return: 0 or negative errno.
 */
int jail_adopt(struct loop *loop, int sock, struct jail **ret);
/* Adopts a machine of this jailer; `ended` follows at once if it has ended. */
void jail_keep(struct jail *j, uint32_t id, struct jailed *m);
/* Kills all machines that were not adopted. */
void jail_sweep(struct jail *j);
bool jail_is_empty(const struct jail *j);

/* Starts a process. Set m->ended before. fds: as enum jail_fd in jail_wire.h
 * says; all borrowed. Return: 0 or negative errno. */
int jail_start(struct jail *j, const struct jail_request *what, const int *fds,
	       struct jailed *m, struct err *err);
/* Informs the zygote which pages m has written since it was forked. Machines
 * forked later then copy these pages at once. Return: 0 or -EPIPE. */
int jailed_teach(struct jailed *m, uint32_t zygote);
/*
 * Measures the machine's memory: cost() gets the bytes that it shares with no other
 * process, 0 if /proc does not tell. If the process ends before, cost() is not called.
 */
void jailed_ask_cost(struct jailed *m);
/* Kills the process; `ended` follows. */
void jailed_kill(struct jailed *m);
/* Kills the process; no event follows. Does nothing if there is none. */
void jailed_drop(struct jailed *m);

#endif
