/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs next, and when: room, order, what never fits. The clock, the memory
 * and the machines are the test's. */
#include "fsd/users/quota.h"
#include "fsd/sched/sched.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdlib.h>

#define MACHINE (VM_MACHINE_BYTES + MIB(128)) /* what a run() may come to */

static struct loop *loop;
static struct sched *s;
static struct quota *quota;
static uint64_t clock_ns;
static struct vm_memory memory;
static unsigned given_way;
static const char *sick, *barred;
static bool hopeless;
/* What users keep: machines that have been idle since then. */
static struct kept {
	struct sched_reservation hold;
	uid_t uid;
	uint64_t idle_ns;
} kept[4];
static unsigned asked;
static char order[64], told[1000];

struct run {
	struct sched_slot slot;
	char name;
};

static uint64_t on_now(void)
{
	return clock_ns;
}

static void on_memory(void *arg, struct vm_memory *ret)
{
	(void)arg;
	*ret = memory;
}

static void on_give_way(void *arg)
{
	(void)arg;
	given_way++;
}

static const char *on_barred(void *arg)
{
	(void)arg;
	return barred;
}

static const char *on_sick(void *arg, bool *ret_hopeless)
{
	(void)arg;
	if (ret_hopeless)
		*ret_hopeless = hopeless;
	return sick;
}

static bool on_take_back(void *arg, uid_t uid, uint64_t idle_ns)
{
	(void)arg;
	asked++;
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!kept[i].hold.sched || kept[i].uid != uid ||
		    clock_ns - kept[i].idle_ns < idle_ns)
			continue;
		sched_release(&kept[i].hold);
		return true;
	}
	return false;
}

static void note(const struct run *r)
{
	size_t n = strlen(order);

	order[n] = r->name;
	order[n + 1] = '\0';
}

static void on_ready(struct sched_slot *slot)
{
	note(container_of(slot, struct run, slot));
}

static void on_tell(struct sched_slot *slot, const char *sentence)
{
	(void)slot;
	snprintf(told, sizeof(told), "%s", sentence);
}

static const struct sched_slot_ops ops = { on_ready, on_tell };

static void on_quit(struct loop_call *c)
{
	loop_quit(c->arg);
}

/* All that is due, and what comes of it. */
static void settle(void)
{
	for (int i = 0; i < 3; i++) {
		struct loop_call quit = { .fn = on_quit, .arg = loop };

		loop_defer(loop, &quit);
		loop_run(loop);
	}
}

static void begin(struct sched_limits limits, uint64_t running)
{
	const struct sched_host host = {
		.memory = on_memory, .give_way = on_give_way, .sick = on_sick,
		.barred = on_barred, .take_back = on_take_back,
		.now = on_now,
	};
	const struct quota_limits q = { .running = running };

	clock_ns = 1000 * NS_PER_S;
	memory = (struct vm_memory){ GIB(64), GIB(64) };
	order[0] = told[0] = '\0';
	given_way = asked = 0;
	memset(kept, 0, sizeof(kept));
	sick = barred = NULL;
	hopeless = false;
	limits.cpus = limits.cpus ? limits.cpus : 100;
	if (loop_new(&loop) < 0 || quota_new(&q, &quota) < 0 ||
	    sched_new(loop, &limits, &host, quota, &s) < 0)
		exit(1);
}

static void end(void)
{
	sched_free(s);
	quota_free(quota);
	loop_free(loop);
}

static void later(uint64_t ms)
{
	clock_ns += ms * NS_PER_MS;
}

/* It comes, and is noted if it has its machine at once. */
static void come(struct run *r, char name, uid_t uid, int priority)
{
	uint64_t bytes = r->slot.memory;

	r->name = name;
	r->slot.ops = &ops;
	r->slot.uid = uid;
	r->slot.priority = priority;
	r->slot.memory = bytes ? bytes : MIB(128);
	r->slot.cpus = r->slot.cpus ? r->slot.cpus : 1;
	if (sched_enter(s, &r->slot) == 1)
		note(r);
	else
		sched_tell(&r->slot);
}

static void go(struct run *r)
{
	sched_leave(&r->slot);
	settle();
}

static void test_one_user(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, e = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	come(&a, 'a', 1, 0);
	is_str(order, "a", "the first has its machine at once");
	come(&b, 'b', 1, 0);
	ok(strstr(told, "all 1 are in use (--max-machines)"),
	   "the second is told for what it waits");
	come(&c, 'c', 1, 5);
	come(&d, 'd', 1, -5);
	come(&e, 'e', 1, 5);
	settle();
	is_str(order, "a", "all others wait");
	go(&a);
	go(&c);
	go(&e);
	go(&b);
	is_str(order, "acebd", "priority first, then the oldest");
	go(&d);
	end();
}

