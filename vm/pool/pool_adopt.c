/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases on machines that a dead process had: with a job, between two steps of a
 * session, or shared. The caller has recovered the replay buffer or the shared machine's
 * mux; their figures are bounded here. All functions run on the loop.
 */
#include "pool_class.h"

#include <errno.h>
#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "vm/channel/replay.h"
#include "vm/jail/jail_wire.h"

/* Grants the lease: l->machine is an adopted machine. */
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

/* See machine_adopt(). */
static int pool_adopt(struct vm_lease *l, struct vm_replay *t, int wire, int monitor)
{
	struct vm_class cls = { .memory_mib = t->origin.memory_mib,
				.cpus = t->origin.cpus };
	struct machine_spec spec = spec_of(l->vm, &cls, t->origin.scale);
	int r = -ENOMEM;

	l->cls = spec.owner;
	if (l->cls) {
		r = machine_adopt(&spec, t, wire, monitor, l->job, l->events,
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

/* See machine_adopt_shared(). */
static int pool_adopt_shared(struct vm_lease *l, struct vm_mux *mux, int wire,
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
	/* the reference is the class's own, so the lease keeps none */
	l->need.environment = l->cls->cls.environment;
	l->shared = true;
	l->share.mux = mux;
	adopted(l, &mux->origin, now_ns());
	return 0;
}

/* --- the doors of vm/lease.h ------------------------------------------------- */

/* Checks the bounds of what another process wrote. */
static bool is_sane(const struct vm_origin *o)
{
	return o->source < VM_SOURCE_MAX && o->accel < VM_ACCEL_MAX &&
	       o->scale && o->scale <= 100 && o->memory_mib &&
	       o->memory_mib <= JAIL_MEMORY_MIB_MAX && o->cpus &&
	       o->cpus <= JAIL_CPUS_MAX;
}

static void drop_keys(const struct machines *vm, const struct vm_keys *keys)
{
	if (vm->keep.drop && keys->wire)
		vm->keep.drop(vm->keep.arg, keys->wire);
	if (vm->keep.drop && keys->monitor)
		vm->keep.drop(vm->keep.arg, keys->monitor);
	if (vm->keep.drop && keys->account)
		vm->keep.drop(vm->keep.arg, keys->account);
}

/* Registers a dead server's jailer: its machines are killed unless they are
 * adopted. */
static void know_jail(struct machines *vm, uint64_t key, int sock)
{
	auto_close int owned = sock;

	if (owned >= 0 && vm->backend->ops->survivors)
		vm->backend->ops->survivors(vm->backend, key, take_fd(&owned));
}

/* Returns why a machine cannot be adopted, for the log. */
static const char *lacking(const struct vm_sockets *s, const struct vm_replay *t)
{
	return !t->sent ? "the last server had sent it nothing" :
	       s->jail < 0 ? "the socket of its jailer is lost" :
	       s->wire < 0 ? "its wire is lost" :
	       s->monitor < 0 ? "its monitor is lost" :
	       "its record is damaged, or it has just ended";
}

/* Adopts a machine of its own (not a shared one) with its job. job NULL: it waits between
 * two steps of a session. */
static struct vm_lease *adopt(struct machines *vm, const struct vm_sockets *sockets,
			      struct vm_replay *t, const struct vm_job *job,
			      const struct vm_events *events, void *arg)
{
	auto_close int jail = sockets->jail, wire = sockets->wire;
	auto_close int monitor = sockets->monitor, account = sockets->account;
	bool lives = t->sent && jail >= 0 && wire >= 0 && monitor >= 0 &&
		     vm->backend->ops->adopt;
	struct vm_lease *l = NULL;

	know_jail(vm, t->reach.keys.jail, take_fd(&jail));
	if (is_sane(&t->origin) &&
	    (lives || (job && replay_is_whole(t, !job->wire.output_limit))))
		l = lease_new(vm, events, arg);
	if (l) {
		l->job = job;
		if (!lives) {
			fd_close(&wire);
			drop_keys(vm, &t->reach.keys);
		}
		if (pool_adopt(l, t, take_fd(&wire),
			       lives ? take_fd(&monitor) : -1) == 0) {
			lease_network_take(l, lives ? take_fd(&account) : -1);
			return l;
		}
	}
	log_info("a machine of the last server cannot go on: %s", lacking(sockets, t));
	drop_keys(vm, &t->reach.keys);
	free(l);
	return NULL;
}

struct vm_lease *vm_adopt(struct machines *vm, const struct vm_sockets *sockets,
			  const struct vm_job *job,
			  const struct vm_events *events, void *arg)
{
	return adopt(vm, sockets, job->replay, job, events, arg);
}

struct vm_lease *vm_adopt_idle(struct machines *vm, const struct vm_sockets *sockets,
			       struct vm_replay *replay,
			       const struct vm_events *events, void *arg)
{
	return adopt(vm, sockets, replay, NULL, events, arg);
}

struct vm_lease *vm_adopt_shared(struct machines *vm,
				 const struct vm_sockets *sockets,
				 struct vm_mux *mux,
				 struct environment *environment, bool paused,
				 const struct vm_events *events, void *arg)
{
	auto_close int jail = sockets->jail, wire = sockets->wire;
	auto_close int monitor = sockets->monitor, account = sockets->account;
	bool lives = jail >= 0 && wire >= 0 && monitor >= 0 &&
		     vm->backend->ops->adopt && is_sane(&mux->origin);
	struct vm_lease *l = lives ? lease_new(vm, events, arg) : NULL;

	know_jail(vm, mux->reach.keys.jail, take_fd(&jail));
	if (l) {
		l->need.environment = environment;
		if (pool_adopt_shared(l, mux, take_fd(&wire), take_fd(&monitor),
				      paused) == 0) {
			lease_network_take(l, take_fd(&account));
			return l;
		}
	}
	drop_keys(vm, &mux->reach.keys);
	free(l);
	return NULL;
}
