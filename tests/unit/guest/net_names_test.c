/* SPDX-License-Identifier: Apache-2.0 */
/* Which address stands for which name, and for how long. */
#include "guest/net/net_names.h"

#include <errno.h>

#include "tests/unit/tap.h"

static struct net_names names;
static bool fresh;

static int take(const char *name, uint64_t s)
{
	return net_names_take(&names, name, s * 1000000000u, &fresh);
}

static void test_rows(void)
{
	is_int(net_names_at(&names, NET_NAMES_FIRST), -ENOENT, "no address stands for a "
	       "name");
	is_int(take("a.org", 0), 0, "the first name has the first row");
	ok(fresh, "which is new");
	is_int(take("b.org", 1), 1, "the second the next");
	is_int(take("a.org", 2), 0, "and a name keeps its own");
	ok(!fresh, "which is not new then");
	is_int(net_names_find(&names, "b.org"), 1, "a name is found");
	is_int(net_names_find(&names, "c.org"), -ENOENT, "or is not there");
	is_int(net_names_at(&names, NET_NAMES_FIRST + 1), 1, "and so is an address");
	is_int(net_names_at(&names, NET_NAMES_FIRST + 2), -ENOENT, "the next is none");
	is_int(net_names_at(&names, NET_NAMES_FIRST - 1), -ENOENT, "nor the one before");
	is_int(net_names_at(&names, 0xffffffff), -ENOENT, "nor any other");
}

/* a.org was used last at 2 s, b.org at 1 s. */
static void test_full(void)
{
	is_int(take("c.org", 3), 2, "a table of three has a third name");
	is_int(take("d.org", 600), -EAGAIN, "and no fourth, while each is remembered");
	is_int(take("d.org", 601), 1, "until 10 minutes after the last query of one");
	ok(fresh && net_names_find(&names, "b.org") < 0, "whose row it gets");
	names.row[0].streams = 1;
	is_int(take("e.org", 700), 2, "a row with an open stream is not given away");
	is_int(take("f.org", 700), -EAGAIN, "however old it is");
	is_int(take("a.org", 700), 0, "and still has its name");
}

int main(void)
{
	if (!ok(net_names_open(&names, 3) == 0, "there is a table"))
		return done_testing();
	test_rows();
	test_full();
	net_names_done(&names);
	return done_testing();
}