/* What was accepted before others, and comes after them. */
static void test_old(void)
{
	struct run n[3] = { 0 }, o[4] = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	for (unsigned i = 0; i < 4; i++)
		o[i].slot.old = i + 1;
	come(&o[0], 'a', 1, 0);
	come(&n[0], '1', 1, 0);
	come(&o[1], 'b', 1, 0);
	come(&n[1], '2', 1, 0);
	come(&o[2], 'c', 1, 0);
	sched_leave(&o[2].slot);
	come(&o[3], 'd', 1, 0);
	come(&n[2], '0', 1, 1);
	go(&o[0]);
	go(&n[2]);
	go(&o[1]);
	go(&o[3]);
	go(&n[0]);
	is_str(order, "a0bd12", "keeps its place, but for priorities");
	come(&o[0], 'e', 1, 0);
	go(&n[1]);
	is_str(order, "a0bd12e", "also where nobody waits");
	go(&o[0]);
	end();
}

/* Somebody wants to know of one before its turn has come. */
static void test_old_out_of_order(void)
{
	static const uint64_t old[] = { 5, 9, 0, 7, 8, 0, 6 };
	struct run r[ARRAY_SIZE(old)] = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(old); i++) {
		r[i].slot.old = old[i];
		come(&r[i], (char)('0' + (old[i] ? old[i] : i)), 1, 0);
	}
	for (unsigned next = 5; next <= 9; next++)
		for (unsigned i = 0; i < ARRAY_SIZE(old); i++)
			if (old[i] == next)
				go(&r[i]);
	go(&r[2]);
	is_str(order, "5678925", "old ones have their order, however they come");
	go(&r[5]);
	end();
}

static void test_leaving(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	come(&c, 'c', 1, 0);
	go(&b);
	is_str(order, "a", "who gives up waiting lets nobody in");
	go(&b);
	go(&a);
	is_str(order, "ac", "the next is the one behind it");
	go(&c);
	go(&c);
	come(&a, 'a', 1, 0);
	is_str(order, "aca", "leaving twice is leaving once");
	go(&a);
	end();
}

static void test_fair(void)
{
	struct run a[6] = { 0 }, b[3] = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	for (unsigned i = 0; i < 6; i++)
		come(&a[i], (char)('1' + i), 1, 0);
	later(100);
	come(&b[0], 'a', 2, -100);
	later(100);
	go(&a[0]);
	is_str(order, "1a", "a user's only job is next, whatever its priority");
	later(100);
	come(&b[1], 'b', 2, 100);
	go(&b[0]);
	is_str(order, "1ab", "then who has been served less,");
	later(1000);
	come(&b[2], 'c', 2, 100);
	go(&b[1]);
	later(100);
	go(&a[1]);
	later(100);
	go(&a[2]);
	is_str(order, "1ab234", "in seconds of machines, not numbers of jobs");
	later(5000);
	go(&a[3]);
	is_str(order, "1ab234c", "until it is the other's turn");
	later(100);
	go(&b[2]);
	go(&a[4]);
	go(&a[5]);
	end();
}

static void test_long_ago(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 }, x = { 0 }, y = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	come(&a, 'a', 1, 0);
	later(3600 * 1000);
	go(&a);
	come(&b, 'b', 2, 0);
	come(&x, 'x', 1, 0);
	come(&c, 'c', 2, 0);
	come(&y, 'y', 1, 0);
	later(61 * 1000);
	go(&b);
	is_str(order, "abx", "an hour of machines is paid for with a minute");
	go(&x);
	go(&c);
	go(&y);
	end();
}

/* A user who comes begins where the one is who was served last. */
static void test_newcomer(void)
{
	struct run l = { 0 }, a = { 0 }, b = { 0 }, c = { 0 }, x = { 0 },
		   y = { 0 }, z = { 0 };

	begin((struct sched_limits){ .machines = 2 }, 0);
	come(&l, 'l', 1, 0);
	later(3600 * 1000);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	come(&c, 'c', 1, 0);
	come(&x, 'x', 2, 0);
	come(&y, 'y', 2, 0);
	come(&z, 'z', 2, 0);
	later(1000);
	go(&l);
	go(&a);
	is_str(order, "laxy", "who comes is before who was served last,");
	later(10 * 1000);
	go(&x);
	go(&y);
	is_str(order, "laxybc", "but not for all that others were served before");
	go(&b);
	go(&c);
	go(&z);
	end();
}

/* Who was not served for long does not take the newcomers' place back with it. */
static void test_newcomer_after_long_wait(void)
{
	struct run a = { 0 }, b = { 0 }, big = { 0 }, y = { 0 }, z = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	memory.available = 2 * MACHINE;
	come(&a, 'a', 1, 0);
	big.slot.memory = 5 * MACHINE; /* which other processes have */
	come(&big, 'B', 2, 0);
	come(&b, 'b', 1, 0);
	later(50 * 1000);
	go(&a);
	later(1000);
	memory.available = 9 * MACHINE;
	go(&b);
	is_str(order, "abB", "it is served at last,");
	come(&y, 'y', 3, 0);
	come(&z, 'z', 2, 0);
	later(1000);
	go(&big);
	is_str(order, "abBz", "and is before who comes after the others");
	go(&z);
	go(&y);
	end();
}

