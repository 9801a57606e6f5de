/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A QEMU that is restored from a template: a machine, or a zygote. The commands
 * of a restore are in the monitor's socket before QEMU has started, so nobody
 * waits for greetings.
 */
#ifndef VM_RESTORE_H
#define VM_RESTORE_H

#include "process.h"
#include "template.h"

/*
 * Starts the process; *ret_wire is the host's end of its wire, nonblocking, the
 * caller's. cls: what bounds it; its template may be that of several classes.
 * kind: JAIL_RESTORE or JAIL_ZYGOTE. Return: 0 or negative errno.
 */
int restore_start(const struct template_context *g, const struct template *t,
		  const struct vm_class *cls, enum jail_kind kind,
		  const struct process_events *ev, void *arg, struct process **ret, int *ret_wire,
		  struct err *err);
/* A machine forked off a zygote that lives, the same. It is stopped. */
int restore_fork(const struct template_context *g, const struct template *t,
		 const struct vm_class *cls, uint32_t zygote, bool hot,
		 const struct process_events *ev, void *arg,
		 struct process **ret, int *ret_wire, struct err *err);

/* The descriptors of the class's layers, into ret. Return: how many. */
unsigned restore_layers(const struct vm_class *cls, int *ret);

/* Has the guest's state read. send puts one command, with the caller's limits
 * and answers. */
void restore_send(void (*send)(void *arg, const char *command,
			       const char *arguments), void *arg);
/* An event says that the state is there: the guest may go on. */
bool restore_is_complete(const char *event, const char *status);

#endif
