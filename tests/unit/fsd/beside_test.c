/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is put in place beside an old one, on a filesystem that knows the flags of
 * renameat2(2) and locks of directories, and on one that knows neither, as NFS, and has
 * an errno of its own for a directory in the way, as sshfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fsd/local/beside.h"
#include "fsd/local/maker.h"
#include "fsd/local/own_dir.h"
#include "layout/base/cleanup.h"
#include "tests/unit/tap.h"

static char base[] = "/tmp/fsd-test.XXXXXX";
static int at = -1; /* it */
static bool plain;  /* the filesystem knows plain renames alone, and no locks */
static unsigned renames_left = 1000;

/* In place of the C library's. */
int renameat2(int from, const char *name, int to, const char *as, unsigned flags)
{
	if (plain && flags) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from, name, to, as, flags);
}

int renameat(int from, const char *name, int to, const char *as)
{
	if (!renames_left) {
		errno = EIO;
		return -1;
	}
	renames_left--;
	if (syscall(SYS_renameat2, from, name, to, as, 0) == 0)
		return 0;
	if (plain && errno == ENOTEMPTY)
		errno = EPERM;
	return -1;
}

int flock(int fd, int how)
{
	if (plain) {
		errno = EBADF;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, how);
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
	char text[400], command[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "cd %s && %s", base, text);
	ok(system(command) == 0, "(%s)", text);
}

static bool is_there(const char *path)
{
	return faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nothing but those, with blanks between them. */
static void is_all(const char *names, const char *sentence)
{
	char command[400];

	snprintf(command, sizeof(command), "test \"$(ls -A %s | xargs)\" = '%s'", base,
		 names);
	ok(system(command) == 0, "%s", sentence);
}

static int make_new(int own, const char *text, bool directory)
{
	auto_close int fd = -1;

	if (directory && mkdirat(own, BESIDE_NEW, 0700) < 0)
		return -errno;
	fd = openat(own, directory ? BESIDE_NEW "/x" : BESIDE_NEW,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return dprintf(fd, "%s\n", text) < 0 ? -errno : 0;
}

/* Makes a file of that text, or a directory with it as x. */
static void begin(struct beside *b, const char *name, const char *text, bool directory)
{
	is_int(beside_begin(b, fcntl(at, F_DUPFD_CLOEXEC, 0), name), 0, "(it begins)");
	is_int(beside_make(b), 0, "(its own directory is made)");
	is_int(make_new(b->own, text, directory), 0, "(the new is made)");
}

static bool reads(const char *path, const char *text)
{
	char room[64] = "";
	auto_close int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, sizeof(room) - 1);

	return n > 0 && !strncmp(room, text, strlen(text)) &&
	       (size_t)n == strlen(text) + 1;
}

static void test_fresh(void)
{
	struct beside b;

	begin(&b, "a", "one", true);
	is_int(beside_put(&b, BESIDE_FRESH), 0, "a new directory gets its name");
	beside_end(&b);
	ok(reads("a/x", "one"), "with what is in it");
	is_all("a", "and nothing else is there");
	begin(&b, "a", "two", true);
	is_int(beside_put(&b, BESIDE_FRESH), -EEXIST, "one that is there stays");
	beside_end(&b);
	ok(reads("a/x", "one"), "as it was");
	shell("mkdir empty && echo text >file && ln -s nowhere link");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = { "empty", "file", "link" };

		begin(&b, names[i], "two", true);
		is_int(beside_put(&b, BESIDE_FRESH), -EEXIST, "so does %s", names[i]);
		beside_end(&b);
	}
	is_all("a empty file link", "nothing of all this is left");
	shell("rm -r a empty file link");
}

static void test_over(void)
{
	struct beside b;

	for (unsigned i = 1; i < 3; i++) {
		begin(&b, "a", i == 1 ? "one" : "two", true);
		is_int(beside_put(&b, BESIDE_OVER), 0, "directory %u is put", i);
		beside_end(&b);
		ok(reads("a/x", i == 1 ? "one" : "two"), "and is there");
		begin(&b, "f", i == 1 ? "one" : "two", false);
		is_int(beside_put(&b, BESIDE_OVER), 0, "file %u is put", i);
		beside_end(&b);
		ok(reads("f", i == 1 ? "one" : "two"), "and is there");
	}
	begin(&b, "f", "three", true);
	is_int(beside_put(&b, BESIDE_OVER), -ENOTDIR, "no directory replaces a file");
	beside_end(&b);
	begin(&b, "a", "three", false);
	is_int(beside_put(&b, BESIDE_OVER), -EISDIR, "no file replaces a directory");
	beside_end(&b);
	ok(reads("f", "two") && reads("a/x", "two"), "both are as they were");
	shell("ln -sf f link");
	begin(&b, "link", "three", false);
	is_int(beside_put(&b, BESIDE_OVER), 0, "a file replaces a link");
	beside_end(&b);
	ok(reads("link", "three") && reads("f", "two"), "and not what it leads to");
	is_all("a f link", "nothing of all this is left");
	shell("rm -r a f link");
}

static void test_two_renames(void)
{
	struct beside b;

	shell("mkdir a && echo old >a/x");
	begin(&b, "a", "new", true);
	renames_left = 2; /* the one that fails, and the old one's */
	is_int(beside_put(&b, BESIDE_OVER), -EIO, "of two renames the second one fails");
	renames_left = 1000;
	ok(!is_there("a"), "then the old is away");
	fd_close(&b.own);
	fd_close(&b.parent); /* as a process that is killed */
	is_int(beside_begin(&b, fcntl(at, F_DUPFD_CLOEXEC, 0), "a"), 0, "(the next)");
	shell("mv .a.fsd-* .a.fsd-aaaaaa && echo \"fsd made .a.fsd-aaaaaa and removes it "
	      "when the process that made it has ended.\" >.a.fsd-aaaaaa/" OWN_DIR_MARK);
	plain = false; /* it goes by the lock */
	beside_clean(&b);
	plain = true;
	beside_end(&b);
	ok(reads("a/x", "old"), "the next process puts the old back");
	is_all("a", "and removes the rest");
	shell("rm -r a");
}