/* Less than a minute is not forgiven to who comes back. */
static void test_short_debt(void)
{
	struct run a = { 0 }, b = { 0 }, x = { 0 }, y = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	come(&a, 'a', 1, 0);
	come(&x, 'x', 2, 0);
	later(30 * 1000);
	go(&a);
	come(&b, 'b', 1, 0);
	come(&y, 'y', 2, 0);
	later(10 * 1000);
	go(&x);
	is_str(order, "axy", "half a minute is paid for");
	go(&y);
	go(&b);
	end();
}

/* The machines of a moment weigh nothing for who comes. */
static void test_newcomer_beside_many(void)
{
	struct run a[4] = { 0 }, x = { 0 }, y = { 0 };

	begin((struct sched_limits){ .machines = 4 }, 0);
	for (unsigned i = 0; i < 4; i++)
		come(&a[i], 'a', 1, 0);
	come(&x, 'x', 2, 0);
	come(&y, 'y', 1, 0);
	for (unsigned i = 0; i < 4; i++)
		sched_leave(&a[i].slot);
	settle();
	is_str(order, "aaaaxy", "who came first is first when both have had "
				"the same");
	go(&x);
	go(&y);
	end();
}

static void test_under_way(void)
{
	struct run l = { 0 }, x = { 0 }, b = { 0 }, y = { 0 };

	begin((struct sched_limits){ .machines = 2 }, 0);
	come(&l, 'l', 1, 0);
	come(&x, 'x', 2, 0);
	come(&b, 'b', 1, 0);
	come(&y, 'y', 2, 0);
	later(10 * 1000);
	go(&x);
	is_str(order, "lxy", "what runs still counts as much as what is over");
	go(&l);
	go(&b);
	go(&y);
	end();
}

static void test_not_away(void)
{
	struct run l = { 0 }, x[3] = { 0 }, b = { 0 }, y = { 0 };

	begin((struct sched_limits){ .machines = 3 }, 0);
	come(&l, 'l', 1, 0);
	come(&x[0], 'x', 2, 0);
	come(&x[1], 'x', 2, 0);
	later(100 * 1000);
	go(&x[0]);
	come(&x[2], 'x', 2, 0);
	come(&y, 'y', 2, 0);
	come(&b, 'b', 1, 0);
	go(&x[1]);
	is_str(order, "lxxxb", "who has something running is no newcomer");
	go(&l);
	go(&x[2]);
	go(&b);
	go(&y);
	end();
}

/* A user that always has runs of 10 s, more than there are machines. */
struct crowd {
	struct run run[8];
	char name;
	uid_t uid;
	unsigned served;
};

static void crowd_come(struct crowd *c)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->run); i++)
		if (!c->run[i].slot.user)
			come(&c->run[i], c->name, c->uid, 0);
}

/* Those that were under way when the 10 s were over. */
static void crowd_ends(struct crowd *c)
{
	bool over[ARRAY_SIZE(c->run)];

	for (unsigned i = 0; i < ARRAY_SIZE(c->run); i++)
		over[i] = c->run[i].slot.granted;
	for (unsigned i = 0; i < ARRAY_SIZE(c->run); i++)
		if (over[i]) {
			sched_leave(&c->run[i].slot);
			c->served++;
		}
	crowd_come(c);
}

static void crowds(struct crowd *a, struct crowd *b, unsigned rounds)
{
	a->served = b->served = 0;
	for (unsigned i = 0; i < rounds; i++) {
		order[0] = '\0';
		later(10 * 1000);
		crowd_ends(a);
		if (b->name)
			crowd_ends(b);
		settle();
	}
}

static void crowd_go(struct crowd *c)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->run); i++)
		sched_leave(&c->run[i].slot);
}

static void test_idle_session_saves_nothing(void)
{
	struct crowd v = { .name = 'v', .uid = 1 }, none = { 0 };
	struct crowd u = { .name = 'u', .uid = 2 };
	struct sched_reservation machine = { 0 };
	struct run a = { 0 };

	begin((struct sched_limits){ .machines = 4 }, 0);
	come(&a, 'a', 2, 0);
	sched_join(&a.slot, &machine);
	go(&a);
	crowd_come(&v);
	crowds(&v, &none, 360);
	is_int(v.served, 3 * 360, "beside an idle session one user has the rest");
	crowd_come(&u);
	crowds(&v, &u, 20);
	ok(v.served >= 15 && u.served >= 15,
	   "after an hour its owner takes turns at once: %u and %u",
	   v.served, u.served);
	crowd_go(&v);
	crowd_go(&u);
	sched_release(&machine);
	end();
}

/* The same of a run that lasts, and of one that does not fit: each is worth the
 * minute that others' debts are. */
