/* SPDX-License-Identifier: Apache-2.0 */
/* Inode numbers and paths of what is in a session's machine. */
#include "fsd/files/guest_inode.h"

#include "fsd/files/node.h"
#include "tests/unit/tap.h"

static const char *path_of(struct guest_inodes *all, uint64_t ino)
{
	uint64_t session;
	const char *path = guest_inode_path(all, ino, &session);

	return path ? path : "none";
}

static void test_numbers(struct guest_inodes *all)
{
	uint64_t session, a = guest_inode_found(all, 1, "a", false);
	uint64_t other = guest_inode_found(all, 2, "a", false);

	is_int(INO_CLASS(a), INO_GUEST, "a number is of its class");
	ok(a && a == guest_inode_found(all, 1, "a", false),
	   "a path has one number");
	ok(a != other, "and another one in another session");
	is_str(guest_inode_path(all, other, &session), "a", "which has the path");
	is_int(session, 2, "and the session");
	ok(guest_inode_found(all, 1, "a", true) != a,
	   "what has become a directory has a new one");
	is_str(path_of(all, a), "none", "and the file is nowhere");
	guest_inode_forget(all, a, 1);
	guest_inode_forget(all, a, 5);
	guest_inode_forget(all, a, 1);
	is_str(path_of(all, a), "none", "to forget too much is harmless");
	guest_inode_forget(all, other, 1);
	is_str(path_of(all, other), "none", "what was forgotten is gone");
}

static void test_moves(struct guest_inodes *all)
{
	uint64_t d = guest_inode_found(all, 3, "d", true);
	uint64_t f = guest_inode_found(all, 3, "d/f", false);
	uint64_t like = guest_inode_found(all, 3, "dd", false);
	uint64_t other = guest_inode_found(all, 4, "d/f", false);
	uint64_t old = guest_inode_found(all, 3, "e", true);

	guest_inode_moved(all, 3, "d", "e");
	is_str(path_of(all, d), "e", "a directory is moved");
	is_str(path_of(all, f), "e/f", "with what is in it");
	is_str(path_of(all, like), "dd", "not what begins like it");
	is_str(path_of(all, other), "d/f", "nor another session's");
	is_str(path_of(all, old), "none", "what was there is replaced");
	guest_inode_moved(all, 3, "e", "e");
	is_str(path_of(all, d), "e", "onto itself is nothing");
	guest_inode_gone(all, 3, "e/f");
	is_str(path_of(all, f), "none", "what was removed has no path");
	ok(guest_inode_found(all, 3, "e/f", false) != f,
	   "and what is made there has another number");
}

int main(void)
{
	struct guest_inodes *all;
	uint64_t one, two;

	if (guest_inodes_new(NULL, &all) < 0)
		return 1;
	test_numbers(all);
	test_moves(all);
	one = guest_inode_found(all, 8, "x", false);
	two = guest_inode_found(all, 9, "x", false);
	guest_inode_drop(all, 8);
	is_str(path_of(all, one), "none", "an ended session's are gone");
	is_str(path_of(all, two), "x", "no other's");
	guest_inodes_free(all);
	return done_testing();
}
