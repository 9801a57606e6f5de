/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running QEMU: its process, what it writes on standard error, its
 * monitor. Whoever starts it learns of its end exactly once.
 */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include "vm/jail/jail.h"
#include "qmp.h"

struct process;

struct process_events {
	/* A monitor event; status as in qmp.h. */
	void (*event)(void *arg, const char *name, const char *status);
	/* After process_ask_cost(): bytes of memory that it shares with no
	 * other process; 0: they cannot be known. */
	void (*cost)(void *arg, uint64_t bytes);
	/* It is reaped. It is still to be freed by process_free(). taken: the
	 * host has ended it, or let it not begin; it did nothing wrong. */
	void (*gone)(void *arg, const char *why, bool taken);
};

/*
 * fds: those from JAIL_FD_WIRE on, borrowed; its standard error and its monitor
 * are made here.
 */
int process_new(struct loop *loop, struct jail *jail,
		const struct jail_request *what, const int *fds,
		const struct process_events *ev, void *arg,
		struct process **ret, struct err *err);
/* One that an earlier daemon started there, with its monitor, which is consumed.
 * What it writes on standard error is lost. */
int process_adopt(struct loop *loop, struct jail *jail, uint32_t id, int monitor,
		  const struct process_events *ev, void *arg,
		  struct process **ret);
/* Kills what lives; no event comes any more. */
void process_free(struct process *p);
struct qmp *process_qmp(struct process *p); /* NULL: it has ended */
/* Its number with the jailer. */
uint32_t process_id(const struct process *p);
/* See jailed_teach(). */
int process_teach(struct process *p, uint32_t zygote);
/* `cost` follows, unless it ends before. */
void process_ask_cost(struct process *p);
/* SIGKILL; gone follows. why: what gone is to say, NULL for the truth. */
void process_kill(struct process *p, const char *why);
/* It is ending, as it seems: if it does not within a second, it is killed. */
void process_is_ending(struct process *p);

#endif