static void test_waiting_saves_little(void)
{
	struct crowd v = { .name = 'v', .uid = 1 }, none = { 0 };
	struct crowd u = { .name = 'u', .uid = 2 };
	struct run a = { 0 }, big = { 0 };

	begin((struct sched_limits){ .machines = 4 }, 0);
	come(&a, 'a', 2, 0);
	crowd_come(&v);
	crowds(&v, &none, 360);
	crowd_come(&u);
	crowds(&v, &u, 20);
	ok(v.served >= 15, "nor does a user with one long run save up: %u and "
	   "%u", v.served, u.served);
	sched_leave(&a.slot);
	crowd_go(&v);
	crowd_go(&u);
	end();

	begin((struct sched_limits){ .machines = 4 }, 0);
	memory.available = 9 * MACHINE;
	big.slot.memory = 20 * MACHINE;
	come(&big, 'B', 2, 0);
	memset(v.run, 0, sizeof(v.run));
	memset(u.run, 0, sizeof(u.run));
	crowd_come(&v);
	crowds(&v, &none, 360);
	crowd_come(&u);
	crowds(&v, &u, 20);
	ok(v.served >= 30, "nor one whose only run does not fit: %u and %u",
	   v.served, u.served);
	sched_leave(&big.slot);
	crowd_go(&v);
	crowd_go(&u);
	end();
}

static void test_session_owner_pays_a_minute(void)
{
	struct run a = { 0 }, l = { 0 }, b = { 0 }, x[2] = { 0 }, y = { 0 };
	struct sched_reservation machine = { 0 };

	begin((struct sched_limits){ .machines = 3 }, 0);
	come(&a, 'a', 1, 0);
	sched_join(&a.slot, &machine);
	go(&a);
	come(&l, 'l', 1, 0);
	later(3600 * 1000);
	go(&l);
	come(&x[0], 'x', 2, 0);
	come(&x[1], 'x', 2, 0);
	come(&b, 'b', 1, 0);
	come(&y, 'y', 2, 0);
	later(61 * 1000);
	go(&x[0]);
	is_str(order, "alxxb", "an idle session's owner pays with a minute too");
	go(&x[1]);
	go(&b);
	go(&y);
	sched_release(&machine);
	end();
}

static void test_together(void)
{
	struct run first = { 0 }, a[4] = { 0 }, b[4] = { 0 };

	begin((struct sched_limits){ .machines = 4, .cpus = 4 }, 0);
	first.slot.cpus = 4;
	come(&first, '0', 3, 0);
	for (unsigned i = 0; i < 4; i++)
		come(&a[i], 'a', 1, 0);
	for (unsigned i = 0; i < 4; i++)
		come(&b[i], 'b', 2, 0);
	ok(strstr(told, "processors"), "more processors than there are wait");
	go(&first);
	is_str(order, "0abab", "free machines go round at once");
	for (unsigned i = 0; i < 4; i++) {
		go(&a[i]);
		go(&b[i]);
	}
	end();
}

static void test_quota(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 };
	struct quota_limits limits;
	struct quota_use use;

	begin((struct sched_limits){ .machines = 4 }, 1);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	quota_of(quota, 1, &use, &limits);
	ok(use.running == 1 && use.waiting == 1, "each counts for its owner");
	ok(strstr(told, "at most 1 at a time (--quota-running)"),
	   "one too many of a user waits for it");
	come(&c, 'c', 2, 0);
	is_str(order, "ac", "and holds up nobody else");
	go(&a);
	is_str(order, "acb", "until one of the user's has ended");
	quota_of(quota, 1, &use, &limits);
	ok(use.running == 1 && use.waiting == 0, "who runs waits no more");
	go(&b);
	go(&c);
	end();
}

static void test_memory(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 4, .reserve = MIB(100) }, 0);
	memory.available = 2 * MACHINE + MIB(120);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	is_str(order, "ab", "as many as fit beside the reserve");
	later(1000);
	come(&c, 'c', 1, 0);
	is_str(order, "ab", "what was promised is not promised twice, though "
			    "it is free");
	ok(strstr(told, "waits for memory: its machine may come to 256 MiB"),
	   "it is told");
	ok(given_way > 0, "idle machines give way");
	ok(!sched_has_spare(s), "and none are made ahead");
	memory.available -= MIB(300);
	later(1000);
	go(&a);
	is_str(order, "ab", "while another process has the memory it waits on");
	memory.available += MIB(400);
	later(1000);
	sched_kick(s);
	settle();
	is_str(order, "abc", "and runs when it is free");
	go(&b);
	go(&c);
	end();
}

static void test_taken(void)
{
	struct run a = { 0 }, b = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 4 }, 0);
	memory.available = 3 * MACHINE;
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	memory.available -= 2 * MACHINE - MIB(10); /* they took of theirs */
	later(1000);
	come(&c, 'c', 1, 0);
	is_str(order, "abc", "what was promised and taken counts once");
	go(&a);
	go(&b);
	go(&c);
	end();
}

