/* SPDX-License-Identifier: Apache-2.0 */
/* What a server leaves to the next one: whole records, and no belief in them. */
#include "fsd/handover/inherit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static struct inherit_node *add_node(struct inherit *in, uint64_t ino,
				     bool publish)
{
	uint32_t slot;
	struct inherit_node *n = inherit_add(in, INHERIT_NODES, &slot);

	if (!n)
		return NULL;
	n->ino = ino;
	if (publish)
		inherit_publish(&n->live);
	return n;
}

static unsigned count_live(struct inherit *in, enum inherit_table table)
{
	unsigned live = 0;

	for (uint32_t i = 0; i < inherit_count(in, table); i++)
		live += inherit_at(in, table, i) != NULL;
	return live;
}

static void whole_records_are_there_again(void)
{
	struct inherit *first = NULL, *second = NULL;
	struct inherit_node *a, *c;
	uint32_t slot, taken = 0;
	bool twice = false;
	int fd = inherit_make();

	ok(fd >= 0 && inherit_open(fd, &first) == 0, "new memory");
	a = add_node(first, 1, true);
	add_node(first, 2, false); /* its server dies here */
	c = add_node(first, 3, true);
	inherit_del(first, INHERIT_NODES, a);
	ok(inherit_open(fd, &second) == 0, "the next server opens it");
	ok(count_live(second, INHERIT_NODES) == 1,
	   "a record that was not whole, or was given up, is not there");
	c = inherit_at(second, INHERIT_NODES, 2);
	ok(c && c->ino == 3, "a whole one is, with what it says");
	ok(inherit_slot(second, INHERIT_NODES, c) == 2, "in its place");
	inherit_add(second, INHERIT_NODES, &slot);
	ok(slot == 3, "before that is known, no old place is given out");
	inherit_recycle(second, INHERIT_NODES);
	a = inherit_add(second, INHERIT_NODES, &slot);
	ok(a && slot < 3 && slot != 2, "then one that is free is");
	ok(a && a->ino == 0, "and it is empty");
	inherit_del(second, INHERIT_NODES, a);
	inherit_recycle(second, INHERIT_NODES);
	for (unsigned i = 0; i < 8; i++) {
		a = inherit_add(second, INHERIT_NODES, &slot);
		twice |= taken >> slot & 1;
		taken |= 1u << slot;
		inherit_publish(&a->live);
	}
	ok(!twice, "a place that was given up before is given out once");
	inherit_close(first);
	inherit_close(second);
	close(fd);
}

static void nothing_is_believed(void)
{
	struct inherit *in = NULL;
	int fd = inherit_make();

	inherit_open(fd, &in);
	for (unsigned i = 0; i < INHERIT_TABLES; i++)
		inherit_head(in)->count[i] = UINT32_MAX;
	inherit_close(in);
	ok(inherit_open(fd, &in) == 0, "counts that cannot be are cut");
	ok(inherit_at(in, INHERIT_HANDLES, UINT32_MAX) == NULL,
	   "there is nothing beyond a table");
	inherit_head(in)->version = INHERIT_VERSION + 1;
	inherit_close(in);
	ok(inherit_open(fd, &in) == -EPROTO,
	   "what another version has left is refused");
	close(fd);
}

static void memory_without_a_holder(void)
{
	struct inherit *in = NULL;
	uint32_t slot, last = 0;
	void *record;

	ok(inherit_open(-1, &in) == 0, "memory for nobody");
	while ((record = inherit_add(in, INHERIT_HANDLES, &slot)))
		last = slot;
	ok(last == (1u << 20) - 1, "a full table says so");
	record = inherit_at(in, INHERIT_HANDLES, last);
	ok(record == NULL, "what was not published is not there");
	inherit_close(in);
}

int main(void)
{
	whole_records_are_there_again();
	nothing_is_believed();
	memory_without_a_holder();
	return done_testing();
}
