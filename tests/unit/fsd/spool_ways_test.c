/* SPDX-License-Identifier: Apache-2.0 */
/* Each way to put an entry into a spool, with the events of Linux and without any. */
#include "tests/unit/fsd/spool_ways.h"

static const struct watcher watchers[] = {
	{ .name = "inotify", .options = { .settle_ms = SETTLE, .poll_ms = POLL },
	  .renamed = 0, .written = SETTLE },
	/* in a quiet time the next scan is WATCH_QUIET away */
	{ .name = "poll", .options = { .settle_ms = SETTLE, .poll_ms = POLL,
				       .poll_only = true },
	  .renamed = WATCH_QUIET + SETTLE, .written = WATCH_QUIET + SETTLE },
};

static void test_poll_interval(void)
{
	begin(&watchers[1].options);
	run("touch b");
	pass(POLL);
	run("cp b a");
	pass(POLL + SETTLE);
	is_int(claim("b"), 0, "an entry that is found makes the next scan come after --poll");
	is_int(claim("a"), 0, "so that the next entry is taken within --poll and --settle");
	end();
}

int main(void)
{
	if (!start())
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(watchers); i++)
		test_ways(&watchers[i]);
	test_poll_interval();
	return finish();
}