static void test_never(void)
{
	struct err err = { 0 };
	struct run a = { 0 };

	begin((struct sched_limits){ .machines = 4, .reserve = MIB(100) }, 0);
	memory.total = GIB(1);
	is_int(sched_check(s, 1, MIB(796), false, &err), 0, "the most there is");
	is_int(sched_check(s, 1, MIB(797), false, &err), -EINVAL,
	       "more than there ever is cannot be queued");
	ok(strstr(err.text, "925 MiB") && strstr(err.text, "924 MiB"),
	   "which says how much: %s", err.text);
	is_int(sched_check(s, 1, UINT64_MAX, true, &err), -EINVAL,
	       "nor all that can be said");
	come(&a, 'a', 1, 0);
	is_int(sched_grow(&a.slot, MIB(900), &err), -E2BIG,
	       "and with its files a run ends that never fits");
	go(&a);
	end();
}

/* The limit is what waits and what is about to. */
static void test_places(void)
{
	struct sched_place p = { 0 }, q = { 0 };
	struct run a = { 0 }, b = { 0 };
	struct err err = { 0 };

	begin((struct sched_limits){ .machines = 1, .queued = 2,
				     .user_queued = 1 }, 0);
	come(&a, 'a', 1, 0);
	is_int(sched_check(s, 1, 0, false, &err), 0, "nobody waits");
	sched_keep_place(s, 1, &p);
	is_int(sched_check(s, 1, 0, false, &err), -EAGAIN,
	       "a place that is kept is taken,");
	ok(strstr(err.text, "1 jobs of user 1 wait"), "which is said");
	is_int(sched_check(s, 1, 0, true, &err), 0,
	       "but for the one that it is kept for");
	sched_keep_place(s, 1, &p);
	is_int(sched_check(s, 2, 0, false, &err), 0, "and once only,");
	sched_keep_place(s, 2, &q);
	is_int(sched_check(s, 3, 0, false, &err), -EAGAIN, "of all as well");
	ok(strstr(err.text, "2 jobs wait"), "which is said");
	sched_give_place(&p);
	come(&b, 'b', 1, 0);
	is_int(sched_check(s, 3, 0, false, &err), -EAGAIN,
	       "a run that waits has it instead,");
	sched_give_place(&p);
	sched_give_place(&q);
	is_int(sched_check(s, 3, 0, false, &err), 0,
	       "and what was given back can be had, once");
	is_int(sched_check(s, 1, 0, false, &err), -EAGAIN, "but not by all");
	sched_leave(&b.slot);
	is_int(sched_check(s, 1, 0, false, &err), 0, "until nobody waits");
	go(&a);
	end();
}

static void test_growing(void)
{
	struct err err = { 0 };
	struct sched_stats st;
	struct run a = { 0 }, b = { 0 };

	begin((struct sched_limits){ .machines = 4 }, 1);
	memory.available = 2 * MACHINE + MIB(100);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 2, 0);
	is_int(sched_grow(&b.slot, MIB(200), &err), 0, "files find their room");
	sched_stats(s, &st);
	is_int((long long)st.promised, (long long)(2 * MACHINE + MIB(72)),
	       "which is promised then");
	is_int(sched_grow(&b.slot, MIB(300), &err), -EAGAIN,
	       "or the run waits again");
	settle();
	is_str(order, "ab", "and is not let in for less");
	sched_stats(s, &st);
	ok(st.waiting == 1 && st.machines == 1, "it has given all back");
	go(&a);
	is_str(order, "abb", "until there is room for all of it");
	go(&b);
	sched_stats(s, &st);
	ok(!st.waiting && !st.machines && !st.promised, "nothing is left");
	end();
}

static void test_passing(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 }, d = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	memory.available = 4 * MACHINE;
	come(&a, 'a', 1, 0);
	big.slot.memory = 3 * MACHINE;
	come(&big, 'B', 2, 0);
	come(&c, 'c', 3, 0);
	is_str(order, "ac", "small ones pass a large one");
	go(&c);
	later(11 * 1000);
	come(&d, 'd', 3, 0);
	settle();
	is_str(order, "ac", "not for ever");
	go(&a);
	is_str(order, "acB", "it has its memory as soon as others have ended");
	go(&big);
	is_str(order, "acBd", "and then they are next");
	go(&d);
	end();
}

/* count large ones, then a small one, all of a user's. */
static bool passes(unsigned count)
{
	struct run a = { 0 }, big[20] = { 0 }, c = { 0 };
	bool passed;

	begin((struct sched_limits){ .machines = 99 }, 0);
	memory.available = 4 * MACHINE;
	come(&a, 'a', 1, 0);
	for (unsigned i = 0; i < count; i++) {
		big[i].slot.memory = 3 * MACHINE;
		come(&big[i], 'B', 2, 0);
	}
	come(&c, 'c', 2, 0);
	passed = !strcmp(order, "ac");
	go(&a);
	go(&c);
	for (unsigned i = 0; i < count; i++)
		go(&big[i]);
	end();
	return passed;
}

