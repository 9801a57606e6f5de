/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running QEMU: its process, what it writes on standard error, its
 * monitor. Whoever starts it learns of its end exactly once.
 */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include "argv.h"
#include "qmp.h"
#include "spawn.h"

struct process;

struct process_events {
	/* A monitor event; status as in qmp.h. */
	void (*event)(void *arg, const char *name, const char *status);
	/* It is reaped. It is still to be freed by process_free(). */
	void (*gone)(void *arg, const char *why);
};

/* fds[i] becomes number ARGV_FD_WIRE + i; borrowed. */
int process_new(struct loop *loop, const struct argv *argv, const int *fds,
		unsigned fd_count, const struct process_events *ev, void *arg,
		struct process **ret, struct err *err);
/* Kills what lives and waits for it (bounded); no event comes any more. */
void process_free(struct process *p);
struct qmp *process_qmp(struct process *p);
/* SIGKILL; gone follows. why: what gone is to say, NULL for the truth. */
void process_kill(struct process *p, const char *why);

#endif
