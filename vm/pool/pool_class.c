/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of machines: their templates, and what happens when machines or
 * templates fail: retry with backoff, a new template, or failing the leases
 * that wait. Owns struct pool_class. All functions run on the loop.
 */
#include "pool_class.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/log.h"

/* machines that failed by their own fault (bad_started), after which the template is
 * made anew */
#define BAD_ROW_TEMPLATE 2
/* failed attempts in a row (bad_row): the last of these and each further one fail
 * leases, see give_up() */
#define BAD_ROW_GIVE_UP 6
#define BACKOFF_MS 200 /* doubles with each failure */
#define BACKOFF_MAX_MS 15000
#define TEMPLATE_RETRY_MS 5000 /* doubles with each failure */
#define TEMPLATE_RETRY_MAX_MS 300000
#define SLOW_MS 10000 /* a start takes some 0.1 to 2 s */

/* For a new class: copies the template's state from a class with the same template. */
static void take_template(struct pool_class *c)
{
	list_for_each(pos, tmp, &c->vm->classes) {
		const struct pool_class *has =
			list_entry(pos, struct pool_class, node);

		if (!vm_class_shares(&c->cls, &has->cls))
			continue;
		c->state = has->state;
		c->tmpl = has->tmpl;
		if (has->state != CLASS_FAILED)
			return;
		c->err = has->err;
		c->bad_templates = has->bad_templates;
		c->retry_ns = has->retry_ns;
		return;
	}
}

struct pool_class *class_get(struct machines *vm, const struct vm_class *cls)
{
	struct pool_class *c;

	list_for_each(pos, tmp, &vm->classes) {
		c = list_entry(pos, struct pool_class, node);
		if (vm_class_is(&c->cls, cls))
			return c;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->vm = vm;
	c->cls = vm_class_ref(cls);
	list_init(&c->waiting);
	take_template(c);
	list_add_tail(&vm->classes, &c->node);
	return c;
}

/* Returns the smallest class that holds the need. Sizes are doubled, to have
 * few classes, but not beyond the size that would need a template of its own. */
struct vm_class class_of(const struct vm_need *need)
{
	uint64_t bytes = need->memory_bytes, mib = MACHINE_MIB;

	if (!add_checked(&bytes, MACHINE_EXTRA) ||
	    (need->environment &&
	     !add_checked(&bytes, need->environment->heap)))
		bytes = UINT64_MAX;
	while (mib < UINT32_MAX / 2 && mib << 20 < bytes)
		mib *= 2;
	if (mib > VM_RAM_MIB && (uint64_t)VM_RAM_MIB << 20 >= bytes)
		mib = VM_RAM_MIB;
	return (struct vm_class){
		.memory_mib = (uint32_t)mib,
		.cpus = MAX(need->cpus, 1u),
		.environment = need->environment,
	};
}

struct pool_class *base_class(struct machines *vm)
{
	return list_first(&vm->classes, struct pool_class, node);
}

/* Returns whether the class has the base's template. If that one fails no job can run. */
static bool is_own(const struct pool_class *c)
{
	return vm_class_shares(&c->cls, &base_class(c->vm)->cls);
}

static void fail_first(struct pool_class *c)
{
	struct vm_lease *l = list_first(&c->waiting, struct vm_lease, node);

	if (l)
		lease_fail(l, VM_FAILED_START, c->err.text);
}

/*
 * Fails leases after too many bad machines. In a class with the base's template only the
 * first lease fails: that job may be the cause, and without it machines of the base
 * usually work again. In another class all leases fail: further attempts would take
 * slots from classes whose machines work.
 */
static void give_up(struct pool_class *c)
{
	do {
		fail_first(c);
	} while (!is_own(c) && !list_empty(&c->waiting));
}

/*
 * False for the base's template: without it no job can run, and the leases are not the
 * cause, so they wait. This host may never be able to make another class's template,
 * while the other classes work.
 */
bool class_is_hopeless(const struct pool_class *c)
{
	return c->state == CLASS_FAILED && now_ns() < c->retry_ns &&
	       !is_own(c);
}

static void tell(struct vm_lease *l, const char *sentence)
{
	if (l->events->waits)
		l->events->waits(l->arg, sentence);
}

static void tell_waiting(struct pool_class *c, const char *sentence)
{
	list_for_each(pos, tmp, &c->waiting)
		tell(list_entry(pos, struct vm_lease, node), sentence);
}

/* Sets the state of every class with the same template. */
static void set_state(struct pool_class *of, enum class_state state)
{
	list_for_each(pos, tmp, &of->vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		if (!vm_class_shares(&c->cls, &of->cls))
			continue;
		c->state = state;
		c->making = (struct class_making){ .step = "starting" };
	}
}

void class_want_template(struct pool_class *c)
{
	struct machines *vm = c->vm;

	if (c->state != CLASS_NONE && c->state != CLASS_FAILED)
		return;
	if (now_ns() < c->retry_ns)
		return;
	set_state(c, CLASS_MAKING);
	vm->backend->ops->template_get(vm->backend, &c->cls);
	loop_defer(vm->loop, &vm->tell);
}

/* Returns ns: ms, doubled with each failure after the first, at most max. */
static uint64_t backoff(uint64_t ms, unsigned failures, uint64_t max)
{
	for (unsigned i = 1; i < failures && ms < max; i++)
		ms *= 2;
	return MIN(ms, max) * NS_PER_MS;
}

static void has_template(struct pool_class *c, const struct backend_template *t)
{
	c->state = CLASS_READY;
	c->tmpl = *t;
	memset(c->cost, 0, sizeof(c->cost));
	c->bad_templates = 0;
	if (!c->bad_row)
		c->bad_since_ns = 0;
}

static void has_no_template(struct pool_class *c, const struct err *err)
{
	c->state = CLASS_FAILED;
	c->err = *err;
	c->bad_templates++;
	c->retry_ns = now_ns() + backoff(TEMPLATE_RETRY_MS, c->bad_templates,
					 TEMPLATE_RETRY_MAX_MS);
	if (!c->bad_since_ns)
		c->bad_since_ns = realtime_ns();
	if (class_is_hopeless(c))
		give_up(c);
	tell_waiting(c, c->err.text);
}

void pool_template_done(void *arg, const struct vm_class *cls,
			const struct backend_template *t,
			const struct err *err)
{
	struct machines *vm = arg;

	if (vm->broken)
		return;
	if (!t)
		log_error("no template for machines of %u MiB: %s",
			  vm_class_ram(cls), err->text);
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		if (!vm_class_shares(&c->cls, cls))
			continue;
		if (t)
			has_template(c, t);
		else
			has_no_template(c, err);
	}
	loop_defer(vm->loop, &vm->tell);
	pool_kick(vm);
}