static void test_passing_ones_own(void)
{
	ok(passes(1), "a small one passes a large one of the same user");
	ok(passes(15), "or fifteen");
	ok(!passes(16), "and no more are looked at");
}

/* Who waits for what others have is not who holds up the rest: the next one
 * that ours hold up is, from when it came to wait. */
static void test_passing_behind_others_memory(void)
{
	struct run a = { 0 }, none = { 0 }, big = { 0 }, c = { 0 }, d = { 0 },
		   e = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	memory.available = 4 * MACHINE;
	come(&a, 'a', 1, 0);
	none.slot.memory = 20 * MACHINE;
	come(&none, 'N', 2, 0);
	later(11 * 1000);
	big.slot.memory = 3 * MACHINE;
	come(&big, 'B', 3, 0);
	come(&c, 'c', 4, 0);
	is_str(order, "ac", "a small one passes both");
	go(&c);
	later(6 * 1000);
	come(&e, 'e', 4, 0);
	go(&e);
	later(5 * 1000);
	come(&d, 'd', 4, 0);
	settle();
	is_str(order, "ace",
	       "the one that ours hold up is not passed for ever");
	go(&a);
	is_str(order, "aceB", "and has its memory when they have ended");
	go(&big);
	go(&d);
	go(&none);
	end();
}

/* Who was held up by ours, and is not any more, does not hold up the others. */
static void test_blocked_no_more(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 }, d = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	memory.available = 4 * MACHINE;
	come(&a, 'a', 1, 0);
	big.slot.memory = 3 * MACHINE;
	come(&big, 'B', 2, 0);
	later(11 * 1000);
	memory.available = 3 * MACHINE / 2; /* others have taken the rest */
	c.slot.memory = 3 * MACHINE / 2;
	come(&c, 'C', 3, 0);
	come(&d, 'd', 4, 0);
	is_str(order, "ad", "the next one's time begins with itself");
	go(&a);
	go(&d);
	go(&c);
	go(&big);
	end();
}

static void test_blocked_by_quota(void)
{
	struct run a = { 0 }, big = { 0 }, own = { 0 }, c = { 0 }, d = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 1);
	memory.available = 5 * MACHINE;
	come(&a, 'a', 1, 0);
	big.slot.memory = 4 * MACHINE;
	come(&big, 'B', 2, 0);
	come(&own, 'o', 2, 0);
	is_str(order, "ao", "one of the same user passes a large one,");
	later(11 * 1000);
	c.slot.memory = 3 * MACHINE;
	come(&c, 'C', 3, 0);
	come(&d, 'd', 4, 0);
	is_str(order, "aod", "and who waits for that one holds up nobody");
	go(&d);
	go(&a);
	go(&own);
	go(&big);
	go(&c);
	end();
}

static void test_others_have_it(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	memory.available = 2 * MACHINE;
	come(&a, 'a', 1, 0);
	big.slot.memory = 5 * MACHINE;
	come(&big, 'B', 2, 0);
	later(11 * 1000);
	come(&c, 'c', 3, 0);
	is_str(order, "ac", "what waits for other processes holds up nobody");
	go(&a);
	go(&c);
	memory.available = 9 * MACHINE;
	later(1000);
	sched_kick(s);
	settle();
	is_str(order, "acB", "and runs when they let it");
	go(&big);
	end();
}

/* A session's machine does not end when its steps have. */
static void test_sessions_have_it(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 };
	struct sched_reservation machine = { 0 };

	begin((struct sched_limits){ .machines = 9, .reserve = MIB(100) }, 0);
	memory.available = 4 * MACHINE + MIB(100);
	come(&a, 'a', 1, 0);
	sched_join(&a.slot, &machine);
	go(&a);
	big.slot.memory = 3 * MACHINE;
	come(&big, 'B', 1, 0);
	later(11 * 1000);
	come(&c, 'c', 2, 0);
	is_str(order, "ac", "what waits for a session's memory holds up nobody");
	sched_release(&machine);
	settle();
	is_str(order, "ac", "when the session ends a run has the rest,");
	go(&c);
	is_str(order, "acB", "and it begins when that has ended");
	go(&big);
	end();
}

static void test_runs_and_sessions_have_it(void)
{
	struct run a = { 0 }, l = { 0 }, big = { 0 }, c = { 0 };
	struct sched_reservation machine = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	memory.available = 6 * MACHINE;
	come(&a, 'a', 1, 0);
	sched_join(&a.slot, &machine);
	go(&a);
	l.slot.memory = 2 * MACHINE;
	come(&l, 'l', 3, 0);
	big.slot.memory = 3 * MACHINE;
	come(&big, 'B', 1, 0);
	later(11 * 1000);
	come(&c, 'c', 2, 0);
	is_str(order, "al", "what fits beside a session waits for the runs' end");
	go(&l);
	is_str(order, "alBc", "and no longer");
	go(&big);
	go(&c);
	sched_release(&machine);
	end();
}

