/* SPDX-License-Identifier: Apache-2.0 */
/* Which directories own_dir_clean() removes: those that a dead process has made, and no
 * other one, whatever its name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "fsd/local/own_dir.h"
#include "layout/base/cleanup.h"
#include "tests/unit/tap.h"

static char base[] = "/tmp/fsd-test.XXXXXX";
static int at = -1; /* it */

static const char *path_of(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

/* Makes one as a process does. Return: its lock. */
static int make(char name[20])
{
	char made[NAME_MAX + 1] = "";
	int fd = own_dir_make(at, "p-", made);

	snprintf(name, 20, "%.19s", made); /* "p-" and six random characters */
	return fd;
}

/* A directory with a file, and with this text as its mark unless NULL. */
static void make_by_hand(const char *name, const char *mark)
{
	char command[600];

	snprintf(command, sizeof(command), "cd %s && mkdir %s && echo precious "
		 ">%s/file", base, name, name);
	ok(system(command) == 0, "(%s is made)", name);
	if (!mark)
		return;
	snprintf(command, sizeof(command), "echo '%s' >%s/%s/" OWN_DIR_MARK,
		 mark, base, name);
	ok(system(command) == 0, "(it gets a mark)");
}

static void clean(void)
{
	own_dir_clean(at, "p-", NULL, NULL);
}

static void test_left(void)
{
	char name[20], command[200];
	int fd = make(name);

	ok(fd >= 0 && is_there(name), "one is made");
	clean();
	ok(is_there(name), "it stays as long as its lock is held");
	snprintf(command, sizeof(command), "mkdir -p %s/a/b && echo x >%s/a/b/c",
		 path_of(name), path_of(name));
	ok(system(command) == 0, "(it gets files)");
	fd_close(&fd);
	clean();
	ok(!is_there(name), "and goes with all in it when nobody holds the lock");
}

static void test_beginning(void)
{
	ok(mkdir(path_of("p-begun0"), 01700) == 0, "(made, and killed)");
	clean();
	ok(!is_there("p-begun0"), "one whose maker was killed before the mark goes");
	ok(mkdir(path_of("p-empty0"), 0700) == 0, "(a user makes one)");
	clean();
	ok(is_there("p-empty0"), "an empty one that a user has made stays");
}

static void test_names(void)
{
	static const char *const names[] = { "p-backup", "p-results-2026",
					     "p-ABCDEF", "p-12345", "other" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		make_by_hand(names[i], NULL);
	make_by_hand("p-marked", "fsd made p-others and removes it when the "
		     "process that made it has ended.");
	make_by_hand("p-sticky", "");
	ok(chmod(path_of("p-sticky"), 01700) == 0, "(it gets the mode)");
	clean();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ok(is_there(names[i]), "a user's %s stays", names[i]);
	ok(is_there("p-marked"), "one with the mark of another stays");
	ok(is_there("p-sticky"), "one with our mode and files stays");
}

static void test_copies(void)
{
	char name[20], command[300];
	int fd = make(name);

	snprintf(command, sizeof(command), "cd %s && echo x >%s/file && "
		 "cp -a %s p-copied && ln -s p-backup p-linked", base, name, name);
	ok(fd >= 0 && system(command) == 0, "(a user copies one)");
	fd_close(&fd);
	clean();
	ok(!is_there(name), "one that is left goes");
	ok(is_there("p-copied"), "a copy of it stays");
	ok(is_there("p-linked") && is_there("p-backup"), "a link stays");
}

static void test_marked_name(void)
{
	char name[20], mark[100], command[300];
	int fd = make(name);

	snprintf(mark, sizeof(mark), "%s/" OWN_DIR_MARK, path_of(name));
	fd_close(&fd);
	snprintf(command, sizeof(command), "mv %s %s/p-moved0", path_of(name), base);
	ok(system(command) == 0, "(a user renames one)");
	snprintf(command, sizeof(command), "echo x >%s/p-moved0/file", base);
	ok(system(command) == 0, "(and keeps a file there)");
	clean();
	ok(is_there("p-moved0"), "one that was renamed stays");
}

int main(void)
{
	char command[100];

	if (!mkdtemp(base))
		return 1;
	at = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_left();
	test_beginning();
	test_names();
	test_copies();
	test_marked_name();
	snprintf(command, sizeof(command), "rm -rf %s", base);
	ok(system(command) == 0, "(nothing is left)");
	return done_testing();
}
