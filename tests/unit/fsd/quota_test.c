/* SPDX-License-Identifier: Apache-2.0 */
#include "fsd/users/quota.h"

#include <errno.h>

#include "fsd/files/node_int.h"
#include "tests/unit/tap.h"

static void test_sizes(void)
{
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "10K", 0, 10240 },
		{ "2M", 0, 2 << 20 },
		{ "3G", 0, 3ull << 30 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "8589934592G", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1T", -EINVAL, 0 },
		{ "1KK", -EINVAL, 0 },
		{ "1.5M", -EINVAL, 0 },
		{ "1k", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "111111111111111111111111111111", -ERANGE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 0;

		is_int(quota_parse_size(cases[i].text, &n), cases[i].r,
		       "the size \"%s\" is %s", cases[i].text,
		       cases[i].r ? "refused" : "taken");
		is_int((long long)n, (long long)cases[i].bytes, "its bytes");
	}
}

static void test_none(void)
{
	struct quota_limits none = { 0 };
	struct quota_use use;
	struct quota *q = (void *)&none;

	is_int(quota_new(&none, &q), 0, "without a limit");
	ok(!q, "there are no quotas");
	ok(!quota_user(q, 1), "and no users");
	is_int(quota_check_job(q, 1, NULL), 0, "any job may be made");
	is_int(quota_check_bytes(NULL, UINT64_MAX, NULL), 0, "of any size");
	ok(quota_left(NULL) == UINT64_MAX, "there is always room");
	ok(quota_may_run(NULL), "and any run begins");
	ok(!quota_of(q, 1, &use, &none), "nothing is counted");
	quota_free(q);
}

static void test_counts(void)
{
	struct quota_limits limits = { .jobs = 2, .bytes = 100 };
	struct quota_use use;
	struct quota *q;
	struct quota_user *a, *b;
	struct err err = { 0 };

	is_int(quota_new(&limits, &q), 0, "with limits");
	is_int(quota_check_job(q, 7, &err), 0, "who has nothing may begin");
	a = quota_user(q, 7);
	b = quota_user(q, 8);
	ok(a && b && a != b && quota_user(q, 7) == a, "each has one account");
	quota_count_job(a, 1);
	quota_count_job(a, 1);
	is_int(quota_check_job(q, 7, &err), -EDQUOT, "the third job is refused");
	ok(strstr(err.text, "--quota-jobs") && strstr(err.text, "user 7 has 2"),
	   "with what is used and which quota it is");
	is_int(quota_check_job(q, 8, &err), 0, "others may");
	quota_count_job(a, -1);
	is_int(quota_check_job(q, 7, &err), 0, "and so may who removes one");
	quota_count_bytes(a, 60);
	is_int((long long)quota_left(a), 40, "bytes are subtracted");
	is_int(quota_check_bytes(a, 40, &err), 0, "all of the rest may be used");
	is_int(quota_check_bytes(a, 41, &err), -EDQUOT, "not one more");
	ok(strstr(err.text, "has 60 of the 100"), "and the sentence says why");
	quota_count_bytes(a, 60);
	is_int((long long)quota_left(a), 0, "over the limit there is no room");
	quota_count_bytes(a, -(uint64_t)120);
	quota_of(q, 7, &use, &limits);
	is_int((long long)use.bytes, 0, "what was given back is gone");
	quota_free(q);
}

static void test_runs(void)
{
	struct quota_limits limits = { .running = 2 };
	struct quota_use use;
	struct quota_user *a;
	struct quota *q;

	is_int(quota_new(&limits, &q), 0, "with two runs at a time");
	a = quota_user(q, 1);
	is_int((long long)quota_running(a), 2, "which it says");
	quota_count_running(a, 1);
	ok(quota_may_run(a), "the second may run");
	quota_count_running(a, 1);
	ok(!quota_may_run(a), "the third waits");
	quota_count_waiting(a, 1);
	ok(quota_may_run(quota_user(q, 2)), "others are not held up");
	quota_of(q, 1, &use, &limits);
	ok(use.running == 2 && use.waiting == 1, "both are counted");
	quota_count_running(a, -1);
	ok(quota_may_run(a), "and may run when one has ended");
	quota_free(q);
}

static void test_inodes(void)
{
	static unsigned char seen[1 << 16];
	unsigned twice = 0, near = 0;
	uint64_t last = 0;

	ok(node_ino_shuffle(1ull << 52 | 5, 1) >> 48 == 1ull << 4,
	   "what is above 48 bits stays");
	ok(node_ino_shuffle(5, 1) == node_ino_shuffle(5, 1) &&
		   node_ino_shuffle(5, 1) != node_ino_shuffle(5, 2),
	   "a number depends on the key and on nothing else");
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t ino = node_ino_shuffle(i, 42);

		near += ino - last + 1000 < 2000;
		twice += seen[ino & 0xffff] == 255;
		seen[ino & 0xffff]++;
		last = ino;
	}
	is_int(near, 0, "neighbours are far from each other");
	is_int(twice, 0, "and all over the place");
}

int main(void)
{
	test_sizes();
	test_none();
	test_counts();
	test_runs();
	test_inodes();
	return done_testing();
}
