/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of vm.h and lease.h, by means of the pool and its machines: start
 * and end, health, statistics, leases, adoption. Owns struct machines. All functions
 * run on the loop.
 */
#include "vm/vm.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/health.h"
#include "vm/qemu/host.h"
#include "vm/jail/jail_wire.h"
#include "pool_class.h"
#include "pool_shared.h"
#include "vm/channel/replay.h"

const char *const vm_source_names[VM_SOURCE_MAX] = {
	[VM_WARM] = "warm",
	[VM_RESTORED] = "restored",
	[VM_BOOTED] = "booted",
};

/* --- health ------------------------------------------------------------- */

/* Prints what has failed, and since when. */
static int bad_health(const struct pool_class *c, struct err *ret)
{
	time_t since = (time_t)(c->bad_since_ns / NS_PER_S);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&since, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return err_set(ret, c->err.code, "%.400s (since %s)", c->err.text,
		       when);
}

int vm_health(const struct machines *vm, struct err *ret)
{
	const struct pool_class *c =
		list_first(&vm->classes, struct pool_class, node);
	char making[256];

	if (vm->broken)
		return err_set(ret, -EIO,
			       "the process that makes machines has ended: "
			       "another server takes over");
	switch (c->state) {
	case CLASS_NONE:
	case CLASS_MAKING:
		class_print_making(c, making, sizeof(making));
		return err_set(ret, -EAGAIN,
			       "the template machine is being made: %s", making);
	case CLASS_FAILED:
		return bad_health(c, ret);
	case CLASS_READY:
		break;
	}
	if (c->bad_since_ns)
		return bad_health(c, ret);
	list_for_each(pos, tmp, &vm->classes)
		if (list_entry(pos, struct pool_class, node)->slow)
			return err_set(ret, -EAGAIN, "%s", CLASS_SLOW);
	return err_set(ret, 0, HEALTH_OK "%s",
		       c->tmpl.kvm_fails ?
			       " (emulated: KVM does not work here)" : "");
}

bool vm_has_no_template(const struct machines *vm)
{
	return list_first(&vm->classes, struct pool_class, node)->state ==
	       CLASS_FAILED;
}

bool vm_is_failing(const struct machines *vm)
{
	return vm_has_no_template(vm) ||
	       list_first(&vm->classes, struct pool_class, node)->bad_row;
}

static void on_tell(struct loop_call *call)
{
	struct machines *vm = call->arg;
	struct err now;

	vm_health(vm, &now);
	if (vm->told.code == now.code && !strcmp(vm->told.text, now.text))
		return;
	vm->told = now;
	if (vm->watch.changed)
		vm->watch.changed(vm->watch.arg);
}

static void on_progress(void *arg, const struct vm_class *cls,
			const char *sentence, enum vm_accel accel)
{
	struct machines *vm = arg;

	class_progress(vm, cls, sentence, accel);
	if (vm->watch.progress)
		vm->watch.progress(vm->watch.arg, sentence);
	loop_defer(vm->loop, &vm->tell);
}

static void on_boot_failed(void *arg)
{
	struct machines *vm = arg;

	vm->stats.boots_failed++;
}

static void on_broken(void *arg)
{
	struct machines *vm = arg;

	vm->broken = true;
	pool_strand(vm);
	if (vm->watch.broken)
		vm->watch.broken(vm->watch.arg);
}

static void on_prepared(void *arg)
{
	pool_kick(arg);
}

static void on_renewed(void *arg)
{
	struct machines *vm = arg;

	vm->stats.templates_made++;
	pool_kick(vm);
}

static void on_freed(void *arg)
{
	struct machines *vm = arg;

	if (vm->watch.freed)
		vm->watch.freed(vm->watch.arg);
	pool_kick(vm);
}

static void on_template_done(void *arg, const struct vm_class *cls,
			     const struct backend_template *t,
			     const struct err *err)
{
	struct machines *vm = arg;

	if (t) {
		vm->stats.accel = t->accel;
		vm->stats.templates_made += t->made;
		vm->guest_walls &= t->walls;
		vm->guest_seen = true;
	}
	pool_template_done(vm, cls, t, err);
}

/* --- start and end ------------------------------------------------------ */

