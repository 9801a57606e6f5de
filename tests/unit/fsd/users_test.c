/* SPDX-License-Identifier: Apache-2.0 */
/* The table of users: the times that each sees, its limits, its last error. */
#include "fsd/users/users.h"

#include <errno.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/users/last_error.h"
#include "tests/unit/tap.h"

#define OPEN_MOST 2
/* Neither root nor the user that runs the test. */
#define ALICE 60001
#define BOB 60002
#define MANY 300 /* users: more than have a last error */

static void test_times(struct users *users)
{
	struct times bob = user_times(users, BOB);
	struct times all = user_times(users, 0);

	user_listed(users, user_of(users, ALICE));
	ok(user_times(users, ALICE).listed_ns > all.listed_ns,
	   "a user sees that a job of the user came");
	is_int((long long)user_times(users, BOB).listed_ns,
	       (long long)bob.listed_ns, "another user does not");
	is_int((long long)user_times(users, 0).listed_ns,
	       (long long)user_times(users, ALICE).listed_ns,
	       "the operator sees the newest of all");
	users_health_changed(users);
	ok(user_times(users, BOB).changed_ns > bob.changed_ns,
	   "all users see that the operator changed something");
	users_began(users, UINT64_MAX, 0);
	ok(user_times(users, BOB).listed_ns == UINT64_MAX,
	   "no user sees a time before the mount began");
}

static void test_counts(struct users *users)
{
	struct user *alice = user_of(users, ALICE);
	uint64_t count[JOB_STATE_MAX];

	user_count(alice, JOB_DRAFT, 1);
	user_count(user_of(users, BOB), JOB_DRAFT, 1);
	users_count(users, ALICE, false, count);
	is_int((long long)count[JOB_DRAFT], 1, "a user's jobs are counted alone");
	users_count(users, ALICE, true, count);
	is_int((long long)count[JOB_DRAFT], 2, "or with all others");
	user_count(alice, JOB_DRAFT, -1);
	users_count(users, ALICE, false, count);
	is_int((long long)count[JOB_DRAFT], 0, "until they are gone");
}

static void test_open(struct users *users)
{
	struct err err = { 0 };
	struct user *one = user_opens(users, ALICE);

	is_int(user_may_open(users, ALICE, &err), 0, "one file may be open");
	user_opens(users, ALICE);
	is_int(user_may_open(users, ALICE, &err), -EMFILE,
	       "no more than the limit");
	is_int(user_may_open(users, BOB, &err), 0, "another user may");
	is_int(user_may_open(users, 0, &err), 0, "and so may root");
	user_closes(one);
	is_int(user_may_open(users, ALICE, &err), 0, "a close makes room");
}

static void test_weight(struct users *users)
{
	struct user_weight first = { 0 }, second = { 0 };
	struct err err = { 0 };

	is_int(user_weigh(users, ALICE, &first, USER_BYTES, &err), 0,
	       "a user may fill the limit");
	is_int(user_weigh(users, ALICE, &second, 1, &err), -EMFILE,
	       "and has no byte more");
	is_int(user_weigh(users, BOB, &first, 1, &err), 0,
	       "the first user pays on, and fewer bytes never fail");
	is_int(user_weigh(users, ALICE, &second, USER_BYTES - 1, &err), 0,
	       "what was given back may be taken");
	user_unweigh(&first);
	user_unweigh(&second);
	ok(!first.payer && !user_of(users, ALICE)->bytes,
	   "all is given back at the end");
}

static void test_last_error(struct users *users)
{
	ok(!last_error_text(users, ALICE), "a user was refused nothing at first");
	last_error_set(users, ALICE, "job", "it is\nbad");
	is_str(last_error_text(users, ALICE), "job: it is?bad",
	       "the sentence is one line");
	ok(!last_error_is_set(users, ALICE), "no request has set it");
	*fiber_number() = 7;
	last_error_set(users, ALICE, "job", "no");
	ok(last_error_is_set(users, ALICE), "this request has set it");
	ok(!last_error_is_set(users, BOB), "not another user's");
	ok(last_error_pass_on(users, BOB, ALICE), "it is copied to another user");
	is_str(last_error_text(users, BOB), "job: no", "as it is");
	*fiber_number() = 8;
	ok(!last_error_is_set(users, ALICE), "the next request has not");
	ok(!last_error_pass_on(users, BOB, ALICE), "and copies nothing");
	*fiber_number() = 0;
	for (uid_t uid = 1; uid <= MANY; uid++)
		last_error_set(users, 70000 + uid, "job", "no");
	ok(!last_error_text(users, ALICE), "the oldest one makes room");
	ok(last_error_text(users, 70000 + MANY), "for the newest");
}

int main(void)
{
	const struct quota_limits none = { 0 };
	struct users *users;

	if (users_new(OPEN_MOST, &none, &users) < 0)
		return 1;
	ok(!users_quota(users), "without limits there are no quotas");
	test_counts(users);
	test_open(users);
	test_weight(users);
	test_last_error(users);
	test_times(users);
	users_free(users);
	return done_testing();
}
