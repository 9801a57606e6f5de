/* SPDX-License-Identifier: Apache-2.0 */
#include "fsd/base/hash.h"

#include <stdlib.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

#define COUNT 200000u

struct item {
	struct hash_node node;
	unsigned key;
};

static struct item items[COUNT];

/* Every eighth shares its hash with seven others. */
static uint64_t hash_of(unsigned key)
{
	return hash_u64(key / 8);
}

static struct item *find(struct hash *h, unsigned key)
{
	struct hash_node *n = hash_first(h, hash_of(key));

	for (; n; n = hash_next(n)) {
		struct item *i = container_of(n, struct item, node);

		if (i->key == key)
			return i;
	}
	return NULL;
}

static unsigned found(struct hash *h, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += find(h, i) == &items[i];
	return n;
}

static bool add(struct hash *h, unsigned i)
{
	items[i].key = i;
	return hash_add(h, &items[i].node, hash_of(i)) == 0;
}

/* Looks for a sample after each addition, so at every stage of growing. */
static void test_growing(struct hash *h)
{
	unsigned missed = 0;

	ok(!find(h, 1), "an empty table has nothing");
	hash_del(h, &items[0].node);
	for (unsigned i = 0; i < COUNT; i++) {
		missed += !add(h, i);
		missed += find(h, i) != &items[i];
		missed += find(h, i / 2) != &items[i / 2];
	}
	ok(missed == 0, "nothing is ever missed while it grows");
	ok(h->count == COUNT && h->size >= COUNT, "it has grown");
	ok(found(h, 0, COUNT) == COUNT, "all are there");
	ok(!find(h, COUNT), "what was never added is not");
}

static void test_removing(struct hash *h)
{
	for (unsigned i = 0; i < COUNT; i += 2)
		hash_del(h, &items[i].node);
	hash_del(h, &items[0].node); /* twice is once */
	ok(h->count == COUNT / 2, "half of them are removed");
	ok(found(h, 0, COUNT) == COUNT / 2, "the other half is there");
}

/* Between two sizes both places hold nodes. */
static void test_between(void)
{
	struct hash h = { 0 };
	unsigned i = 0;
	size_t from = 0, n = 0;
	struct hash_node *node;

	for (; i < 64 || !h.old; i++)
		add(&h, i);
	for (; h.size < 4096 || !h.old; i++)
		add(&h, i);
	hash_del(&h, &items[3].node);
	ok(h.old && !find(&h, 3), "one is removed in the middle of growing");
	ok(found(&h, 0, i) == i - 1, "and only that one");
	while ((node = hash_any(&h, &from))) {
		hash_del(&h, node);
		n++;
	}
	ok(n == i - 1 && h.count == 0, "all are taken out, each once");
	hash_done(&h);
}

int main(void)
{
	struct hash h = { 0 };

	test_growing(&h);
	test_removing(&h);
	hash_done(&h);
	test_between();
	return done_testing();
}
