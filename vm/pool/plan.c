/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the plan of idle machines and zygotes (plan.h). Pure arithmetic:
 * owns no state, may run on any thread.
 */
#include "plan.h"

#include "layout/base/num.h"

/*
 * An idle machine is ended to make a slot for another class only if a machine of that
 * class is worth this much more. Otherwise small changes of demand would end machines
 * that no job has used.
 */
#define WORTH_A_SWAP 1.25

/* --- the target --------------------------------------------------------- */

/* The value of one more machine of the row. */
static double value_of(const struct plan_row *r, unsigned machines)
{
	return r->demand / (machines + 1);
}

/* Returns the bytes that the row's zygote would add to the target. */
static uint64_t zygote_of(const struct plan *p, const struct plan_row *r)
{
	const struct plan_row *lead = &p->row[r->lead];

	return lead->forks && !lead->keep ? lead->zygote_bytes : 0;
}

static bool take(uint64_t *left, uint64_t bytes)
{
	if (bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

/* Gives the row a slot. Return: whether the bytes left allow it. */
static bool give_slot(struct plan *p, struct plan_row *r, uint64_t *left)
{
	uint64_t zygote = zygote_of(p, r);

	if (take(left, r->machine_bytes + zygote))
		p->row[r->lead].keep |= p->row[r->lead].forks;
	else if (!take(left, r->machine_bytes))
		return false;
	r->want++;
	return true;
}

static void give_slots(struct plan *p, uint64_t *left)
{
	bool full[PLAN_ROWS] = {false};

	for (unsigned n = 0; n < p->pool;) {
		unsigned best = PLAN_NOBODY;
		double most = 0;

		for (unsigned i = 0; i < p->count; i++) {
			const struct plan_row *r = &p->row[i];

			if (r->ready && !full[i] &&
			    value_of(r, r->want) > most) {
				most = value_of(r, r->want);
				best = i;
			}
		}
		if (best == PLAN_NOBODY)
			return;
		if (give_slot(p, &p->row[best], left))
			n++;
		else
			full[best] = true;
	}
}

/* Keeps the zygotes of classes with a waiting lease, whatever they take. */
static void keep_awaited(struct plan *p, uint64_t *left)
{
	for (unsigned i = 0; i < p->count; i++) {
		const struct plan_row *r = &p->row[i];
		struct plan_row *lead = &p->row[r->lead];

		if (!r->waits || !lead->zygotes || lead->keep)
			continue;
		lead->keep = true;
		*left -= MIN(*left, lead->zygote_bytes);
	}
}

/* Keeps other zygotes while bytes are left, the last used one first. */
static void keep_recent(struct plan *p, uint64_t *left)
{
	bool seen[PLAN_ROWS] = {false};

	for (;;) {
		unsigned next = PLAN_NOBODY;

		for (unsigned i = 0; i < p->count; i++) {
			const struct plan_row *r = &p->row[i];

			if (r->lead == i && r->forks && !r->keep && !seen[i] &&
			    (next == PLAN_NOBODY ||
			     r->used_ns > p->row[next].used_ns))
				next = i;
		}
		if (next == PLAN_NOBODY)
			return;
		seen[next] = true;
		p->row[next].keep = take(left, p->row[next].zygote_bytes);
	}
}

void plan_make(struct plan *p)
{
	uint64_t left = p->budget;

	for (unsigned i = 0; i < p->count; i++) {
		p->row[i].want = 0;
		p->row[i].keep = false;
	}
	keep_awaited(p, &left);
	give_slots(p, &left);
	keep_recent(p, &left);
}

/* --- the next step ------------------------------------------------------ */

uint64_t plan_used(const struct plan *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->count; i++) {
		const struct plan_row *r = &p->row[i];

		sum += r->idle_bytes;
		if (r->lead == i)
			sum += r->zygotes * r->zygote_bytes;
	}
	return sum;
}

static unsigned idle_of(const struct plan *p)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < p->count; i++)
		sum += p->row[i].idle;
	return sum;
}

/* Returns the row with the most idle machines per demand. beyond: only rows that have
 * more of them than their target. */