static void class_is_bad(struct pool_class *c)
{
	if (!c->bad_since_ns)
		c->bad_since_ns = realtime_ns();
	loop_defer(c->vm->loop, &c->vm->tell);
}

void class_bad_machine(struct pool_class *c, const char *sentence,
			      bool template)
{
	/* Machines that fail before retry_ns were started in one attempt: count one. */
	bool counts = !c->bad_row || now_ns() >= c->retry_ns;

	c->bad_row += counts;
	err_set(&c->err, -EIO, "machines do not start: %s", sentence);
	log_warn("a machine failed to start (%u in a row): %s", c->bad_row,
		 sentence);
	c->retry_ns = now_ns() + backoff(BACKOFF_MS, c->bad_row,
					 BACKOFF_MAX_MS);
	c->bad_started += template;
	if (template && c->bad_started % BAD_ROW_TEMPLATE == 0 &&
	    c->state == CLASS_READY) {
		c->vm->backend->ops->template_drop(c->vm->backend, &c->cls,
						   sentence);
		set_state(c, CLASS_NONE);
	}
	if (counts && c->bad_row >= BAD_ROW_GIVE_UP)
		give_up(c);
	if (counts)
		tell_waiting(c, c->err.text);
	class_is_bad(c);
}

/* Counts an idle machine that died unused. One such death is harmless; after
 * more of them the pool waits longer and longer before it replaces one. */
void class_bad_idle(struct pool_class *c, const char *sentence)
{
	log_warn("an idle machine died: %s", sentence);
	c->idle_deaths++;
	c->refill_ns = now_ns() + backoff(BACKOFF_MS, c->idle_deaths,
					  BACKOFF_MAX_MS);
	/* More deaths than twice the pool: this is no accident, so report it.
	 * Jobs still run, in machines that are started for them. */
	if (c->idle_deaths <= 2 * c->vm->options.pool + 2 || c->bad_row)
		return;
	err_set(&c->err, -EAGAIN, "idle machines die (%u so far): %s",
		c->idle_deaths, sentence);
	class_is_bad(c);
}

/* A machine has answered: clears the failures. */
void class_good_machine(struct pool_class *c)
{
	if (!c->bad_row)
		return;
	c->bad_row = c->bad_started = 0;
	c->bad_since_ns = 0;
	loop_defer(c->vm->loop, &c->vm->tell);
}

/* An idle machine has served a job: clears the deaths. */
void class_good_idle(struct pool_class *c)
{
	if (!c->idle_deaths)
		return;
	c->idle_deaths = 0;
	c->refill_ns = 0;
	c->bad_since_ns = c->bad_row ? c->bad_since_ns : 0;
	loop_defer(c->vm->loop, &c->vm->tell);
}

void class_check(struct pool_class *c)
{
	uint64_t made = UINT64_MAX, now = now_ns();
	bool slow;

	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && m->state == MACHINE_STARTING)
			made = MIN(made, m->made_ns);
	}
	c->slow_ns = made == UINT64_MAX ? 0 : made + SLOW_MS * NS_PER_MS;
	slow = c->slow_ns && c->slow_ns <= now;
	list_for_each(pos, tmp, &c->waiting) {
		struct vm_lease *l = list_entry(pos, struct vm_lease, node);

		if (slow && !l->told_slow)
			tell(l, CLASS_SLOW);
		l->told_slow = slow;
	}
	if (slow == c->slow)
		return;
	c->slow = slow;
	if (slow)
		log_warn("%s", CLASS_SLOW);
	loop_defer(c->vm->loop, &c->vm->tell);
}

uint64_t class_due_ns(const struct pool_class *c, uint64_t now)
{
	const uint64_t due[] = { c->retry_ns, c->refill_ns, c->prepare_ns,
				 c->slow_ns };
	uint64_t at = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(due); i++)
		if (due[i] > now)
			at = MIN(at, due[i]);
	return at;
}

const char *vm_template_cold(const struct machines *vm, const struct environment *e)
{
	list_for_each(pos, tmp, &vm->classes) {
		const struct pool_class *c =
			list_entry(pos, struct pool_class, node);

		if (c->state == CLASS_READY && c->tmpl.cold[0] &&
		    vm_environment_same(c->cls.environment, e))
			return c->tmpl.cold;
	}
	return "";
}
