/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes how far the making of a template is and how long it usually takes,
 * for users whose jobs wait for it. Owns pool_class.making. All functions run
 * on the loop.
 */
#include "pool_class.h"

#include <stdio.h>

#include "vm/qemu/template_store.h"

/* How long making a template usually takes, as long as none was made here. Measured on
 * an idle host, so it may take longer. */
static const unsigned usual_ms[VM_ACCEL_MAX] = {
	[VM_ACCEL_KVM] = 4000, [VM_ACCEL_TCG] = 20000,
};

/* Added to it for each MiB that an environment's imported modules take. */
static const unsigned module_ms[VM_ACCEL_MAX] = {
	[VM_ACCEL_KVM] = 50, [VM_ACCEL_TCG] = 500,
};

static unsigned guess_ms(const struct machines *vm, const struct environment *e,
			 enum vm_accel accel)
{
	unsigned ms = template_store_took_ms(vm->options.cache_dir, accel, "");
	uint64_t mib = e ? MIN(e->heap >> 20, 4096u) : 0;

	return (ms ? ms : usual_ms[accel]) + (unsigned)mib * module_ms[accel];
}

static void begin_clock(struct pool_class *c, enum vm_accel accel)
{
	const struct environment *e = c->cls.environment;
	unsigned ms = template_store_took_ms(c->vm->options.cache_dir, accel,
					     e ? e->id : "");

	c->making.since_ns = now_ns();
	c->making.accel = accel;
	c->making.usual_ms = ms ? ms : guess_ms(c->vm, e, accel);
}

void class_print_making(const struct pool_class *c, char *ret, size_t size)
{
	const struct class_making *m = &c->making;
	const char *step = m->step[0] ? m->step : "not begun";
	unsigned so_far = (unsigned)((now_ns() - m->since_ns) / NS_PER_S);
	unsigned usual = (m->usual_ms + 999) / 1000;

	if (!m->since_ns)
		snprintf(ret, size, "%s", step);
	else
		snprintf(ret, size, "%s (%u s so far, %s %u s%s)", step, so_far,
			 so_far <= usual ? "about" : "longer than the usual",
			 usual, so_far <= usual ? " in all" : "");
}

void vm_making(const struct vm_lease *lease, char *ret, size_t size)
{
	class_print_making(lease->cls, ret, size);
}

static void tell_waiting(const struct pool_class *c)
{
	char text[256];

	class_print_making(c, text, sizeof(text));
	list_for_each(pos, tmp, &c->waiting) {
		const struct vm_lease *l =
			list_entry(pos, struct vm_lease, node);

		if (l->events->making)
			l->events->making(l->arg, text);
	}
}

void class_progress(struct machines *vm, const struct vm_class *cls, const char *step,
		    enum vm_accel accel)
{
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		if (c->state != CLASS_MAKING || !vm_class_shares(&c->cls, cls))
			continue;
		snprintf(c->making.step, sizeof(c->making.step), "%s", step);
		if (accel != VM_ACCEL_AUTO &&
		    (!c->making.since_ns || c->making.accel != accel))
			begin_clock(c, accel);
		tell_waiting(c);
	}
}
