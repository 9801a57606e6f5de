/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes what should be idle: how many machines of each class, and which
 * zygotes. Input: each class's demand and costs, the pool's size, and the bytes
 * of --idle-memory. Pure arithmetic. plan_make() computes the target;
 * plan_next() names one step from the present state towards it; plan_least()
 * names what to end first when memory or a slot is needed.
 *
 * The pool has idle slots, one for each machine. Each slot goes to the class
 * with the highest demand / (slots + 1). So a class whose share is below one
 * machine gets none while other classes have more. With a slot its class also
 * gets a zygote, because machines forked off it share most of its memory. The
 * bytes that remain are used for zygotes of the other classes, the most recently
 * used ones first.
 */
#ifndef VM_PLAN_H
#define VM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_ROWS 64u /* most classes that are planned for */
#define PLAN_NOBODY 64u

struct plan_row {
	/* --- the present state --- */
	double demand;
	bool waits;          /* a lease waits for a machine of the class */
	bool ready; /* the class's template is ready */
	bool held; /* start no machine of this class now: see is_held() of pool_plan.c */
	unsigned idle; /* machines that are idle, or will be soon */
	/* how many of `idle` are stopped, so they can be ended */
	unsigned stopped;
	uint64_t idle_bytes; /* bytes of the `idle` machines */
	uint64_t machine_bytes; /* bytes of one more machine */
	/* Index of the row whose zygote this class uses: classes with one
	 * template share it. The zygote's fields count in that row only. */
	unsigned lead;
	bool forks; /* the class's template can have a zygote */
	/* 1: one is ready or is being made; 2: one is ready, and its successor is being
	 * made */
	unsigned zygotes;
	uint64_t zygote_bytes;
	uint64_t used_ns; /* when a lease last needed the template (now_ns()) */
	/* --- the target --- */
	unsigned want;
	bool keep; /* keep the zygote, or make one */
};

struct plan {
	struct plan_row row[PLAN_ROWS];
	unsigned count;
	unsigned pool; /* most idle machines */
	uint64_t budget; /* most bytes for idle machines and zygotes */
};

enum plan_act {
	PLAN_REST, /* the target is reached, or no step is possible */
	PLAN_START, /* start a machine of the row */
	PLAN_END_MACHINE, /* end one of the row's stopped machines */
	PLAN_END_ZYGOTE,
};

struct plan_step {
	enum plan_act act;
	unsigned row;
};

/* Sets want and keep of every row. */
void plan_make(struct plan *p);
/* Returns one step towards the target; call plan_make() before. */
struct plan_step plan_next(const struct plan *p);
/*
 * Returns what to end first to free a slot or memory: never a machine of row
 * `not` (PLAN_NOBODY: any), nor the zygote of a class with a waiting lease.
 * PLAN_REST: there is nothing to end.
 */
struct plan_step plan_least(const struct plan *p, unsigned not);
/* Returns the bytes of all idle machines and zygotes. */
uint64_t plan_used(const struct plan *p);
/* Returns whether target and bytes allow one more zygote for the row. */
bool plan_may_fork(const struct plan *p, unsigned row);

#endif