static unsigned least_machine(const struct plan *p, unsigned not, bool beyond)
{
	unsigned least = PLAN_NOBODY;

	for (unsigned i = 0; i < p->count; i++) {
		const struct plan_row *r = &p->row[i];

		if (i == not || !r->stopped || (beyond && r->idle <= r->want))
			continue;
		if (least == PLAN_NOBODY ||
		    value_of(r, r->idle - 1) <
			    value_of(&p->row[least], p->row[least].idle - 1))
			least = i;
	}
	return least;
}

static bool is_awaited(const struct plan *p, unsigned lead)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->row[i].lead == lead && p->row[i].waits)
			return true;
	return false;
}

/* Returns the row with the least recently used zygote. beyond: only zygotes
 * that the target does not keep. */
static unsigned least_zygote(const struct plan *p, bool beyond)
{
	unsigned least = PLAN_NOBODY;

	for (unsigned i = 0; i < p->count; i++) {
		const struct plan_row *r = &p->row[i];

		if (r->lead != i || !r->zygotes || (beyond && r->keep) ||
		    is_awaited(p, i))
			continue;
		if (least == PLAN_NOBODY || r->used_ns < p->row[least].used_ns)
			least = i;
	}
	return least;
}

static struct plan_step end_one(const struct plan *p, unsigned not, bool beyond)
{
	unsigned row = least_machine(p, not, beyond);

	if (row != PLAN_NOBODY)
		return (struct plan_step){PLAN_END_MACHINE, row};
	row = least_zygote(p, beyond);
	if (row != PLAN_NOBODY)
		return (struct plan_step){PLAN_END_ZYGOTE, row};
	return (struct plan_step){PLAN_REST, 0};
}

struct plan_step plan_least(const struct plan *p, unsigned not )
{
	return end_one(p, not, false);
}

/* Among the rows that are below their target, returns the one whose next machine has the
 * highest value. */
static unsigned neediest(const struct plan *p)
{
	unsigned best = PLAN_NOBODY;

	for (unsigned i = 0; i < p->count; i++) {
		const struct plan_row *r = &p->row[i];

		if (r->idle < r->want && !r->held &&
		    (best == PLAN_NOBODY ||
		     value_of(r, r->idle) >
			     value_of(&p->row[best], p->row[best].idle)))
			best = i;
	}
	return best;
}

/* Returns whether one more machine of row `to` is worth clearly more than the last
 * machine of row `from`. */
static bool pays(const struct plan *p, unsigned from, unsigned to)
{
	return value_of(&p->row[to], p->row[to].idle) >
	       WORTH_A_SWAP * value_of(&p->row[from], p->row[from].idle - 1);
}

/* Returns the step that frees a slot for a machine of the row; PLAN_REST: none pays. */
static struct plan_step make_place(const struct plan *p, unsigned row)
{
	struct plan_step end = end_one(p, row, true);

	if (end.act == PLAN_END_MACHINE && !pays(p, end.row, row))
		end.act = PLAN_REST;
	return end;
}

/* Returns whether the target has a zygote that does not exist yet and needs more bytes
 * than are left. */
static bool lacks_zygote(const struct plan *p, uint64_t left)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->row[i].keep && !p->row[i].zygotes &&
		    p->row[i].zygote_bytes > left)
			return true;
	return false;
}

struct plan_step plan_next(const struct plan *p)
{
	const struct plan_step rest = {PLAN_REST, 0};
	uint64_t used = plan_used(p);
	unsigned row = neediest(p);

	if (used > p->budget)
		return end_one(p, PLAN_NOBODY, true);
	if (row == PLAN_NOBODY)
		return lacks_zygote(p, p->budget - used)
			       ? end_one(p, PLAN_NOBODY, true)
			       : rest;
	if (idle_of(p) >= p->pool ||
	    p->row[row].machine_bytes > p->budget - used)
		return make_place(p, row);
	return (struct plan_step){PLAN_START, row};
}

bool plan_may_fork(const struct plan *p, unsigned row)
{
	const struct plan_row *lead = &p->row[p->row[row].lead];
	uint64_t used = plan_used(p);

	return lead->forks && lead->keep && used <= p->budget &&
	       lead->zygote_bytes <= p->budget - used;
}
