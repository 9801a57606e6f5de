/* SPDX-License-Identifier: Apache-2.0 */
/* Who has no memory left and does not end of it, and who only seems so. */
#include "guest/os/thrash.h"

#include "tests/unit/tap.h"

#define MIB (1ull << 20)

/* Of a job with 64 MiB, a look a second. */
static bool look(struct thrash *t, uint64_t full, uint64_t file_bytes,
		 uint64_t refaults, uint64_t user_us, uint64_t system_us)
{
	struct strain s = {
		.full = full, .limit = 64 * MIB, .file_bytes = file_bytes,
		.refaults = refaults, .user_us = user_us,
		.system_us = system_us,
	};

	return thrash_judge(t, &s);
}

static void test_livelock(void)
{
	struct thrash t;

	thrash_begin(&t, 0);
	ok(!look(&t, 31, 3604480, 45, 1621173, 3703101),
	   "who has come to his limit is not ended");
	ok(!look(&t, 166, 151552, 3727, 1642456, 5173453), "nor at once");
	ok(look(&t, 315, 126976, 6678, 1642456, 5808103),
	   "who reads the same pages again and runs no more is ended");
}

static void test_others(void)
{
	struct thrash t;
	bool ended = false;

	thrash_begin(&t, 0);
	for (uint64_t i = 1; i < 60; i++)
		ended = ended || look(&t, 100 * i, 126976, 5000 * i,
				      100000 * i, 900000 * i);
	ok(!ended, "not who reads again, but gets a tenth of the time");
	thrash_begin(&t, 0);
	for (uint64_t i = 1; i < 60; i++)
		ended = ended || look(&t, 100 * i, 30 * MIB, 5000 * i, 0,
				      900000 * i);
	ok(!ended, "not who reads a file again that is larger than its memory");
	thrash_begin(&t, 0);
	for (uint64_t i = 1; i < 60; i++)
		ended = ended || look(&t, 100 * i, 0, i, 0, 900000 * i);
	ok(!ended, "not who is at the limit and reads next to nothing again");
	thrash_begin(&t, 0);
	for (uint64_t i = 1; i < 60; i++)
		ended = ended || look(&t, 7, 126976, 5000 * i, 0, 900000 * i);
	ok(!ended, "not who was at the limit once");
}

static void test_slow(void)
{
	struct thrash t;
	unsigned looks = 0;

	thrash_begin(&t, 0);
	do
		looks++;
	while (looks < 100 && !look(&t, 10 * looks, 126976, 100 * looks, 0,
				     9000 * looks));
	ok(looks > 10 && looks < 100,
	   "on a slow host it takes longer, and is seen: %u looks", looks);
}

static void test_due(void)
{
	struct thrash t = {0};

	is_int(thrash_due(&t, 5), -1, "without a program nothing is due");
	thrash_begin(&t, 1000);
	is_int(thrash_due(&t, 1000), THRASH_LOOK_MS + 1, "then after a while");
	is_int(thrash_due(&t, 1000 + THRASH_LOOK_MS * 1000000ull), 0,
	       "and then it is");
}

int main(void)
{
	test_livelock();
	test_others();
	test_slow();
	test_due();
	return done_testing();
}