static void test_names(void)
{
	static const char *const wrong[] = { "", ".", "..", "a/b" };
	char name[NAME_MAX + 1];
	struct beside b;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		is_int(beside_begin(&b, -1, wrong[i]), -EINVAL, "\"%s\" is no name",
		       wrong[i]);
	memset(name, 'x', sizeof(name));
	for (size_t i = 100; i < 200; i += 2)
		memcpy(name + i, "\xc3\xbc", 2); /* two bytes a character */
	name[NAME_MAX] = '\0';
	begin(&b, name, "long", false);
	is_int(beside_put(&b, BESIDE_OVER), 0, "the longest name is put");
	beside_end(&b);
	ok(reads(name, "long"), "and is there");
	is_all(name, "and nothing else");
	shell("rm x*");
	begin(&b, "-n \n\xff\t'", "odd", false);
	is_int(beside_put(&b, BESIDE_OVER), 0, "an odd name is put");
	beside_end(&b);
	ok(reads("-n \n\xff\t'", "odd"), "and is there");
	shell("rm -- ./-n*");
}

/* --- the process that made it --------------------------------------------------------- */

/* The text of a child that has ended. */
static void of_ended(char ret[MAKER_TEXT])
{
	int ends[2];
	pid_t pid;
	ssize_t n;

	ret[0] = '\0';
	if (pipe(ends) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		char text[MAKER_TEXT] = "";

		_exit(maker_text(text) == 0 &&
		      write(ends[1], text, sizeof(text)) == sizeof(text) ? 0 : 1);
	}
	n = read(ends[0], ret, MAKER_TEXT);
	ok(pid > 0 && waitpid(pid, NULL, 0) == pid && n == MAKER_TEXT, "(a child ends)");
	close(ends[0]);
	close(ends[1]);
}

/* Replaces one of the five parts. */
static void change(const char *text, unsigned part, const char *by, char ret[MAKER_TEXT])
{
	char copy[MAKER_TEXT], *save = NULL, *word;
	size_t len = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	word = strtok_r(copy, "-", &save);
	for (unsigned i = 0; word && len < MAKER_TEXT; i++) {
		len += (size_t)snprintf(ret + len, MAKER_TEXT - len, "-%s",
					i == part ? by : word);
		word = strtok_r(NULL, "-", &save);
	}
}

static void test_maker(void)
{
	static const char *const none[] = { "", "-", "-a-b-1-2-3", "abc",
					    "-0000000000000000-0000000000000000-1-2-x" };
	char self[MAKER_TEXT] = "", ended[MAKER_TEXT], other[MAKER_TEXT];
	bool known;

	is_int(maker_text(self), 0, "this process has a text");
	known = strncmp(self, "-0-", 3) != 0;
	ok(!maker_has_ended(self), "and has not ended");
	of_ended(ended);
	ok(maker_has_ended(ended), "a child that has ended has");
	change(self, 4, "1", other);
	ok(maker_has_ended(other), "so has one with our pid that began before");
	change(ended, 0, "00000000000000aa", other);
	ok(maker_has_ended(other), "a host that was renamed is the same as long as it runs");
	change(ended, 2, "17", other);
	ok(!maker_has_ended(other), "of another pid namespace it is not known");
	change(self, 1, "00000000000000aa", other);
	ok(maker_has_ended(other) == known, "this host has started anew since");
	change(other, 0, "00000000000000aa", other);
	ok(!maker_has_ended(other), "of another host it is not known");
	change(self, 0, "0", other);
	change(other, 1, "00000000000000aa", other);
	ok(!maker_has_ended(other), "nor of a host without a name");
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		ok(!maker_has_ended(none[i]), "\"%s\" is no process", none[i]);
}

/* Without locks. */
static void test_left(void)
{
	char made[NAME_MAX + 1] = "", ended[MAKER_TEXT], name[NAME_MAX + 1];
	auto_close int own = own_dir_make(at, ".a.fsd-", made);

	ok(own >= 0 && strlen(made) > strlen(".a.fsd-") + OWN_DIR_RANDOM,
	   "without locks a directory's name has its process");
	own_dir_clean(at, ".a.fsd-", NULL, NULL);
	ok(is_there(made), "it stays as long as the process lives");
	of_ended(ended);
	snprintf(name, sizeof(name), ".a.fsd-bbbbbb%s", ended);
	shell("mkdir -m 1700 ./%s .a.fsd-cccccc", name);
	own_dir_clean(at, ".a.fsd-", NULL, NULL);
	ok(!is_there(name), "that of a process that has ended goes");
	ok(is_there(".a.fsd-cccccc"), "one that has no process and no lock stays");
	shell("rmdir .a.fsd-cccccc");
	own_dir_remove(at, made);
	is_all("", "nothing is left");
}

int main(void)
{
	char command[100];

	if (!mkdtemp(base))
		return 1;
	at = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		plain = i;
		test_fresh();
		test_over();
		test_names();
	}
	test_two_renames();
	test_maker();
	test_left();
	snprintf(command, sizeof(command), "rm -rf %s", base);
	ok(system(command) == 0, "(nothing is left)");
	return done_testing();
}
