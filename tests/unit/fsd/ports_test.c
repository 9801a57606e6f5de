/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ports, with a binder of the test's own. */
#include "fsd/network/ports.h"

#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/handover/handover.h"
#include "tests/unit/tap.h"

/* --- a binder ----------------------------------------------------------- */

static struct {
	unsigned begun, dropped;
	uint32_t no;
	unsigned port;
	void (*bound)(void *owner, int fd);
	void *owner;
	int fails; /* bind() returns it */
} binder;

static int begin(void *arg, uint32_t no, unsigned port,
		 void (*bound)(void *owner, int fd), void *owner, void **ret)
{
	(void)arg;
	binder.begun++;
	binder.no = no;
	binder.port = port;
	binder.bound = bound;
	binder.owner = owner;
	*ret = &binder;
	return binder.fails;
}

static void drop(void *arg, void *bind)
{
	(void)arg;
	binder.dropped += bind == &binder;
}

static const struct port_binder its = { .bind = begin, .drop = drop };

/* --- an owner ------------------------------------------------------------ */

static struct {
	unsigned ready, failed, port;
	int fd;
} seen;

static void on_ready(void *arg, unsigned port, int fd)
{
	(void)arg;
	seen.ready++;
	seen.port = port;
	seen.fd = fd;
}

static void on_failed(void *arg, unsigned port, const char *why)
{
	(void)arg;
	(void)why;
	seen.failed++;
	seen.port = port;
}

static struct ports *owner_new(struct ports_table *t, uint64_t no, bool any)
{
	return ports_new(t, &(struct ports_owner){
		.key = PORTS_KEY(PORT_OF_JOB, no), .uid = 7, .any = any,
		.ready = on_ready, .failed = on_failed });
}

static void count(void *arg, unsigned port)
{
	*(unsigned *)arg += port;
}

static unsigned sum(const struct ports *p)
{
	unsigned n = 0;

	ports_each(p, count, &n);
	return n;
}

/* --- tests --------------------------------------------------------------- */

static void test_one(struct ports_table *t)
{
	struct err err = { 0 };
	struct ports *p = owner_new(t, 1, false);

	ok(ports_find(t, PORTS_KEY(PORT_OF_JOB, 1)) == p, "an owner is found");
	ok(ports_by_no(t, ports_no(p)) == p, "by its number, too");
	ok(!ports_find(t, PORTS_KEY(PORT_OF_SANDBOX, 1)),
	   "but not a sandbox of the same number");
	is_int(ports_open(p, 8080, &err), 0, "a port is asked for");
	is_int(binder.begun, 0, "and waits until the mount is served");
	ports_table_serve(t, &its);
	ok(binder.begun == 1 && binder.port == 8080, "then its socket is bound");
	is_int(ports_open(p, 8080, &err), 0, "to ask again");
	is_int(binder.begun, 1, "binds no second socket");
	ok(!ports_has(p, 8080), "it is not there before it listens");
	ok(!ports_take_made(p, 8081), "no other socket may be made");
	ok(ports_take_made(p, 8080), "its own may");
	ok(!ports_take_made(p, 8080), "once");
	binder.bound(binder.owner, 42);
	ok(seen.ready == 1 && seen.fd == 42 && seen.port == 8080,
	   "the owner gets the listener");
	ok(ports_has(p, 8080) && sum(p) == 8080, "and the port is there");
	is_int(ports_ask(p, 8080, &err), 0, "the verb is content with it");
	is_int(ports_ask(p, 8081, &err), -EACCES, "a port that the config lacks is refused");
	is_str(err.text, "ctl: \"ports\" of the config does not have 8081; true allows any",
	       "with a sentence");
	ports_free(p);
	ok(!ports_find(t, PORTS_KEY(PORT_OF_JOB, 1)), "a freed owner is gone");
}

