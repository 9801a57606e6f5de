/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases on machines that a dead process had. The caller has recovered the
 * job's replay buffer or the shared machine's mux. All functions run on the
 * loop.
 */
#include "pool_class.h"

#include <errno.h>

#include "layout/base/cleanup.h"

/* Completes the lease: its machine exists. */
static void adopted(struct vm_lease *l, const struct vm_origin *o,
		    uint64_t granted_ns)
{
	l->machine->lease = l;
	l->granted = true;
	l->info = (struct vm_lease_info){
		.source = o->source, .accel = o->accel,
		.template_id = o->template_id, .granted_ns = granted_ns,
	};
	list_add_tail(&l->vm->machines, &l->machine->node);
}

static struct machine_spec spec_of(struct machines *vm, const struct vm_class *cls,
				   unsigned scale)
{
	return (struct machine_spec){
		.loop = vm->loop, .backend = vm->backend, .cls = cls,
		.scale = scale, .ev = &pool_machine_events, .arg = vm,
		.owner = class_get(vm, cls),
	};
}

int pool_adopt(struct vm_lease *l, int wire, int monitor)
{
	const struct vm_replay *t = l->job->replay;
	struct vm_class cls = { .memory_mib = t->origin.memory_mib,
				.cpus = t->origin.cpus };
	struct machine_spec spec = spec_of(l->vm, &cls, t->origin.scale);
	int r = -ENOMEM;

	l->cls = spec.owner;
	if (l->cls) {
		r = machine_adopt(&spec, wire, monitor, l->job, l->events,
				  l->arg, &l->machine);
	} else {
		fd_close(&wire);
		fd_close(&monitor);
	}
	if (r < 0)
		return r;
	l->runs = 1;
	adopted(l, &t->origin, t->granted_ns);
	return 0;
}

int pool_adopt_shared(struct vm_lease *l, struct vm_mux *mux, int wire,
		      int monitor, bool paused)
{
	struct vm_class cls = { .memory_mib = mux->origin.memory_mib,
				.cpus = mux->origin.cpus,
				.environment = l->need.environment };
	struct machine_spec spec = spec_of(l->vm, &cls, mux->origin.scale);
	int r = -ENOMEM;

	l->cls = spec.owner;
	if (l->cls) {
		r = machine_adopt_shared(&spec, mux, wire, monitor, paused,
					 &l->machine);
	} else {
		fd_close(&wire);
		fd_close(&monitor);
	}
	if (r < 0)
		return r;
	/* the class owns the reference */
	l->need.environment = l->cls->cls.environment;
	l->shared = true;
	l->share.mux = mux;
	adopted(l, &mux->origin, now_ns());
	return 0;
}
