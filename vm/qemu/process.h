/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running QEMU: its process, its standard error, its monitor. The end of
 * the process is reported exactly once. All functions run on the loop.
 */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include "vm/jail/jail.h"
#include "qmp.h"

struct process;

struct process_events {
	/* A monitor event; status as in qmp.h. */
	void (*event)(void *arg, const char *name, const char *status);
	/* The answer to process_ask_cost(): bytes of memory that the process
	 * shares with no other one; 0: not known. */
	void (*cost)(void *arg, uint64_t bytes);
	/* The process is reaped; call process_free(). taken: the host has ended
	 * it or kept it from starting, so QEMU and the guest are not at fault. */
	void (*gone)(void *arg, const char *why, bool taken);
};

/* Starts a QEMU. fds: its descriptors from JAIL_FD_WIRE on, borrowed.
 * process_new() makes those for standard error and the monitor. */
int process_new(struct loop *loop, struct jail *jail,
		const struct jail_request *what, const int *fds,
		const struct process_events *ev, void *arg,
		struct process **ret, struct err *err);
/* Adopts a QEMU that a dead server started. id: its slot in that jailer; relay: that of
 * its relay, 0: none. Consumes monitor. Its standard error is lost. */
int process_adopt(struct loop *loop, struct jail *jail, uint32_t id, uint32_t relay,
		  int monitor, const struct process_events *ev, void *arg,
		  struct process **ret);
/* Kills the process if it lives. No event follows. */
void process_free(struct process *p);
/* Returns the process's monitor; NULL: the process has ended. */
struct qmp *process_qmp(struct process *p);
/* Returns the process's slot number in the jailer. */
uint32_t process_id(const struct process *p);
/* See jailed_teach(). */
int process_teach(struct process *p, uint32_t zygote);
/* Measures the process's memory: the event cost() follows, unless the process ends
 * before. */
void process_ask_cost(struct process *p);
/* Sends SIGKILL; gone() follows. why: what gone() reports; NULL: the true
 * reason. */
void process_kill(struct process *p, const char *why);
/* Call it when the process seems to end by itself: kills it if it lives on for
 * a second. */
void process_is_ending(struct process *p);

/* Starts the relay of its second port in that jail; once. account: borrowed. Return: 0,
 * or negative errno with a sentence. */
int process_relay(struct process *p, struct jail *jail, int account, struct err *err);
/* Return: the relay's number in the jailer; 0: there is none. */
uint32_t process_relay_id(const struct process *p);

#endif
