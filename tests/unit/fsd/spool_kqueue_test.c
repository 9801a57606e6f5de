/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each way to put an entry into a spool, with the files that other systems than Linux get.
 * On Linux kqueue(2) is that of tests/lib/kqueue.
 */
#include "fsd/spool/lease_none.c"
#include "fsd/local/remote_none.c"
#include "fsd/local/rename_none.c"
#include "fsd/spool/watch_kqueue.c"
#include "fsd/spool/claim.h"
#include "tests/unit/fsd/spool_ways.h"

static const struct watcher watcher = {
	.name = "kqueue", .options = { .settle_ms = SETTLE, .poll_ms = POLL },
	.renamed = ENTRIES_NO_LEASE_MS, .written = ENTRIES_NO_LEASE_MS,
};

static void count(void *arg, const char *name, enum watch_change change)
{
	(void)name;
	(void)change;
	++*(int *)arg;
}

static void test_events(void)
{
	struct pollfd p = { .events = POLLIN };
	int dir, named = 0;

	begin(&usual);
	dir = open("new", O_RDONLY | O_DIRECTORY);
	p.fd = watch_system.open(dir);
	is_int(poll(&p, 1, 0), 0, "without a change there is no event");
	run("touch a b");
	is_int(poll(&p, 1, 1000), 1, "a new name makes the descriptor readable");
	ok(watch_system.read(p.fd, count, &named), "and asks for a scan");
	is_int(named, 0, "it says no name");
	ok(!watch_system.read(p.fd, count, &named), "an event is read once");
	run("rm a");
	ok(watch_system.read(p.fd, count, &named), "a removed name asks for a scan");
	run("mv b c");
	ok(watch_system.read(p.fd, count, &named), "so does a rename");
	is_int(watch_system.open(-1), -EBADF, "a descriptor that is none is an error");
	close(p.fd);
	close(dir);
	end();
}

static void publish(const struct place *p, const char *name)
{
	struct claim *c = NULL, *twice = NULL;
	bool good = true;

	is_int(claim_make(p, name, &c), 0, "%s is claimed", name);
	is_int(claim_make(p, name, &twice), -ENOENT, "once");
	if (!c)
		return;
	is_int(claim_give_back(p, c), -ENOSYS, "it stays claimed where a rename back could "
	       "replace another entry");
	is_int(claim_write(c, "error", "no\n", 3), 0, "it gets a result");
	is_int(claim_write_exit_code(c, "125\n"), 0, "and an exit code");
	is_int(claim_publish(p, c, "x", true, &good), 0, "which is published");
	ok(!good, "as a failure");
	claim_free(c);
}

static void test_claims(void)
{
	const struct spool_options o = { .dir = "spool", .name = "a" };
	struct place p = PLACE_NONE;

	is_int(place_open(&p, &o, &err), 0, "the directories are made: %s", err.text);
	is_int(place_lock(&p, &err), 0, "and locked: %s", err.text);
	is_int(system("mkdir spool/new/x spool/new/y"), 0, "there are two entries");
	publish(&p, "x");
	publish(&p, "y");
	is_int(access("spool/failed/x/error", F_OK), 0, "the first has its name");
	is_int(access("spool/failed/x.2/error", F_OK), 0, "the second another one");
	place_close(&p);
}

int main(void)
{
	if (!start())
		return 1;
	test_claims();
	test_events();
	test_ways(&watcher);
	return finish();
}