static int copy_str(const char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

static int copy_strings(struct vm_options *to, const struct vm_options *from)
{
	int a = copy_str(&to->cache_dir, from->cache_dir);
	int b = copy_str(&to->image_dir, from->image_dir);
	int c = copy_str(&to->qemu.asked, from->qemu.asked);
	int d = copy_str(&to->qemu.brought, from->qemu.brought);

	return a < 0 || b < 0 || c < 0 || d < 0 ? -ENOMEM : 0;
}

static void vm_release(struct machines *vm)
{
	free((void *)(uintptr_t)vm->options.cache_dir);
	free((void *)(uintptr_t)vm->options.image_dir);
	free((void *)(uintptr_t)vm->options.qemu.asked);
	free((void *)(uintptr_t)vm->options.qemu.brought);
	free(vm);
}

static void on_begin(struct loop_call *call)
{
	pool_begin(call->arg);
}

int vm_new(struct loop *loop, const struct vm_options *options,
	   const struct vm_watch *watch, struct machines **ret_vm, struct err *err)
{
	struct machines *vm = calloc(1, sizeof(*vm));
	struct vm_allotment ours;
	int r;

	if (!vm)
		return err_sys(err, -ENOMEM, "the machines' room");
	vm->loop = loop;
	vm->options = *options;
	if (options->keep) {
		vm->keep = *options->keep;
		vm->options.keep = &vm->keep;
	}
	vm->watch = *watch;
	vm_allotment(&ours);
	vm->processors = ours.processors;
	vm->tell = (struct loop_call){ .fn = on_tell, .arg = vm };
	vm->begin = (struct loop_call){ .fn = on_begin, .arg = vm };
	vm->host = (struct backend_host){
		.loop = loop, .options = &vm->options,
		.template_done = on_template_done, .progress = on_progress,
		.boot_failed = on_boot_failed, .broken = on_broken,
		.prepared = on_prepared, .freed = on_freed,
		.renewed = on_renewed,
		.arg = vm,
	};
	r = copy_strings(&vm->options, options);
	if (r < 0)
		err_sys(err, r, "the machines' room");
	else
		r = options->backend->open(&vm->host, &vm->backend, err);
	if (r < 0) {
		vm_release(vm);
		return r;
	}
	vm->guest_walls = WIRE_WALLS_ALL;
	host_memory_open(&vm->memory);
	pool_init(vm);
	/* begin starts threads, so it must wait until the loop runs */
	loop_defer(loop, &vm->begin);
	*ret_vm = vm;
	return 0;
}

void vm_free(struct machines *vm)
{
	if (!vm)
		return;
	vm->backend->ops->close(vm->backend);
	pool_done(vm);
	loop_call_del(&vm->begin);
	loop_call_del(&vm->tell);
	host_memory_close(&vm->memory);
	vm_release(vm);
}

bool vm_guest_walls(const struct machines *vm, uint32_t *ret)
{
	*ret = vm->guest_walls & ~vm->backend->guest_lacks;
	return vm->guest_seen || vm->backend->guest_lacks;
}

const struct walls *vm_walls(const struct machines *vm)
{
	const struct vm_backend *ops = vm->backend->ops;

	return ops->walls ? ops->walls(vm->backend) : NULL;
}

bool vm_has_relays(const struct machines *vm)
{
	return vm->backend->ops->relay != NULL;
}

const struct vm_qemu *vm_qemu(const struct machines *vm)
{
	const struct vm_backend *ops = vm->backend->ops;

	return ops->qemu ? ops->qemu(vm->backend) : NULL;
}

void vm_stats(struct machines *vm, struct vm_stats *ret)
{
	*ret = vm->stats;
	ret->warm = pool_count(vm, MACHINE_WARM);
	ret->unheated = pool_unheated(vm);
	pool_count_idle(vm, ret);
	ret->starting = pool_count(vm, MACHINE_STARTING) +
			pool_count(vm, MACHINE_HEATING);
	ret->leased = pool_count(vm, MACHINE_LEASED) +
		      pool_count(vm, MACHINE_RUNNING);
	list_for_each(pos, tmp, &vm->classes)
		ret->waiting += list_entry(pos, struct pool_class, node)
					->waiting_count;
}

bool vm_give_way(struct machines *vm)
{
	return pool_give_way(vm);
}

/* --- templates of environments -------------------------------------------- */

enum vm_made vm_template_state(const struct machines *vm,
			       const struct environment *e, struct err *ret)
{
	static const enum vm_made made[] = {
		[CLASS_NONE] = VM_MADE_NOT, [CLASS_MAKING] = VM_MADE_MAKING,
		[CLASS_READY] = VM_MADE_READY, [CLASS_FAILED] = VM_MADE_FAILED,
	};
	enum vm_made best = VM_MADE_NOT;

	/* Classes of the same environment and other sizes may have other
	 * templates. */
	list_for_each(pos, tmp, &vm->classes) {
		const struct pool_class *c =
			list_entry(pos, struct pool_class, node);

		if (!vm_environment_same(c->cls.environment, e) ||
		    (best == VM_MADE_READY && c->state != CLASS_FAILED))
			continue;
		best = made[c->state];
		if (ret && best == VM_MADE_FAILED)
			*ret = c->err;
	}
	return best;
}

int vm_make_template(struct machines *vm, struct environment *e)
{
	struct pool_class *c = class_get(vm, &(struct vm_class){
		.memory_mib = MACHINE_MIB, .cpus = 1, .environment = e });

	if (!c)
		return -ENOMEM;
	class_want_template(c);
	return 0;
}

/* --- leases -------------------------------------------------------------- */

void vm_expect(struct machines *vm, uint32_t runner, const char *environment_id)
{
	pool_expect(vm, runner, environment_id);
}

struct vm_lease *vm_lease(struct machines *vm, const struct vm_need *need,
			  const struct vm_events *events, void *arg)
{
	struct vm_lease *l = lease_new(vm, events, arg);

	if (!l)
		return NULL;
	l->need = *need;
	if (pool_lease(vm, l) < 0) {
		free(l);
		return NULL;
	}
	return l;
}

bool vm_lease_is_first(const struct vm_lease *l, uint32_t *ret_mib,
		       uint32_t *ret_cpus)
{
	*ret_mib = vm_class_ram(&l->cls->cls) - (uint32_t)(MACHINE_EXTRA >> 20);
	*ret_cpus = l->cls->cls.cpus;
	return l->cls->state != CLASS_READY;
}

void vm_run(struct vm_lease *l, const struct vm_job *job)
{
	if (l->failed || l->shared)
		return;
	l->job = job;
	if (!l->runs++)
		l->first_run_ns = now_ns();
	if (l->of)
		pool_run_lane(l);
	else if (l->machine) /* otherwise the machine is being replaced */
		pool_run(l);
}

void vm_share(struct vm_lease *l, const struct vm_share *share)
{
	if (l->failed || l->shared || l->runs || l->of)
		return;
	l->shared = true;
	l->share = *share;
	l->first_run_ns = now_ns();
	if (l->machine)
		pool_share(l);
}

void vm_pause(struct vm_lease *l, bool pause)
{
	if (l->shared && l->machine && !l->failed)
		machine_pause(l->machine, pause);
}

struct vm_lease *vm_join(struct vm_lease *machine,
			 const struct vm_events *events, void *arg,
			 int *ret_error)
{
	struct vm_lease *l = lease_new(machine->vm, events, arg);
	int r = l ? pool_join(machine, l) : -ENOMEM;

	*ret_error = r;
	if (r == 0)
		return l;
	free(l);
	return NULL;
}

unsigned vm_lane(const struct vm_lease *l)
{
	return l->lane ? lane_number(l->lane) : 0;
}

void vm_mark(struct vm_lease *l, const struct vm_replay_flow *flow)
{
	if (lease_channel(l))
		channel_mark(lease_channel(l), flow);
}

void vm_commit_checkpoint(struct vm_lease *l)
{
	if (lease_channel(l))
		channel_commit_checkpoint(lease_channel(l));
}

struct vm_lease *vm_rejoin(struct vm_lease *machine, unsigned lane,
			   const struct vm_job *job, bool aborts,
			   const struct vm_events *events, void *arg)
{
	struct vm_lease *l = lease_new(machine->vm, events, arg);

	if (!l)
		return NULL;
	l->job = job;
	if (pool_rejoin(machine, lane, aborts, l) == 0)
		return l;
	free(l);
	return NULL;
}

void vm_adopted(struct machines *vm)
{
	list_for_each(pos, tmp, &vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->lanes)
			lanes_go(m->lanes);
	}
	if (vm->backend->ops->adopted)
		vm->backend->ops->adopted(vm->backend);
}

