/* SPDX-License-Identifier: Apache-2.0 */
/* One worker at a time for one thing, and others beside it for other things. */
#include "fsd/gateway/base/alone.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define THREADS 4
#define ROUNDS 100

static struct alones all;
static atomic_int inside, most;

static void *take_it(void *what)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct alone t;

		alone_begin(&all, &t, what);
		if (atomic_fetch_add(&inside, 1) >= 1)
			most = 2;
		usleep(50); /* without the lock the others would come in now */
		atomic_fetch_sub(&inside, 1);
		alone_end(&t);
	}
	return NULL;
}

static void test_one_at_a_time(void)
{
	char one[] = "a", same[] = "a"; /* the text counts, not its place */
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, take_it, i % 2 ? one : same);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	is_int(most, 0, "two workers never have one thing");
}

static void test_beside(void)
{
	struct alone a, b;

	alone_begin(&all, &a, "a");
	alone_begin(&all, &b, "b");
	ok(true, "a thing of another name is free");
	alone_end(&a);
	alone_begin(&all, &a, "a");
	ok(true, "a thing that is given back can be had again");
	alone_end(&a);
	alone_end(&b);
}

int main(void)
{
	alarm(60); /* a wait without an end fails */
	alones_init(&all);
	test_beside();
	test_one_at_a_time();
	alones_done(&all);
	return done_testing();
}
