/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What should be idle: how many machines of each class, and which zygotes. Pure
 * arithmetic over the classes' demand, what each thing costs, the pool's size
 * and the budget of --idle-memory. plan_make() computes the target;
 * plan_next() names one step from what is there towards it; plan_least() names
 * what is given up first when memory or a place is needed at once.
 *
 * The pool's machines are seats. Each goes to the class with the highest
 * average demand/(seats + 1), so that a class whose share is under one machine
 * has none as long as others have more. A seat comes with the zygote of its
 * class, since machines that are forked off it share most of its memory. What
 * the seats leave of the budget goes to the zygotes of the other classes, those
 * that were used last first.
 */
#ifndef VM_PLAN_H
#define VM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_ROWS 64u /* classes that are planned for */
#define PLAN_NOBODY 64u

struct plan_row {
	/* --- what is there --- */
	double demand;
	bool waits;          /* a lease waits for a machine of the class */
	bool ready;          /* its template is there */
	bool held;           /* no machine of it is to be started now */
	unsigned idle;       /* machines that are idle, or will be */
	unsigned stopped;    /* of those: stopped, so that they can be ended */
	uint64_t idle_bytes; /* what those take */
	uint64_t machine_bytes; /* what a further one would */
	/* Classes of one template share its zygote: lead is the row that has
	 * it, and only that row's fields of it count. */
	unsigned lead;
	bool forks;       /* it can have one */
	unsigned zygotes; /* 1: there is one; 2: and its successor */
	uint64_t zygote_bytes;
	uint64_t used_ns; /* when a machine of the template was needed last */
	/* --- the target --- */
	unsigned want;
	bool keep; /* the zygote */
};

struct plan {
	struct plan_row row[PLAN_ROWS];
	unsigned count;
	unsigned pool;   /* idle machines, at most */
	uint64_t budget; /* bytes, for idle machines and zygotes */
};

enum plan_act {
	PLAN_REST,        /* there is nothing to do */
	PLAN_START,       /* a machine of the row */
	PLAN_END_MACHINE, /* one of the row's stopped machines */
	PLAN_END_ZYGOTE,
};

struct plan_step {
	enum plan_act act;
	unsigned row;
};

/* Sets want and keep of every row. */
void plan_make(struct plan *p);
/* After plan_make(). */
struct plan_step plan_next(const struct plan *p);
/* What ends first when there has to be room: never a machine of row `not`
 * (PLAN_NOBODY: of any), nor the zygote of a class that somebody waits for.
 * PLAN_REST: there is nothing that could end. */
struct plan_step plan_least(const struct plan *p, unsigned not);
/* What is idle now takes so much. */
uint64_t plan_used(const struct plan *p);
/* May a further zygote be made for the row: within the target and the budget?
 */
bool plan_may_fork(const struct plan *p, unsigned row);

#endif