void vm_rest(struct vm_lease *l, struct vm_replay *replay)
{
	if (l->failed || !l->machine || l->shared)
		return;
	replay_invalidate(replay);
	pool_sign(l, &replay->origin);
	replay->granted_ns = l->info.granted_ns;
	machine_rest(l->machine, replay);
}

void vm_hear(struct vm_lease *l, const struct vm_events *events, void *arg)
{
	l->events = events;
	l->arg = arg;
}

void vm_kill(struct vm_lease *l, enum wire_kill_scope scope, unsigned sig)
{
	if (lease_channel(l))
		channel_kill(lease_channel(l), scope, sig);
}

int vm_fs(struct vm_lease *l, const struct wire_fs *fs, vm_fs_done *done,
	  void *arg)
{
	const struct vm_lease *has = l->of ? l->of : l;

	if (!has->machine || l->failed || !has->machine->ch)
		return -ESTALE;
	return channel_fs(has->machine->ch, fs, done, arg);
}

void vm_hold(struct vm_lease *l, bool hold)
{
	if (lease_channel(l))
		channel_hold(lease_channel(l), hold);
}

void vm_end(struct vm_lease *l)
{
	if (!l)
		return;
	pool_unlease(l);
	lease_network_end(l);
	free(l);
}

void vm_lease_info(const struct vm_lease *l, struct vm_lease_info *ret)
{
	*ret = l->info;
}
