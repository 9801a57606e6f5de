/* SPDX-License-Identifier: Apache-2.0 */
/* Slow work on threads: each task once, in order, and none is left behind. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "fsd/base/worker_pool.h"
#include "tests/unit/tap.h"

#define TASKS 5000

struct step {
	struct task task;
	int no;
	atomic_int worked;
	int done;
};

static struct loop *loop;
static struct step steps[TASKS];
static int begun[TASKS];
static atomic_int begun_count;
static int done_count, wrong_results;

static int work(struct task *t)
{
	struct step *s = container_of(t, struct step, task);

	begun[atomic_fetch_add(&begun_count, 1)] = s->no;
	atomic_fetch_add(&s->worked, 1);
	return s->no;
}

static void done(struct task *t, int result)
{
	struct step *s = container_of(t, struct step, task);

	s->done++;
	wrong_results += result != s->no;
	if (++done_count == TASKS)
		loop_quit(loop);
}

static void begin(unsigned threads, struct worker_pool **ret)
{
	begun_count = 0;
	done_count = wrong_results = 0;
	loop_new(&loop);
	worker_pool_new(loop, threads, ret);
	for (int i = 0; i < TASKS; i++)
		steps[i] = (struct step){
			.no = i, .task = { .work = work, .done = done },
		};
}

static void add(struct worker_pool *w, int from, int to)
{
	for (int i = from; i < to; i++)
		worker_pool_add(w, &steps[i].task);
}

static int wrong_counts(void)
{
	int wrong = 0;

	for (int i = 0; i < TASKS; i++)
		wrong += steps[i].worked != 1 || steps[i].done != 1;
	return wrong;
}

static int out_of_order(void)
{
	int wrong = 0;

	for (int i = 0; i < TASKS; i++)
		wrong += begun[i] != i;
	return wrong;
}

static void test_one(void)
{
	struct worker_pool *w;

	begin(1, &w);
	add(w, 0, TASKS);
	loop_run(loop);
	is_int(out_of_order(), 0, "one thread begins its tasks in their order");
	is_int(wrong_counts() + wrong_results, 0,
	       "each is worked on once and handed back once, with its result");
	worker_pool_free(w);
	loop_free(loop);
}

struct slice {
	struct loop_call call;
	struct worker_pool *w;
	int at;
};

/* New work comes while old work ends. */
static void on_slice(struct loop_call *c)
{
	struct slice *s = c->arg;

	add(s->w, s->at, s->at + 50);
	s->at += 50;
	if (s->at < TASKS)
		loop_defer(loop, c);
}

static void test_many(void)
{
	struct worker_pool *w;
	struct slice s = { .call = { .fn = on_slice, .arg = &s } };

	begin(WORKER_POOL_THREADS, &w);
	s.w = w;
	loop_defer(loop, &s.call);
	loop_run(loop);
	is_int(wrong_counts() + wrong_results, 0,
	       "several threads share out what comes, each task once");
	worker_pool_free(w);
	loop_free(loop);
}

static void test_end(void)
{
	struct worker_pool *w;

	begin(WORKER_POOL_THREADS, &w);
	add(w, 0, TASKS);
	worker_pool_free(w);
	is_int(wrong_counts() + wrong_results, 0,
	       "the end finishes what was not begun, without a loop");
	loop_free(loop);
}

/* --- one piece of work by several threads ---------------------------------- */

#define PIECES 200

struct pieces {
	struct task task;
	struct worker_pool *w;
	atomic_uint worked[PIECES];
	unsigned bad_from, result; /* from this piece on all fail */
	pthread_barrier_t *meet;
	bool ended;
};

static int piece(void *arg, unsigned i)
{
	struct pieces *p = arg;

	if (p->meet)
		pthread_barrier_wait(p->meet);
	atomic_fetch_add(&p->worked[i], 1);
	return i >= p->bad_from ? -(int)i : 0;
}

static unsigned wrong_pieces(const struct pieces *p, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < PIECES; i++)
		wrong += p->worked[i] != (i < n);
	return wrong;
}

static int share_work(struct task *t)
{
	struct pieces *p = container_of(t, struct pieces, task);

	return worker_pool_share(p->w, piece, p, PIECES);
}

static void share_done(struct task *t, int result)
{
	struct pieces *p = container_of(t, struct pieces, task);

	p->result = (unsigned)-result;
	p->ended = true;
	if (++done_count == 8)
		loop_quit(loop);
}

