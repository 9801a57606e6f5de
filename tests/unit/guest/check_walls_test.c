/* SPDX-License-Identifier: Apache-2.0 */
/* What a process's status says of the walls around it. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest/os/sys.h"
#include "guest/run/check_walls.h"
#include "tests/unit/tap.h"

#define OWN (1u << WIRE_WALL_USER | 1u << WIRE_WALL_CAPS | \
	     1u << WIRE_WALL_FILTER)
#define GOOD                                                              \
	"Name:\tUid: 0 0 0 0\nUid:\t1000\t1000\t1000\t1000\n"             \
	"Gid:\t1000\t1000\t1000\t1000\nFDSize:\t64\nGroups:\t \n"         \
	"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"          \
	"CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"          \
	"CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"        \
	"Seccomp_filters:\t1\n"

static const struct {
	const char *was, *is;
	unsigned falls; /* WIRE_WALL_MAX: none */
	const char *name;
} rows[] = {
	{ "1000\t1000\t1000\t1000\nGid", "1000\t0\t1000\t1000\nGid",
	  WIRE_WALL_USER, "root in effect" },
	{ "1000\t1000\t1000\t1000\nGid", "1000\t1000\t0\t1000\nGid",
	  WIRE_WALL_USER, "root that was saved" },
	{ "1000\nFDSize", "0\nFDSize", WIRE_WALL_USER, "a group of files" },
	{ "Groups:\t ", "Groups:\t0 ", WIRE_WALL_USER, "a further group" },
	{ "Groups:\t \n", "", WIRE_WALL_USER, "no line of groups" },
	{ "Gid:\t1000\t1000\t1000\t1000", "Gid:\t1000", WIRE_WALL_USER,
	  "a line that is cut off" },
	{ "CapInh:\t0", "CapInh:\t1", WIRE_WALL_CAPS, "one to inherit" },
	{ "CapPrm:\t0", "CapPrm:\t1", WIRE_WALL_CAPS, "one permitted" },
	{ "CapEff:\t0", "CapEff:\t1", WIRE_WALL_CAPS, "one in effect" },
	{ "CapBnd:\t0", "CapBnd:\t1", WIRE_WALL_CAPS, "one in the bound" },
	{ "CapAmb:\t0", "CapAmb:\t1", WIRE_WALL_CAPS, "an ambient one" },
	{ "CapBnd:\t", "CapBnd:\tx", WIRE_WALL_CAPS, "no number" },
	{ "CapAmb:", "CapXyz:", WIRE_WALL_CAPS, "a set that is not told" },
	{ "NoNewPrivs:\t1", "NoNewPrivs:\t0", WIRE_WALL_CAPS,
	  "set-id programs" },
	{ "Seccomp:\t2", "Seccomp:\t0", WIRE_WALL_FILTER, "no filter" },
	{ "Seccomp:\t2", "Seccomp:\t1", WIRE_WALL_FILTER, "another mode" },
	{ "FDSize:\t64", "FDSize:\t99", WIRE_WALL_MAX, "something else" },
};

static void test_row(size_t i)
{
	const char *at = strstr(GOOD, rows[i].was);
	unsigned wall = rows[i].falls;
	char text[1000];

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - GOOD), GOOD,
		 rows[i].is, at + strlen(rows[i].was));
	is_int(check_status(text, USER_ID),
	       wall == WIRE_WALL_MAX ? OWN : OWN & ~(1u << wall),
	       "with %s", rows[i].name);
}

int main(void)
{
	struct runner runners[2] = { 0 };
	struct sock_filter allow =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { 1, &allow };

	is_int(check_status(GOOD, USER_ID), OWN, "a runner has all of its own walls");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_row(i);
	is_int(check_status("", USER_ID), 0, "nothing is known of what is not told");
	is_int(check_walls(NULL, 0, 0), 0, "nor where nobody is looked at");
	is_int(check_walls(runners, 2, 0), 0, "nor where no runner waits");
	runners[1].pid = getpid();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	is_int(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0,
	       "this process has a filter");
	ok(check_walls(runners, 2, 0) & 1u << WIRE_WALL_FILTER,
	   "a runner that is not there is passed over");
	return done_testing();
}