/* More processors than there are to share: it may have them alone. */
static void test_alone(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 9, .cpus = 2 }, 0);
	come(&a, 'a', 1, 0);
	big.slot.cpus = 3;
	come(&big, 'B', 2, 0);
	later(11 * 1000);
	come(&c, 'c', 3, 0);
	is_str(order, "a", "who has to be alone is not passed for ever");
	go(&a);
	is_str(order, "aB", "and is when the others have ended");
	go(&big);
	go(&c);
	end();
}

static void test_sessions_take_no_processors(void)
{
	struct run a = { 0 }, big = { 0 }, c = { 0 };
	struct sched_reservation machine = { 0 };

	begin((struct sched_limits){ .machines = 9, .cpus = 4 }, 0);
	a.slot.cpus = 2;
	come(&a, 'a', 1, 0);
	sched_join(&a.slot, &machine);
	go(&a);
	big.slot.cpus = 3;
	come(&big, 'B', 1, 0);
	later(11 * 1000);
	come(&c, 'c', 2, 0);
	is_str(order, "aBc", "a session that may be idle takes no processor from a run");
	go(&big);
	go(&c);
	sched_release(&machine);
	end();
}

static void test_full(void)
{
	struct err err = { 0 };
	struct run a = { 0 }, b = { 0 }, c = { 0 };

	begin((struct sched_limits){ .machines = 1, .queued = 2,
				     .user_queued = 1 }, 0);
	come(&a, 'a', 1, 0);
	is_int(sched_check(s, 1, 1, false, &err), 0, "there is room to wait");
	come(&b, 'b', 1, 0);
	is_int(sched_check(s, 1, 1, false, &err), -EAGAIN, "the user's is used");
	ok(strstr(err.text, "--quota-queued"), "by that option");
	is_int(sched_check(s, 2, 1, false, &err), 0, "another's is not");
	come(&c, 'c', 2, 0);
	is_int(sched_check(s, 3, 1, false, &err), -EAGAIN, "all of it is used");
	ok(strstr(err.text, "--max-queued"), "by the other one");
	is_int(sched_check(s, 3, 1, true, &err), 0,
	       "what was accepted before is not refused");
	go(&b);
	is_int(sched_check(s, 3, 1, false, &err), 0, "until one has left");
	go(&a);
	go(&c);
	end();
}

static void test_sick(void)
{
	struct run a = { 0 }, b = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	sick = "no template";
	hopeless = true;
	come(&a, 'a', 1, 0);
	is_str(order, "", "without a template nobody tries");
	hopeless = false;
	sched_kick(s);
	settle();
	come(&b, 'b', 1, 0);
	is_str(order, "a", "while no machine can be had one run tries");
	ok(strstr(told, "no template"), "and the others are told why they wait");
	sick = NULL;
	sched_kick(s);
	settle();
	is_str(order, "ab", "until there are machines again");
	go(&a);
	go(&b);
	end();
}

static void test_barred(void)
{
	struct run a = { 0 }, b = { 0 };

	begin((struct sched_limits){ .machines = 1 }, 0);
	come(&a, 'a', 1, 0);
	come(&b, 'b', 1, 0);
	is_str(order, "a", "one has its machine, the other waits");
	barred = "the disk is full";
	is_int(sched_put_back(&a.slot), 0, "the one is put back");
	settle();
	is_str(order, "a", "while all are barred nobody begins");
	ok(strstr(told, "waits: the disk is full"), "and who waits is told why");
	barred = NULL;
	sched_kick(s);
	settle();
	is_str(order, "aa", "then who was put back is the first");
	go(&a);
	settle();
	is_str(order, "aab", "and the other one follows");
	go(&b);
	end();
}

/* uid makes a sandbox, which is idle from now on. */
static void keep(unsigned i, uid_t uid, uint64_t bytes)
{
	struct run r = { .slot.memory = bytes };

	come(&r, (char)('0' + i), uid, 0);
	sched_join(&r.slot, &kept[i].hold);
	sched_leave(&r.slot);
	kept[i].uid = uid;
	kept[i].idle_ns = clock_ns;
}

/* The next look that may take a machine. */
static void look_later(uint64_t ms)
{
	later(ms);
	sched_kick(s);
	settle();
}

static void keep_nothing(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++)
		sched_release(&kept[i].hold);
}

