/* SPDX-License-Identifier: Apache-2.0 */
/* What a server leaves to the next one: whole records, and no belief in them. */
#include "fsd/handover/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/tap.h"

struct pair_record {
	uint32_t live, value;
};

static HANDOVER_TABLE(pairs, "pairs", 1, struct pair_record, 1000);
static HANDOVER_TABLE(fact, "fact", 1, struct pair_record, 1);

#define HEAD (60u << 10) /* of the memory: its directory */

static struct handover *next_server(int fd)
{
	struct handover *h = NULL;
	struct err err = { 0 };

	if (handover_open(fd, &h, &err) < 0)
		printf("# %s\n", err.text);
	return h;
}

static struct handover *serving(int fd)
{
	struct handover *h = next_server(fd);

	handover_serves(h);
	return h;
}

static struct pair_record *add_pair(struct handover *h, uint32_t value, bool publish)
{
	uint32_t place;
	struct pair_record *n = handover_add(h, &pairs, &place);

	n->value = value;
	if (publish)
		handover_publish(&n->live);
	return n;
}

static unsigned count_live(struct handover *h)
{
	unsigned live = 0;

	for (uint32_t i = 0; handover_next(h, &pairs, &i); )
		live++;
	return live;
}

static void whole_records_are_there_again(void)
{
	struct handover *first, *second;
	struct pair_record *a, *c;
	uint32_t place, taken = 0;
	bool twice = false;
	int fd = handover_make();

	first = next_server(fd);
	ok(first && !handover_is_next(first), "new memory");
	a = add_pair(first, 1, true);
	add_pair(first, 2, false); /* its server dies here */
	add_pair(first, 3, true);
	handover_del(first, &pairs, a);
	second = next_server(fd);
	ok(count_live(second) == 1,
	   "a record that was not whole, or was given up, is not there");
	c = handover_at(second, &pairs, 2);
	ok(c && c->value == 3, "a whole one is, with what it says");
	ok(handover_slot(second, &pairs, c) == 2, "in its place");
	handover_add(second, &pairs, &place);
	ok(place == 3, "before that is known, no old place is given out");
	handover_recycle(second, &pairs);
	a = handover_add(second, &pairs, &place);
	ok(a && place < 3 && place != 2, "then one that is free is");
	ok(a && a->value == 0, "and it is empty");
	handover_del(second, &pairs, a);
	handover_recycle(second, &pairs);
	for (unsigned i = 0; i < 8; i++) {
		a = handover_add(second, &pairs, &place);
		twice |= taken >> place & 1;
		taken |= 1u << place;
		handover_publish(&a->live);
	}
	ok(!twice, "a place that was given up before is given out once");
	handover_close(first);
	handover_close(second);
	close(fd);
}

static void a_fact_is_there_from_the_beginning(void)
{
	int fd = handover_make();
	struct handover *h = next_server(fd);
	struct pair_record *f = handover_fact(h, &fact);

	ok(!f->live && !f->value, "a fact begins as zeros");
	f->value = 7;
	handover_close(h);
	h = next_server(fd);
	f = handover_fact(h, &fact);
	ok(f->value == 7, "and is what the server before has left");
	handover_close(h);
	close(fd);
}

/* The n-th entry with this name. */
static struct handover_table *entry(uint8_t *head, const char *name, unsigned n)
{
	uint8_t *at = head - 1;

	do
		at = memmem(at + 1, (size_t)(head + HEAD - at - 1), name,
			    strlen(name) + 1);
	while (n--);
	return (void *)at;
}

static uint8_t *directory(int fd)
{
	return mmap(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* It is another program's table from then on. */
static void set_version(int fd, unsigned n, uint32_t version)
{
	uint8_t *head = directory(fd);

	entry(head, "pairs", n)->version = version;
	munmap(head, HEAD);
}

static void another_version_is_another_table(void)
{
	int fd = handover_make();
	struct handover *h = serving(fd);
	struct err err = { 0 };

	add_pair(h, 1, true);
	handover_close(h);
	set_version(fd, 0, 2);
	ok(handover_open(fd, &h, &err) == -EPROTO, "its records are not left behind");
	ok(strstr(err.text, "pairs") != NULL, "the error names the table");
	set_version(fd, 1, 3); /* which that one has made */
	set_version(fd, 0, 1);
	h = serving(fd);
	ok(h && count_live(h) == 1, "the server that knows them finds them as they were");
	handover_clear(h, &pairs);
	handover_close(h);
	set_version(fd, 0, 2);
	h = next_server(fd);
	ok(h && count_live(h) == 0, "one without records is in nobody's way");
	handover_close(h);
	close(fd);
}

/* The supervisor goes back to the previous program. */
static void a_program_that_never_answered_counts_for_nothing(void)
{
	enum { OLD, NEW };
	int fd = handover_make();

	handover_close(serving(fd));
	set_version(fd, OLD, 9);
	struct handover *h = next_server(fd); /* the new one */
	add_pair(h, 1, true);
	handover_close(h);
	set_version(fd, NEW, 2);
	set_version(fd, OLD, 1);
	h = next_server(fd);
	ok(h && count_live(h) == 0, "the old program goes on");
	handover_serves(h);
	handover_close(h);
	set_version(fd, NEW, 1);
	set_version(fd, OLD, 9);
	h = next_server(fd);
	ok(h && count_live(h) == 0, "the new one finds nothing of its first try");
	handover_close(h);
	close(fd);
}

static void nothing_is_believed(void)
{
	int fd = handover_make();
	struct handover *h = next_server(fd);
	struct err err = { 0 };
	uint8_t *head = directory(fd);

	handover_close(h);
	/* its state, the servers before it, its count */
	((uint32_t *)(void *)(entry(head, "pairs", 0) + 1))[2] = UINT32_MAX;
	h = next_server(fd);
	ok(h && handover_count(h, &pairs) == 1000, "counts that cannot be are cut");
	handover_close(h);
	entry(head, "pairs", 0)->size = UINT32_MAX;
	ok(handover_open(fd, &h, &err) == -EPROTO, "a size that cannot be is refused");
	memset(head, 0xff, HEAD);
	ok(handover_open(fd, &h, &err) == -EPROTO, "and so is another format");
	munmap(head, HEAD);
	close(fd);
}

static void memory_without_a_holder(void)
{
	struct handover *h = next_server(-1);
	uint32_t place, last = 0;

	ok(h != NULL, "memory for nobody");
	while (handover_add(h, &pairs, &place))
		last = place;
	ok(last == 999, "a full table says so");
	ok(!handover_at(h, &pairs, last), "what was not published is not there");
	ok(!handover_at(h, &pairs, UINT32_MAX), "there is nothing beyond a table");
	handover_close(h);
}

int main(void)
{
	whole_records_are_there_again();
	a_fact_is_there_from_the_beginning();
	another_version_is_another_table();
	a_program_that_never_answered_counts_for_nothing();
	nothing_is_believed();
	memory_without_a_holder();
	return done_testing();
}
