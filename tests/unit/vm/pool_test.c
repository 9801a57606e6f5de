/* SPDX-License-Identifier: Apache-2.0 */
/* What the pool prepares machines for: the arithmetic of demand. */
#include "vm/pool/demand.h"
#include "vm/pool/demand_text.h"
#include "tests/unit/tap.h"

#define PYTHON (1u << WIRE_RUN_PYTHON)
#define NODE (1u << WIRE_RUN_NODE)
#define ALL ((1u << WIRE_RUN_MAX) - 1)

/* How many of `pool` machines each runner gets. */
static void fill(const struct demand *d, uint32_t possible, unsigned pool,
		 unsigned have[WIRE_RUN_MAX])
{
	memset(have, 0, sizeof(have[0]) * WIRE_RUN_MAX);
	for (unsigned i = 0; i < pool; i++) {
		uint32_t mask = demand_next(d, possible, have, pool);

		for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
			have[r] += !!(mask & 1u << r);
	}
}

static void note(struct demand *d, uint32_t runner)
{
	demand_fade(d);
	demand_note(d, runner);
}

static const char *const damaged[] = {
	"", "demand 2\n", "demand 1", "demand 1\n\n", "demand 1\nbase\n",
	"demand 1\n1024 1 0 0 0 0 0 base", /* cut */
	"demand 1\n1024 1 0 0 0 0 0 \n",
	"demand 1\n1024 1 0 0 0 0 0 ../x\n",
	"demand 1\n1024 1 0 0 0 0 -1 base\n",
	"demand 1\n1024 1 0 0 0 0 9999999 base\n",
	"demand 1\n0 1 0 0 0 0 0 base\n",
	"demand 1\n1024 999 0 0 0 0 0 base\n",
	"demand 1\n1024 1 0 0 0 0 base\n",
	"demand 1\n1024 1 0 0 0 0 0 0 base\n",
};

static void test_text(void)
{
	struct demand_row rows[DEMAND_ROWS], back[DEMAND_ROWS];
	struct buf text = { 0 };
	unsigned count = 99;

	rows[0] = (struct demand_row){ 1024, 1, "base", { { 0 } } };
	rows[1] = (struct demand_row){ 4480, 2, "data@0f3e11aa22bb", { { 0 } } };
	rows[1].demand.weight[WIRE_RUN_NODE] = 1.25;
	demand_text_print(rows, 2, &text);
	buf_add(&text, "", 1);
	ok(demand_text_parse(text.data, back, &count) == 0 && count == 2 &&
		   back[1].memory_mib == 4480 && back[1].cpus == 2 &&
		   back[1].demand.weight[WIRE_RUN_NODE] == 1.25,
	   "demand is read as it was written");
	is_str(back[1].environment, "data@0f3e11aa22bb", "with its environment");
	buf_done(&text);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		ok(demand_text_parse(damaged[i], back, &count) < 0 && !count,
		   "damaged text %zu is refused as a whole", i);
}

int main(void)
{
	test_text();
	struct demand d, none = {0};
	unsigned have[WIRE_RUN_MAX];

	demand_init(&d);
	fill(&d, ALL, 3, have);
	ok(have[WIRE_RUN_PYTHON] == 1 && have[WIRE_RUN_NODE] == 1 &&
		   have[WIRE_RUN_BASH] == 1,
	   "three machines at the start: Python, Node, bash");
	fill(&d, ALL, 1, have);
	ok(have[WIRE_RUN_PYTHON] == 1 && have[WIRE_RUN_NODE] == 1 &&
		   have[WIRE_RUN_BASH] == 1,
	   "a single one is heated for all of them");
	fill(&d, ALL, 0, have);
	is_int(have[WIRE_RUN_PYTHON], 0, "a pool of none heats nothing");
	fill(&d, PYTHON, 4, have);
	is_int(have[WIRE_RUN_PYTHON], 4, "only what the guest has");
	is_int(demand_next(&d, 0, have, 4), 0, "a guest without runners");

	for (int i = 0; i < 100; i++)
		note(&d, WIRE_RUN_BASH);
	fill(&d, ALL, 4, have);
	is_int(have[WIRE_RUN_BASH], 4, "after 100 of bash: all for bash");
	for (int i = 0; i < 100; i++)
		note(&d, i % 2 ? WIRE_RUN_NODE : WIRE_RUN_PYTHON);
	fill(&d, ALL, 4, have);
	ok(have[WIRE_RUN_NODE] == 2 && have[WIRE_RUN_PYTHON] == 2,
	   "half and half of two, and bash is forgotten");
	note(&d, 4000000000u);
	ok(demand_next(&d, ALL, have, 4) != 0, "a runner unknown to us");
	is_int(demand_next(&none, ALL, have, 4), 0,
	       "a class that was never asked for");
	for (int i = 0; i < 200; i++)
		demand_fade(&d);
	ok(demand_total(&d) < 0.01, "a class that is asked for no more");
	return done_testing();
}