static void test_share_is_given_back(void)
{
	struct run a = { 0 }, b = { 0 };
	struct sched_kept k;

	begin((struct sched_limits){ .machines = 2 }, 0);
	keep(0, 1, 0);
	later(1000);
	keep(1, 1, 0);
	sched_kept(s, 1, &k);
	ok(k.machines == 2 && k.own == 2 && !strcmp(k.all, "machines") && !k.turn,
	   "who keeps all machines has nothing to wait for");
	sched_kept(s, 2, &k);
	ok(k.own == 0 && k.turn, "another user has");
	come(&a, 'a', 2, 0);
	ok(strstr(told, "sessions and sandboxes keep 2"),
	   "who waits is told who has them");
	look_later(1000);
	is_str(order, "01", "what was in use just now is not taken");
	look_later(3000);
	is_str(order, "01a", "but what is idle for seconds, beyond a share");
	ok(kept[1].hold.sched, "and no more than that");
	come(&b, 'b', 2, 0);
	look_later(60000);
	is_str(order, "01a", "who has as much takes nothing");
	go(&a);
	is_str(order, "01ab", "and has its own next");
	go(&b);
	sched_kept(s, 2, &k);
	ok(!k.all, "then there is one for anybody");
	keep_nothing();
	end();
}

static void test_share_is_not_given_to_oneself(void)
{
	struct run a = { 0 };

	begin((struct sched_limits){ .machines = 2 }, 0);
	keep(0, 1, 0);
	keep(1, 1, 0);
	come(&a, 'a', 1, 0);
	look_later(100000);
	is_str(order, "01", "nobody's own sandbox ends for a job");
	ok(!asked, "nor is it looked for");
	sched_leave(&a.slot);
	keep_nothing();
	end();
}

static void test_turn_of_the_last_machine(void)
{
	struct run a = { 0 };

	begin((struct sched_limits){ .machines = 2 }, 0);
	keep(0, 1, 0);
	keep(1, 2, 0);
	come(&a, 'a', 3, 0);
	look_later(20000);
	is_str(order, "01", "who has its share keeps it for longer");
	look_later(11000);
	is_str(order, "01a", "and gives it back at last");
	go(&a);
	keep_nothing();
	end();
}

static void test_turn_of_memory(void)
{
	struct run a = { .slot.memory = GIB(2) };
	struct run b = { .slot.memory = GIB(40) };
	struct sched_kept k;

	begin((struct sched_limits){ .machines = 9 }, 0);
	keep(0, 1, GIB(20));
	keep(1, 1, GIB(20));
	keep(2, 1, GIB(22));
	sched_kept(s, 2, &k);
	ok(k.all == NULL, "there is room for a usual job");
	come(&a, 'a', 2, 0);
	look_later(10000);
	is_str(order, "012a", "memory is given back as machines are");
	go(&a);
	come(&b, 'b', 2, 0);
	look_later(2000);
	is_str(order, "012ab", "as much as is needed");
	ok(kept[2].hold.sched, "and no more");
	go(&b);
	keep_nothing();
	end();
}

static void test_turn_behind_one_that_grew(void)
{
	struct run grown = { 0 }, a = { .slot.memory = GIB(20) };
	struct err err = { 0 };

	begin((struct sched_limits){ .machines = 9 }, 0);
	come(&grown, 'g', 2, 0);
	is_int(sched_grow(&grown.slot, GIB(1), &err), 0, "a run grows");
	go(&grown);
	keep(0, 1, GIB(20));
	keep(1, 1, GIB(20));
	keep(2, 1, GIB(22));
	come(&a, 'a', 2, 0);
	look_later(10000);
	is_str(order, "g012a", "its user has no memory behind its end, and is given some");
	go(&a);
	keep_nothing();
	end();
}

static void test_turn_that_would_not_help(void)
{
	struct run a = { .slot.memory = GIB(40) };

	begin((struct sched_limits){ .machines = 9 }, 0);
	keep(0, 1, GIB(5));
	later(10);
	memory.available = GIB(30); /* others have the rest */
	come(&a, 'a', 2, 0);
	look_later(100000);
	is_str(order, "0", "nothing ends for a job that would wait on");
	ok(kept[0].hold.sched, "whatever is idle");
	sched_leave(&a.slot);
	keep_nothing();
	end();
}

int main(void)
{
	test_one_user();
	test_old();
	test_old_out_of_order();
	test_leaving();
	test_fair();
	test_long_ago();
	test_newcomer();
	test_newcomer_after_long_wait();
	test_short_debt();
	test_newcomer_beside_many();
	test_under_way();
	test_not_away();
	test_idle_session_saves_nothing();
	test_waiting_saves_little();
	test_session_owner_pays_a_minute();
	test_together();
	test_quota();
	test_memory();
	test_taken();
	test_never();
	test_places();
	test_growing();
	test_passing();
	test_passing_ones_own();
	test_passing_behind_others_memory();
	test_blocked_no_more();
	test_blocked_by_quota();
	test_others_have_it();
	test_sessions_have_it();
	test_runs_and_sessions_have_it();
	test_sessions_take_no_processors();
	test_alone();
	test_full();
	test_sick();
	test_barred();
	test_share_is_given_back();
	test_share_is_not_given_to_oneself();
	test_turn_of_the_last_machine();
	test_turn_of_memory();
	test_turn_behind_one_that_grew();
	test_turn_that_would_not_help();
	return done_testing();
}
