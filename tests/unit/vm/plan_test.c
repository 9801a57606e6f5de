/* SPDX-License-Identifier: Apache-2.0 */
/* What should be idle, and what gives way: the arithmetic of plan.h. */
#include "layout/limits.h"
#include "vm/pool/plan.h"
#include "tests/unit/tap.h"

#define A 0u
#define B 1u
#define C 2u

/* Three classes with a template each; machines of 50 MiB, zygotes of 200. */
static struct plan three(double a, double b, double c, unsigned pool,
			 uint64_t budget)
{
	const double demand[] = {a, b, c};
	struct plan p = {.count = 3, .pool = pool, .budget = budget};

	for (unsigned i = 0; i < 3; i++)
		p.row[i] = (struct plan_row){
			.demand = demand[i],
			.ready = true,
			.lead = i,
			.forks = true,
			.machine_bytes = MIB(50),
			.zygote_bytes = MIB(200),
			.used_ns = i + 1,
		};
	plan_make(&p);
	return p;
}

static bool wants(const struct plan *p, unsigned a, unsigned b, unsigned c)
{
	bool good = p->row[A].want == a && p->row[B].want == b &&
		    p->row[C].want == c;

	if (!good)
		printf("#   wants %u %u %u\n", p->row[A].want, p->row[B].want,
		       p->row[C].want);
	return good;
}

static bool keeps(const struct plan *p, bool a, bool b, bool c)
{
	return p->row[A].keep == a && p->row[B].keep == b &&
	       p->row[C].keep == c;
}

static bool is(struct plan_step s, enum plan_act act, unsigned row)
{
	bool good = s.act == act && (act == PLAN_REST || s.row == row);

	if (!good)
		printf("# step %u of row %u\n", s.act, s.row);
	return good;
}

static void have(struct plan *p, unsigned row, unsigned idle)
{
	struct plan_row *r = &p->row[row];

	r->idle = r->stopped = idle;
	r->idle_bytes = idle * r->machine_bytes;
}

/* All that the target has is there, and stopped. */
static void be_there(struct plan *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		have(p, i, p->row[i].want);
		p->row[i].zygotes = p->row[i].keep;
	}
}

static void test_shares(void)
{
	struct plan p = three(10, 10, 10, 4, GIB(4));

	ok(p.row[A].want + p.row[B].want + p.row[C].want == 4 &&
		   p.row[A].want && p.row[B].want && p.row[C].want,
	   "three classes alike share a pool of four");
	p = three(30, 0, 0, 4, GIB(4));
	ok(wants(&p, 4, 0, 0), "all are for the one that is asked for");
	p = three(70, 30, 0, 2, GIB(4));
	ok(wants(&p, 2, 0, 0), "a share under one machine is none");
	ok(keeps(&p, true, true, true), "its zygote is kept all the same");
	p = three(50, 30, 20, 10, GIB(4));
	ok(wants(&p, 5, 3, 2), "shares follow the demand");
	p = three(50, 30, 20, 0, GIB(4));
	ok(wants(&p, 0, 0, 0) && keeps(&p, true, true, true),
	   "a pool of none has zygotes");
	p.row[A].ready = false;
	p.pool = 5;
	plan_make(&p);
	ok(wants(&p, 0, 3, 2), "a class without a template has no share");
}

static void test_budget(void)
{
	struct plan p = three(10, 10, 10, 6, MIB(600));

	ok(p.row[A].want + p.row[B].want + p.row[C].want == 4 &&
		   keeps(&p, true, true, false),
	   "the budget bounds machines and zygotes together");
	be_there(&p);
	ok(plan_used(&p) == MIB(600), "and is used up");
	p = three(10, 10, 10, 6, MIB(120));
	ok(p.row[A].want + p.row[B].want + p.row[C].want == 2 &&
		   keeps(&p, false, false, false),
	   "a budget below a zygote has machines only");
	p = three(10, 0, 0, 6, MIB(40));
	ok(wants(&p, 0, 0, 0) && keeps(&p, false, false, false),
	   "a budget below a machine has nothing");
	p = three(100, 1, 0, 2, MIB(500));
	ok(wants(&p, 2, 0, 0) && keeps(&p, true, false, true),
	   "what the seats leave is for the zygote that was used last");
	p.row[B].waits = true;
	p.row[B].zygotes = 1;
	plan_make(&p);
	ok(keeps(&p, true, true, false),
	   "before it comes one that somebody waits for");
	p = three(10, 10, 0, 4, GIB(4));
	p.row[B].lead = A;
	plan_make(&p);
	be_there(&p);
	ok(plan_used(&p) == 4 * MIB(50) + 2 * MIB(200),
	   "classes of one template have one zygote");
}

