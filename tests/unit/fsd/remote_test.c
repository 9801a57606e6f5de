/* SPDX-License-Identifier: Apache-2.0 */
/* Inode numbers and paths of what is in a session's machine. */
#include "fsd/files/remote.h"

#include "fsd/files/node.h"
#include "tests/unit/tap.h"

static const char *path_of(struct remotes *all, uint64_t ino)
{
	uint64_t session;
	const char *path = remote_path(all, ino, &session);

	return path ? path : "none";
}

static void test_numbers(struct remotes *all)
{
	uint64_t session, a = remote_found(all, 1, "a", false);
	uint64_t other = remote_found(all, 2, "a", false);

	is_int(INO_CLASS(a), INO_REMOTE, "a number is of its class");
	ok(a && a == remote_found(all, 1, "a", false),
	   "a path has one number");
	ok(a != other, "and another one in another session");
	is_str(remote_path(all, other, &session), "a", "which has the path");
	is_int(session, 2, "and the session");
	ok(remote_found(all, 1, "a", true) != a,
	   "what has become a directory has a new one");
	is_str(path_of(all, a), "none", "and the file is nowhere");
	remote_forget(all, a, 1);
	remote_forget(all, a, 5);
	remote_forget(all, a, 1);
	is_str(path_of(all, a), "none", "to forget too much is harmless");
	remote_forget(all, other, 1);
	is_str(path_of(all, other), "none", "what was forgotten is gone");
}

static void test_moves(struct remotes *all)
{
	uint64_t d = remote_found(all, 3, "d", true);
	uint64_t f = remote_found(all, 3, "d/f", false);
	uint64_t like = remote_found(all, 3, "dd", false);
	uint64_t other = remote_found(all, 4, "d/f", false);
	uint64_t old = remote_found(all, 3, "e", true);

	remote_moved(all, 3, "d", "e");
	is_str(path_of(all, d), "e", "a directory is moved");
	is_str(path_of(all, f), "e/f", "with what is in it");
	is_str(path_of(all, like), "dd", "not what begins like it");
	is_str(path_of(all, other), "d/f", "nor another session's");
	is_str(path_of(all, old), "none", "what was there is replaced");
	remote_moved(all, 3, "e", "e");
	is_str(path_of(all, d), "e", "onto itself is nothing");
	remote_gone(all, 3, "e/f");
	is_str(path_of(all, f), "none", "what was removed has no path");
	ok(remote_found(all, 3, "e/f", false) != f,
	   "and what is made there has another number");
}

int main(void)
{
	struct remotes *all;
	uint64_t one, two;

	if (remotes_new(NULL, &all) < 0)
		return 1;
	test_numbers(all);
	test_moves(all);
	one = remote_found(all, 8, "x", false);
	two = remote_found(all, 9, "x", false);
	remote_drop(all, 8);
	is_str(path_of(all, one), "none", "an ended session's are gone");
	is_str(path_of(all, two), "x", "no other's");
	remotes_free(all);
	return done_testing();
}
