/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that stay below a directory: how they are written, and that no link leads out of
 * the directory, wherever it stands. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fsd/local/below.h"
#include "layout/base/cleanup.h"
#include "tests/unit/tap.h"

static char base[] = "/tmp/fsd-test.XXXXXX";

static void is_path(const char *path, const char *want)
{
	char got[BELOW_PATH];

	is_int(below_path(path, got), 0, "\"%s\" is taken", path);
	is_str(got, want, "\"%s\" is \"%s\"", path, want);
}

static void test_path(void)
{
	static const char *const refused[] = { "", "/", "/a", "..", "../a", "a/..",
					       "a/../b", "./..", "..//" };
	char got[BELOW_PATH], many[BELOW_PATH + 10];

	is_path("a", "a");
	is_path("./a//b/", "a/b");
	is_path("a/./b/.", "a/b");
	is_path(".", "");
	is_path("././", "");
	is_path("...", "...");
	is_path("..a/.b/c..", "..a/.b/c..");
	is_path("a b\n/\xff", "a b\n/\xff");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		is_int(below_path(refused[i], got), -EINVAL, "\"%s\" is refused",
		       refused[i]);
	memset(many, 'x', sizeof(many));
	many[BELOW_PATH - 1] = '\0';
	is_int(below_path(many, got), 0, "a path of %d bytes fits", BELOW_PATH - 1);
	is_int((long long)strlen(got), BELOW_PATH - 1, "and is whole");
	many[BELOW_PATH - 1] = 'x';
	many[BELOW_PATH] = '\0';
	is_int(below_path(many, got), -ENAMETOOLONG, "a longer one is refused");
}

static void test_text(void)
{
	char one[] = "a", three[] = "a/b/c";
	const char *dir;

	ok(below_has("a/b", "a/b"), "a path has itself");
	ok(below_has("a/b", "a/b/c"), "a directory has what is in it");
	ok(!below_has("a/b", "a/bc"), "a name that begins alike is another one");
	ok(!below_has("a/b", "a"), "a directory has not the one that it is in");
	ok(below_has("", "a"), "\"\" has all");
	is_str(below_split(one, &dir), "a", "a name alone is the last one");
	is_str(dir, "", "and stands in no directory");
	is_str(below_split(three, &dir), "c", "the last of three names");
	is_str(dir, "a/b", "stands in the two before");
}

static bool is_there(int at, const char *path)
{
	return faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Return: what below_open() returns, 0 for a descriptor. */
static int opens(int at, const char *path)
{
	auto_close int fd = below_open(at, path);

	return fd < 0 ? fd : 0;
}

static int makes(int at, const char *path)
{
	auto_close int fd = below_make(at, path);

	return fd < 0 ? fd : 0;
}

static void test_directories(void)
{
	auto_close int at = -1;
	char inside[100];

	snprintf(inside, sizeof(inside), "%s/inside", base);
	if (mkdir(inside, 0700) == 0)
		at = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(at >= 0, "(a directory is made)");
	is_int(makes(at, "a/b/c"), 0, "directories are made, each in the one before");
	ok(is_there(at, "a/b/c"), "and are there");
	is_int(makes(at, "a/b/d"), 0, "those that are there already are used");
	is_int(makes(at, ""), 0, "\"\" is the directory itself");
	is_int(opens(at, ""), 0, "and opens");
	is_int(opens(at, "a/b/c"), 0, "what was made opens");
	is_int(opens(at, "a/x"), -ENOENT, "what is missing does not");
	ok(symlinkat("..", at, "out") == 0 && symlinkat("a", at, "in") == 0 &&
		   symlinkat(base, at, "a/far") == 0, "(links are made)");
	is_int(opens(at, "out"), -ELOOP, "a link to the outside is not followed");
	is_int(opens(at, "out/inside"), -ELOOP, "nor on the way");
	is_int(opens(at, "in/b"), -ELOOP, "nor one that stays inside");
	is_int(opens(at, "a/far"), -ELOOP, "nor one behind a directory");
	is_int(makes(at, "out/new"), -ELOOP, "nothing is made behind a link");
	is_int(makes(at, "a/far/new"), -ELOOP, "nor behind one that is deep");
	ok(!is_there(at, "../new"), "and nothing is there then");
	ok(close(openat(at, "file", O_CREAT | O_WRONLY, 0600)) == 0, "(a file)");
	is_int(makes(at, "file/x"), -ENOTDIR, "a file is no directory");
}

int main(void)
{
	char command[100];

	if (!mkdtemp(base))
		return 1;
	test_path();
	test_text();
	test_directories();
	snprintf(command, sizeof(command), "rm -rf %s", base);
	ok(system(command) == 0, "(nothing is left)");
	return done_testing();
}
