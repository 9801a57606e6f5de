/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: descriptors, timers, deferred and posted calls. */
#include "vm/os/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

static struct loop *loop;

/* What happened, a letter each. */
static char trace[64];

static void note(char c)
{
	size_t len = strlen(trace);

	if (len < sizeof(trace) - 1) {
		trace[len] = c;
		trace[len + 1] = '\0';
	}
}

/* A new loop for every test; alarm() bounds a wait that never ends. */
static void begin(void)
{
	trace[0] = '\0';
	if (loop_new(&loop) < 0)
		abort();
	alarm(20);
}

static void end(void)
{
	alarm(0);
	loop_free(loop);
}

static void on_quit_timer(struct loop_timer *t)
{
	note('q');
	loop_quit(t->arg);
}

/* --- descriptors ---------------------------------------------------------- */

struct pair {
	int fds[2];
	struct loop_fd src;
	struct pair *other; /* to be removed when this one fires */
	char letter;
};

static void on_pair(struct loop_fd *src, uint32_t events)
{
	struct pair *p = src->arg;
	char c;

	note(events & EPOLLIN ? p->letter : '?');
	if (read(src->fd, &c, 1) != 1)
		note('!');
	if (p->other)
		loop_fd_del(&p->other->src);
	loop_fd_del(src);
}