static void test_share_alone(void)
{
	struct pieces p = { .bad_from = PIECES }, none = { .bad_from = 0 };

	is_int(worker_pool_share(NULL, piece, &p, PIECES), 0,
	       "without threads the caller does all pieces");
	is_int((int)wrong_pieces(&p, PIECES), 0, "each of them once");
	is_int(worker_pool_share(NULL, piece, &none, 0), 0, "no piece is no work");
	is_int((int)wrong_pieces(&none, 0), 0, "and nothing is called");
}

/* Three pieces that wait for each other end only if three threads are at them:
 * the caller and two of those that have nothing to do. */
static void test_share_at_once(void)
{
	struct pieces p = { .bad_from = 3 };
	pthread_barrier_t meet;
	struct worker_pool *w;

	begin(WORKER_POOL_THREADS, &w);
	pthread_barrier_init(&meet, NULL, 3);
	p.meet = &meet;
	add(w, 0, TASKS);
	loop_run(loop); /* the threads have begun */
	is_int(worker_pool_share(w, piece, &p, 3), 0,
	       "pieces are worked on at once by threads that are free");
	is_int((int)wrong_pieces(&p, 3), 0, "and each of these once");
	worker_pool_free(w);
	pthread_barrier_destroy(&meet);
	loop_free(loop);
}

/* More who share than threads, from within the threads: nobody waits for one
 * that is busy with the same. */
static void test_share_everywhere(void)
{
	static struct pieces p[8];
	struct worker_pool *w;
	unsigned wrong = 0;

	begin(WORKER_POOL_THREADS, &w);
	for (int i = 0; i < 8; i++) {
		p[i] = (struct pieces){
			.task = { .work = share_work, .done = share_done },
			.w = w, .bad_from = 100 + (unsigned)i,
		};
		worker_pool_add(w, &p[i].task);
	}
	loop_run(loop);
	for (int i = 0; i < 8; i++)
		wrong += wrong_pieces(&p[i], PIECES) ||
			 p[i].result != p[i].bad_from;
	is_int((int)wrong, 0, "threads that share among themselves end, and the "
	       "first piece that failed says why");
	worker_pool_free(w);
	loop_free(loop);
}

static sem_t come, go; /* a piece has begun; it may end */

static int held_piece(void *arg, unsigned i)
{
	struct timespec until;

	(void)arg;
	(void)i;
	sem_post(&come);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	return sem_timedwait(&go, &until) < 0 ? -ETIMEDOUT : 0;
}

static int share_held(struct task *t)
{
	struct pieces *p = container_of(t, struct pieces, task);

	return worker_pool_share(p->w, held_piece, p, WORKER_POOL_THREADS);
}

static void held_done(struct task *t, int result)
{
	container_of(t, struct pieces, task)->result = (unsigned)-result;
	loop_quit(loop);
}

static int let_go(struct task *t)
{
	(void)t;
	for (int i = 0; i < WORKER_POOL_THREADS; i++)
		sem_post(&go);
	return 0;
}

/* As many pieces as threads, none of which ends before another task has run. */
static void test_share_leaves_one(void)
{
	struct pieces p = {
		.task = { .work = share_held, .done = held_done },
	};
	struct task other = { .work = let_go };
	struct worker_pool *w;

	sem_init(&come, 0, 0);
	sem_init(&go, 0, 0);
	begin(WORKER_POOL_THREADS, &w);
	add(w, 0, TASKS);
	loop_run(loop); /* the threads have begun */
	p.w = w;
	worker_pool_add(w, &p.task);
	for (int i = 0; i < WORKER_POOL_THREADS - 1; i++)
		sem_wait(&come);
	worker_pool_add(w, &other);
	loop_run(loop);
	is_int((int)p.result, 0, "one thread is left for other tasks");
	worker_pool_free(w);
	loop_free(loop);
}

/* What is shared while the threads are to end is done before they do. */
static void test_share_at_the_end(void)
{
	static struct pieces p[8];
	struct worker_pool *w;
	unsigned wrong = 0;

	begin(WORKER_POOL_THREADS, &w);
	for (int i = 0; i < 8; i++) {
		p[i] = (struct pieces){
			.task = { .work = share_work, .done = share_done },
			.w = w, .bad_from = PIECES,
		};
		worker_pool_add(w, &p[i].task);
	}
	worker_pool_free(w);
	for (int i = 0; i < 8; i++)
		wrong += wrong_pieces(&p[i], PIECES) || !p[i].ended;
	is_int((int)wrong, 0, "the end finishes what is shared, too");
	loop_free(loop);
}

int main(void)
{
	test_one();
	test_many();
	test_end();
	test_share_alone();
	test_share_at_once();
	test_share_everywhere();
	test_share_leaves_one();
	test_share_at_the_end();
	return done_testing();
}
