/* SPDX-License-Identifier: Apache-2.0 */
/* What 100,000 entries of a spool cost: memory, a scan, and the first claim. */
#include <sys/resource.h>

#include "tests/unit/fsd/spool_fixture.h"

#define MEMORY_MOST_KB (64 * 1024)
#define SCAN_MOST_MS 200

/* Sanitizers multiply memory and time: then the figures are printed only. */
#if defined(__SANITIZE_ADDRESS__)
#define MANY 20000
#define MEASURES false
#else
#define MANY 100000
#define MEASURES true
#endif

int __real_clock_gettime(clockid_t clock, struct timespec *t);

/* Of this process's work, so that others on the host do not count. */
static double work_ms(void)
{
	struct timespec t;

	__real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void make_many(void)
{
	char name[40];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "input-%06d.csv", (i * 7919) % MANY);
		if (mknodat(new_dir, name, S_IFREG | 0600, 0) < 0) {
			ok(false, "(%s is made)", name);
			return;
		}
	}
}

/* A busy host only makes it worse: the best counts. */
static double best_scan(void)
{
	double best = 1e9;

	for (int i = 0; i < 8; i++) {
		double begin_ms = work_ms();

		now += 60 * SECOND; /* a scan is due */
		entries_update(entries, now, &err);
		best = MIN(best, work_ms() - begin_ms);
	}
	return best;
}

static void test_many(void)
{
	struct entries_counts counts;
	struct rusage usage;
	double scan;

	begin(&usual);
	entries_free(entries);
	make_many();
	entries = entries_new(new_dir, &usual, now, &err);
	entries_count(entries, now, &counts);
	is_int((long long)counts.all, MANY, "all entries are counted");
	scan = best_scan();
	getrusage(RUSAGE_SELF, &usage);
	printf("# a scan: %.0f ms, memory: %ld MB\n", scan, usage.ru_maxrss / 1024);
	ok(!MEASURES || scan <= SCAN_MOST_MS, "a scan takes 0.2 s at most");
	ok(!MEASURES || usage.ru_maxrss <= MEMORY_MOST_KB, "they take 64 MB at most");
	pass(2 * SETTLE);
	for (int i = 0; i < 10; i++) {
		char name[40];

		snprintf(name, sizeof(name), "input-%06d.csv", i);
		is_int(claim(name), 0, "%s comes in its turn", name);
	}
	entries_count(entries, now, &counts);
	ok(counts.complete < 5000, "of the others those are examined that may come soon");
	end();
}

int main(void)
{
	if (!start())
		return 1;
	test_many();
	return finish();
}