static void pair_open(struct pair *p, char letter)
{
	*p = (struct pair){ .letter = letter };
	if (pipe2(p->fds, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    write(p->fds[1], "x", 1) != 1)
		abort();
	p->src = (struct loop_fd){
		.fd = p->fds[0], .events = EPOLLIN, .fn = on_pair, .arg = p,
	};
}

static void pair_close(struct pair *p)
{
	loop_fd_del(&p->src);
	close(p->fds[0]);
	close(p->fds[1]);
}

static void test_fds(void)
{
	struct loop_timer quit = { .fn = on_quit_timer };
	struct pair a, b, c;

	begin();
	pair_open(&a, 'a');
	pair_open(&b, 'b');
	pair_open(&c, 'c');
	a.other = &b;
	b.other = &a;
	is_int(loop_fd_add(loop, &a.src), 0, "a source is added");
	is_int(loop_fd_add(loop, &b.src), 0, "and a second one");
	quit.arg = loop;
	loop_timer_set(loop, &quit, 20 * NS_PER_MS);
	is_int(loop_run(loop), 0, "the loop runs");
	ok(!strcmp(trace, "aq") || !strcmp(trace, "bq"),
	   "a source removed by another's handler does not fire: %s", trace);
	loop_fd_del(&a.src);
	ok(!a.src.loop && !b.src.loop, "removing twice is nothing");
	is_int(loop_fd_mod(&a.src, 0), 0, "changing a removed one is nothing");
	c.src.fd = -1;
	is_int(loop_fd_add(loop, &c.src), -EBADF, "a bad descriptor is told");
	ok(!c.src.loop, "and not added");
	pair_close(&a);
	pair_close(&b);
	close(c.fds[0]);
	close(c.fds[1]);
	end();
}

static void test_fd_mod(void)
{
	struct loop_timer quit = { .fn = on_quit_timer };
	struct pair a;

	begin();
	pair_open(&a, 'a');
	loop_fd_add(loop, &a.src);
	is_int(loop_fd_mod(&a.src, 0), 0, "a source can be muted");
	quit.arg = loop;
	loop_timer_set(loop, &quit, 10 * NS_PER_MS);
	loop_run(loop);
	is_str(trace, "q", "and is not heard then");
	pair_close(&a);
	end();
}

/* --- timers ---------------------------------------------------------------- */

struct alarm_clock {
	struct loop_timer timer;
	uint64_t due; /* its own idea of when */
	struct alarm_clock *victim; /* disarmed when this one fires */
	unsigned *fired, *early, *unordered;
	uint64_t *last;
};

static void on_alarm(struct loop_timer *t)
{
	struct alarm_clock *a = t->arg;

	(*a->fired)++;
	*a->early += now_ns() < a->due;
	*a->unordered += t->at_ns < *a->last;
	*a->last = t->at_ns;
	if (a->victim)
		loop_timer_del(&a->victim->timer);
}

/* Many timers, set, set anew and disarmed at random. */
static void test_timers(void)
{
	enum { COUNT = 500 };
	static struct alarm_clock clocks[COUNT];
	struct loop_timer quit = { .fn = on_quit_timer };
	unsigned fired = 0, early = 0, unordered = 0, armed = 0;
	uint64_t last = 0;

	begin();
	srand(1);
	for (unsigned i = 0; i < COUNT * 4; i++) {
		struct alarm_clock *a = &clocks[rand() % COUNT];
		uint64_t after = (uint64_t)(rand() % 30) * NS_PER_MS;

		if (rand() % 4 == 0) {
			loop_timer_del(&a->timer);
			continue;
		}
		*a = (struct alarm_clock){
			.timer = a->timer, .fired = &fired, .early = &early,
			.unordered = &unordered, .last = &last,
		};
		a->timer.fn = on_alarm;
		a->timer.arg = a;
		a->due = now_ns() + after;
		loop_timer_set(loop, &a->timer, after);
	}
	for (unsigned i = 0; i < COUNT; i++)
		armed += clocks[i].timer.loop != NULL;
	quit.arg = loop;
	loop_timer_set(loop, &quit, 60 * NS_PER_MS);
	loop_run(loop);
	ok(armed > COUNT / 2, "most of %d timers are armed", COUNT);
	is_int(fired, armed, "each fires once");
	is_int(early, 0, "none too early");
	is_int(unordered, 0, "in the order of their times");
	end();
}

static void test_timer_victim(void)
{
	struct loop_timer quit = { .fn = on_quit_timer };
	unsigned fired = 0, early = 0, unordered = 0;
	uint64_t last = 0;
	struct alarm_clock a[2] = { { .fired = &fired, .early = &early,
				      .unordered = &unordered, .last = &last } };

	begin();
	a[1] = a[0];
	for (int i = 0; i < 2; i++) {
		a[i].timer.fn = on_alarm;
		a[i].timer.arg = &a[i];
		a[i].victim = &a[!i];
		loop_timer_set(loop, &a[i].timer, 0);
	}
	quit.arg = loop;
	loop_timer_set(loop, &quit, 5 * NS_PER_MS);
	loop_run(loop);
	is_int(fired, 1, "a timer disarmed by another's handler stays silent");
	end();
}

/* --- calls ------------------------------------------------------------------ */

struct call {
	struct loop_call call;
	char letter;
	struct loop_call *next; /* deferred from inside */
};

static void on_call(struct loop_call *c)
{
	struct call *call = c->arg;

	note(call->letter);
	if (call->next)
		loop_defer(loop, call->next);
	if (call->letter == 'z')
		loop_quit(loop);
}

static void call_init(struct call *c, char letter)
{
	*c = (struct call){ .letter = letter };
	c->call.fn = on_call;
	c->call.arg = c;
}

static void test_deferred(void)
{
	struct call a, b, x, z;

	begin();
	call_init(&a, 'a');
	call_init(&b, 'b');
	call_init(&x, 'x');
	call_init(&z, 'z');
	a.next = &z.call;
	loop_defer(loop, &a.call);
	loop_defer(loop, &a.call);
	loop_defer(loop, &b.call);
	loop_defer(loop, &x.call);
	loop_call_del(&x.call);
	loop_call_del(&x.call);
	is_str(trace, "", "a deferred call does not run at once");
	loop_run(loop);
	is_str(trace, "abz", "calls run once each, in their order");
	end();
}

static struct call posts[26];

static void *post_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < 26; i++)
		loop_post(loop, &posts[i].call);
	return NULL;
}

