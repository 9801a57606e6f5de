/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of fibers. A stack is first entered by ucontext, then left and entered
 * again by setjmp() and longjmp(), which make no system call. _FORTIFY_SOURCE
 * is off because the C library's check of longjmp() knows one stack only. All
 * functions run on the loop's thread.
 */
#undef _FORTIFY_SOURCE
#include "fiber.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "layout/layout.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE (1u << 20)
#else
#define STACK_SIZE (256u << 10)
#endif
#define GUARD_SIZE 4096u
#define SPARE_MOST 32

struct place {
	jmp_buf jump;
#ifdef SANITIZED
	void *fake; /* the sanitizer's stack while another fiber runs */
#endif
};

struct fiber {
	struct place place; /* saved registers: the fiber continues from here */
	ucontext_t context; /* for the first entry: fn and the new stack */
	bool begun;
	void (*fn)(void *arg);
	void *arg;
	/* the fiber that continues when this one waits; NULL: the loop */
	struct fiber *from;
	struct list node;   /* in the list of ready or of spare fibers */
	struct list held;
	void *own;
	uint64_t number;
	char *stack; /* owned; a guard page lies below it */
	bool over;
};

/* Thread-local: only the loop's thread has fibers. */
static _Thread_local struct fiber *self_;

/* All fibers, of the one loop. */
static struct {
	struct loop_call call;
	struct loop *loop;
	struct place main;
	struct list ready, spare;
	unsigned spares;
	uint64_t number; /* fiber_number() outside of all fibers */
#ifdef SANITIZED
	const void *main_stack;
	size_t main_size;
#endif
} all;

/* --- switching ---------------------------------------------------------- */

static _Noreturn void enter(struct fiber *f)
{
	if (!f || f->begun)
		_longjmp(f ? f->place.jump : all.main.jump, 1);
	f->begun = true;
	setcontext(&f->context);
	abort(); /* setcontext() only fails with a bad argument */
}

/* Switches to f, or (NULL) to the loop's own stack. */
static void go(struct fiber *f)
{
	struct place *here = self_ ? &self_->place : &all.main;

	self_ = f;
#ifdef SANITIZED
	__sanitizer_start_switch_fiber(
		&here->fake, f ? f->stack + GUARD_SIZE : all.main_stack,
		f ? STACK_SIZE : all.main_size);
#endif
	if (_setjmp(here->jump) == 0)
		enter(f);
#ifdef SANITIZED
	/* The switch back has set self_ to this fiber. */
	here = self_ ? &self_->place : &all.main;
	__sanitizer_finish_switch_fiber(here->fake, NULL, NULL);
#endif
}

static void fiber_main(void)
{
	struct fiber *f = self_;

#ifdef SANITIZED
	const void *stack;
	size_t size;

	__sanitizer_finish_switch_fiber(NULL, &stack, &size);
	if (!f->from) {
		all.main_stack = stack;
		all.main_size = size;
	}
#endif
	for (;;) {
		f->fn(f->arg);
		f->over = true;
		go(f->from);
	}
}

/* --- start and end ------------------------------------------------------ */

static void make_context(struct fiber *f)
{
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack + GUARD_SIZE;
	f->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&f->context, fiber_main, 0);
}

static struct fiber *fiber_new(void)
{
	struct fiber *f = list_first(&all.spare, struct fiber, node);

	if (f) {
		list_del(&f->node);
		all.spares--;
		return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->stack = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
			-1, 0);
	if (f->stack == MAP_FAILED) {
		free(f);
		return NULL;
	}
	mprotect(f->stack, GUARD_SIZE, PROT_NONE);
	make_context(f);
	list_init(&f->held);
	return f;
}

static void fiber_free(struct fiber *f)
{
	munmap(f->stack, GUARD_SIZE + STACK_SIZE);
	free(f);
}

static void on_ready(struct loop_call *c)
{
	struct list batch;
	struct fiber *f;

	(void)c;
	list_init(&batch);
	list_for_each (pos, tmp, &all.ready) {
		list_del(pos);
		list_add_tail(&batch, pos);
	}
	while ((f = list_first(&batch, struct fiber, node))) {
		list_del(&f->node);
		fiber_resume(f);
	}
}

void fibers_init(struct loop *loop)
{
	all.loop = loop;
	all.call = (struct loop_call){.fn = on_ready};
	list_init(&all.ready);
	list_init(&all.spare);
}

void fibers_finish(void)
{
	while (all.loop && !list_empty(&all.ready))
		on_ready(&all.call);
	if (all.loop)
		loop_call_del(&all.call);
}

void fibers_done(void)
{
	if (!all.loop)
		return;
	list_for_each (pos, tmp, &all.spare) {
		list_del(pos);
		fiber_free(list_entry(pos, struct fiber, node));
	}
	all.spares = 0;
	all.loop = NULL;
}

void fiber_resume(struct fiber *f)
{
	f->from = self_;
	go(f);
	if (!f->over)
		return;
	f->over = false;
	if (all.spares >= SPARE_MOST) {
		fiber_free(f);
		return;
	}
	/* at the front: its stack is still in the cache */
	list_add(&all.spare, &f->node);
	all.spares++;
}

int fiber_start(void (*fn)(void *arg), void *arg)
{
	struct fiber *f = all.loop ? fiber_new() : NULL;

	if (!f)
		return -ENOMEM;
	f->fn = fn;
	f->arg = arg;
	f->own = NULL;
	f->number = 0;
	fiber_resume(f);
	return 0;
}

void fiber_run(void (*fn)(void *arg), void *arg)
{
	if (fiber_start(fn, arg) < 0)
		fn(arg);
}

struct fiber *fiber_self(void)
{
	return self_;
}

struct list *fiber_held(struct fiber *f)
{
	return &f->held;
}

void **fiber_own(struct fiber *f)
{
	return &f->own;
}

uint64_t *fiber_number(void)
{
	return self_ ? &self_->number : &all.number;
}

void fiber_pause(void)
{
	go(self_->from);
}

void fiber_wake(struct fiber *f)
{
	if (!list_empty(&f->node))
		return;
	list_add_tail(&all.ready, &f->node);
	loop_defer(all.loop, &all.call);
}

void fiber_breathe(void)
{
	fiber_wake(self_);
	fiber_pause();
}