static void test_failure(struct ports_table *t)
{
	struct err err = { 0 };
	struct ports *p = owner_new(t, 2, true);

	binder.begun = 0;
	is_int(ports_open(p, 5000, &err), 0, "a port of \"true\" is asked for");
	for (unsigned i = 1; i <= 3; i++) {
		is_int(binder.begun, i, "its socket is bound, time %u", i);
		binder.bound(binder.owner, -EIO);
	}
	ok(binder.begun == 3 && seen.failed == 1, "the third failure is told");
	is_int(ports_open(p, 5000, &err), 0, "it may be asked for anew");
	is_int(binder.begun, 4, "and is bound anew");
	ports_free(p);
	is_int(binder.dropped, 1, "a socket that is being bound is dropped");
}

static void test_many(struct ports_table *t)
{
	struct err err = { 0 };
	struct ports *p = owner_new(t, 3, true);
	bool all = true;

	for (unsigned i = 0; i < PORTS_MOST; i++)
		all &= ports_open(p, 2000 + i, &err) == 0;
	ok(all, "%u ports may be open", PORTS_MOST);
	is_int(ports_open(p, 3000, &err), -EMFILE, "and no more");
	is_int(ports_open(p, 80, &err), -EINVAL, "a low port is refused");
	ports_free(p);
}

static void test_names(void)
{
	char name[PORTS_NAME_SIZE];
	uint32_t no;
	unsigned port;

	ports_name(4294967295u, 65535, name);
	ok(ports_name_read(name, &no, &port) && no == 4294967295u && port == 65535,
	   "a name is read as it was written");
	ok(!ports_name_read("0123-1", &no, &port), "another form of it is none");
	ok(!ports_name_read("", &no, &port), "nor is nothing");
}

static void test_waits(void *arg)
{
	struct ports_table *t = arg;
	struct err err = { 0 };
	struct ports *p = owner_new(t, 5, true);

	is_int(ports_ask(p, 8080, &err), 0, "a fiber waits until the port is there");
	is_int(ports_ask(p, 8081, &err), -ESTALE, "or until the machine has ended");
	is_str(err.text, "ctl: the machine has ended", "with a sentence");
}

/* The table of a server that was killed, and that of the next one. */
static void test_next(struct handover *h)
{
	struct ports_table *dead, *t;
	struct ports *p, *first, *second;
	struct err err = { 0 };
	uint32_t no;

	if (ports_table_new(h, &dead) < 0)
		exit(1);
	ports_table_serve(dead, &its);
	first = owner_new(dead, 8, true);
	no = ports_no(first);
	ports_open(first, 8080, &err);
	binder.bound(binder.owner, 6);
	ports_open(first, 8081, &err); /* it is never bound */
	second = owner_new(dead, 9, true);
	if (ports_table_new(h, &t) < 0)
		exit(1);
	ports_table_serve(t, &its);
	p = owner_new(t, 8, true);
	is_int(ports_no(p), no, "an owner keeps its number");
	ok(ports_has(p, 8080), "its open port is open");
	ok(!ports_has(p, 8081), "one that was not bound is not");
	binder.begun = 0;
	is_int(ports_open(p, 8080, &err), 0, "opening the first again");
	is_int(binder.begun, 0, "binds nothing");
	ports_taken_over(t);
	ports_free(p);
	p = owner_new(t, 9, true);
	ok(ports_no(p) > no + 1, "an owner that was not adopted is a new one");
	ok(!ports_has(p, 8080), "without ports");
	ports_free(p);
	p = owner_new(t, 8, true);
	ok(!ports_has(p, 8080), "and so is one that has ended");
	ports_free(p);
	ports_table_free(t);
	ports_free(first); /* a server that is killed does not come to this */
	ports_free(second);
	ports_table_free(dead);
}

int main(void)
{
	struct handover *handover;
	struct ports_table *t;
	struct loop *loop;
	struct err err;

	if (handover_open(-1, &handover, &err) < 0 ||
	    ports_table_new(handover, &t) < 0 || loop_new(&loop) < 0)
		return 1;
	test_one(t);
	test_failure(t);
	test_many(t);
	test_names();
	test_next(handover);
	fibers_init(loop);
	fiber_run(test_waits, t);
	binder.bound(binder.owner, 6);
	fibers_finish();
	ports_free(ports_find(t, PORTS_KEY(PORT_OF_JOB, 5)));
	fibers_finish();
	fibers_done();
	loop_free(loop);
	ports_table_free(t);
	handover_close(handover);
	return done_testing();
}