static void test_way(void)
{
	struct plan p = three(20, 10, 0, 3, GIB(2));

	ok(is(plan_next(&p), PLAN_START, A), "the neediest is started first");
	have(&p, A, 2);
	ok(is(plan_next(&p), PLAN_START, B), "then the next");
	p.row[B].held = true;
	ok(is(plan_next(&p), PLAN_REST, 0), "unless its time has not come");
	p.row[B].held = false;
	be_there(&p);
	ok(is(plan_next(&p), PLAN_REST, 0), "the target is rest");

	p.row[C].demand = 30;
	plan_make(&p);
	ok(wants(&p, 1, 0, 2), "demand has moved");
	ok(is(plan_next(&p), PLAN_END_MACHINE, A) ||
		   is(plan_next(&p), PLAN_END_MACHINE, B),
	   "one that is worth less makes place");
	p = three(10, 10, 0, 3, GIB(2));
	be_there(&p);
	p.row[p.row[A].want == 2 ? B : A].demand = 10.5;
	plan_make(&p);
	ok(is(plan_next(&p), PLAN_REST, 0),
	   "demand that swings a little ends no machine");
	p.budget = MIB(500);
	plan_make(&p);
	ok(is(plan_next(&p), PLAN_END_MACHINE, A) ||
		   is(plan_next(&p), PLAN_END_MACHINE, B) ||
		   is(plan_next(&p), PLAN_END_ZYGOTE, C),
	   "what is beyond the budget ends");
	for (unsigned i = 0; i < 10 && plan_used(&p) > p.budget; i++) {
		struct plan_step s = plan_next(&p);

		if (s.act == PLAN_END_MACHINE)
			have(&p, s.row, p.row[s.row].idle - 1);
		else if (s.act == PLAN_END_ZYGOTE)
			p.row[s.row].zygotes = 0;
	}
	ok(plan_used(&p) <= p.budget, "until the budget holds");
}

static void test_zygotes(void)
{
	struct plan p = three(10, 1, 1, 2, MIB(700));

	ok(plan_may_fork(&p, A), "a zygote that is wanted is made");
	p.row[A].zygotes = 1;
	ok(plan_may_fork(&p, A), "and its successor, if there is room");
	p.row[C].zygotes = 1;
	have(&p, A, 2);
	plan_make(&p);
	ok(plan_may_fork(&p, A), "for both");
	p.row[B].zygotes = 1;
	ok(!plan_may_fork(&p, A), "and not beyond the budget");
	ok(!plan_may_fork(&p, B), "nor one that the target has not");

	p = three(10, 10, 0, 1, MIB(450));
	p.row[C].zygotes = 1;
	p.row[B].used_ns = 10;
	plan_make(&p);
	have(&p, A, 1);
	p.row[A].zygotes = 1;
	ok(keeps(&p, true, true, false) &&
		   is(plan_next(&p), PLAN_END_ZYGOTE, C),
	   "one that is not wanted makes place for one that is");
}

static void test_least(void)
{
	struct plan p = three(20, 10, 10, 4, GIB(2));

	be_there(&p);
	have(&p, A, 1);
	have(&p, B, 3);
	ok(is(plan_least(&p, PLAN_NOBODY), PLAN_END_MACHINE, B),
	   "most idle per demand ends first");
	ok(!is(plan_least(&p, B), PLAN_END_MACHINE, B),
	   "but none of the class that needs the place");
	p.row[A].stopped = p.row[B].stopped = p.row[C].stopped = 0;
	ok(is(plan_least(&p, PLAN_NOBODY), PLAN_END_ZYGOTE, A),
	   "then the zygote that was used least recently");
	p.row[A].waits = true;
	ok(is(plan_least(&p, PLAN_NOBODY), PLAN_END_ZYGOTE, B),
	   "but none that somebody waits for");
	p.row[B].lead = C;
	p.row[B].waits = true;
	p.row[B].zygotes = 0;
	ok(is(plan_least(&p, PLAN_NOBODY), PLAN_REST, 0),
	   "nor for a class that shares its template");
}

int main(void)
{
	test_shares();
	test_budget();
	test_way();
	test_zygotes();
	test_least();
	return done_testing();
}