static void test_posted(void)
{
	pthread_t thread;

	begin();
	for (int i = 0; i < 26; i++)
		call_init(&posts[i], (char)('a' + i));
	if (pthread_create(&thread, NULL, post_all, NULL))
		abort();
	is_int(loop_run(loop), 0, "another thread wakes the loop");
	pthread_join(thread, NULL);
	is_str(trace, "abcdefghijklmnopqrstuvwxyz", "and its calls all run");
	end();
}

static void test_post_deleted(void)
{
	struct loop_timer quit = { .fn = on_quit_timer };
	struct call a;

	begin();
	call_init(&a, 'a');
	loop_post(loop, &a.call);
	loop_call_del(&a.call);
	quit.arg = loop;
	loop_timer_set(loop, &quit, 5 * NS_PER_MS);
	loop_run(loop);
	is_str(trace, "q", "a posted call can be taken back");
	end();
}

static unsigned slow_ms = 5;

static void on_slow(struct loop_fd *src, uint32_t events)
{
	uint64_t until = now_ns() + slow_ms * NS_PER_MS;

	(void)events;
	while (now_ns() < until)
		;
	loop_fd_del(src);
	loop_quit(src->arg);
}

static void test_stall(void)
{
	struct pair a;

	begin();
	pair_open(&a, 'a');
	a.src.fn = on_slow;
	a.src.arg = loop;
	loop_fd_add(loop, &a.src);
	loop_run(loop);
	ok(loop_stall_ns(loop) >= 5 * NS_PER_MS, "a slow handler is noticed");
	ok(loop_stall_ns(loop) >= 5 * NS_PER_MS, "and not forgotten");
	slow_ms = 120;
	loop_fd_add(loop, &a.src);
	loop_run(loop);
	ok(loop_lost_ns(loop) >= 120 * NS_PER_MS, "time in which nobody looked is "
						  "told");
	pair_close(&a);
	end();
}

/* --- lingering -------------------------------------------------------------- */

static sem_t told;

static void on_tell_timer(struct loop_timer *t)
{
	(void)t;
	note('t');
	sem_post(&told);
}

static void *write_when_told(void *arg)
{
	struct pair *p = arg;

	if (sem_wait(&told) < 0 || write(p->fds[1], "x", 1) != 1)
		abort();
	return NULL;
}

static void on_pair_quit(struct loop_fd *src, uint32_t events)
{
	on_pair(src, events);
	loop_quit(loop);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void test_linger(void)
{
	struct loop_timer tell = { .fn = on_tell_timer };
	pthread_t thread;
	struct pair a;
	char c;

	begin();
	pair_open(&a, 'a');
	a.src.fn = on_pair_quit;
	ok(read(a.fds[0], &c, 1) == 1, "nothing is there to read yet");
	loop_fd_add(loop, &a.src);
	loop_timer_set(loop, &tell, 3 * NS_PER_MS);
	loop_linger(loop, 10 * NS_PER_S);
	if (sem_init(&told, 0, 0) < 0 ||
	    pthread_create(&thread, NULL, write_when_told, &a) != 0)
		abort();
	loop_run(loop);
	pthread_join(thread, NULL);
	sem_destroy(&told);
	ok(!strcmp(trace, "ta"), "who lingers sees descriptors and timers: %s",
	   trace);
	pair_close(&a);
	end();
}

static void test_linger_ends(void)
{
	struct loop_timer quit = { .fn = on_quit_timer };
	uint64_t before;

	begin();
	quit.arg = loop;
	loop_timer_set(loop, &quit, 300 * NS_PER_MS);
	loop_linger(loop, NS_PER_MS);
	before = cpu_ns();
	loop_run(loop);
	ok(cpu_ns() - before < 100 * NS_PER_MS,
	   "lingering ends, and then the loop sleeps: %llu us",
	   (unsigned long long)(cpu_ns() - before) / 1000);
	end();
}

int main(void)
{
	test_linger();
	test_linger_ends();
	test_fds();
	test_fd_mod();
	test_timers();
	test_timer_victim();
	test_deferred();
	test_posted();
	test_post_deleted();
	test_stall();
	return done_testing();
}
