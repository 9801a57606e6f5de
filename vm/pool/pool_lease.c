/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a lease: calls granted(), failed() or lost_jailer() of its owner later,
 * from the loop. Starts no machine. Owns the lease's deferred call. All functions run on
 * the loop.
 */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>

static void lease_call(struct loop_call *call)
{
	struct vm_lease *l = call->arg;

	if (l->failed)
		l->events->failed(l->arg, l->why, l->sentence);
	else if (!l->lost_jailer)
		l->events->granted(l->arg);
	else if (l->events->lost_jailer)
		l->events->lost_jailer(l->arg);
}

void pool_defer(struct vm_lease *l)
{
	loop_defer(l->vm->loop, &l->call);
}

static void lease_init(struct vm_lease *l)
{
	l->call = (struct loop_call){ .fn = lease_call, .arg = l };
	list_init(&l->joined);
}

struct vm_lease *lease_new(struct machines *vm,
			   const struct vm_events *events, void *arg)
{
	struct vm_lease *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->vm = vm;
	l->events = events;
	l->arg = arg;
	lease_init(l);
	return l;
}

void lease_fail(struct vm_lease *l, enum vm_failure why, const char *sentence)
{
	if (l->failed)
		return;
	if (!l->granted) {
		list_del(&l->node);
		l->cls->waiting_count--;
	}
	l->failed = true;
	l->why = why;
	snprintf(l->sentence, sizeof(l->sentence), "%s", sentence);
	pool_defer(l);
}

void lease_strand(struct vm_lease *l)
{
	l->lost_jailer = true;
	pool_defer(l);
}

void pool_sign(const struct vm_lease *l, struct vm_origin *ret)
{
	const struct pool_class *c = l->cls;

	*ret = (struct vm_origin){
		.source = l->info.source, .accel = l->info.accel,
		.scale = c->tmpl.scale,
		.memory_mib = c->cls.memory_mib, .cpus = c->cls.cpus,
	};
	snprintf(ret->template_id, sizeof(ret->template_id), "%s",
		 l->info.template_id);
}
