/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a QEMU from a template: a machine, or a zygote. The commands of the
 * restore are put into the monitor's socket before QEMU has started, so the
 * client waits for no greeting. All functions run on the loop.
 */
#ifndef VM_RESTORE_H
#define VM_RESTORE_H

#include "process.h"
#include "template.h"

/*
 * Starts the process. cls: its limits; several classes may share the template.
 * kind: JAIL_RESTORE or JAIL_ZYGOTE. *ret_wire: the host's end of its wire,
 * nonblocking, owned by the caller. Return: 0 or negative errno.
 */
int restore_start(const struct template_context *g, const struct template *t,
		  const struct vm_class *cls, enum jail_kind kind,
		  const struct process_events *ev, void *arg, struct process **ret, int *ret_wire,
		  struct err *err);
/* Forks a machine off a running zygote. The machine is stopped. Arguments as
 * above; hot: see vm_backend's start(). */
int restore_fork(const struct template_context *g, const struct template *t,
		 const struct vm_class *cls, uint32_t zygote, bool hot,
		 const struct process_events *ev, void *arg,
		 struct process **ret, int *ret_wire, struct err *err);

/* Copies the descriptors of the class's layers into ret; borrowed. Return: how
 * many. */
unsigned restore_layers(const struct vm_class *cls, int *ret);

/* Makes QEMU read the guest's state. Calls send for each command; send sets its
 * timeout and handles the answer. */
void restore_send(void (*send)(void *arg, const char *command,
			       const char *arguments), void *arg);
/* Returns whether a monitor event says that the state is read; then "cont" may
 * follow. */
bool restore_is_complete(const char *event, const char *status);

#endif
