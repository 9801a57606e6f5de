/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an entry of a spool is complete: the rules of entries.h, with inotify, leases, and
 * writers that have files open. Which names are entries, and in which order they come.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/fsd/spool_fixture.h"

#define OTHER_USER 65534

static int open_writer(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		ok(false, "(%s is opened for writing)", path);
	return fd;
}

/* --- rule 1 -------------------------------------------------------------------- */

static void test_rename(void)
{
	begin(&usual);
	run("echo 1 >../tmp/a.py && mv ../tmp/a.py a.py");
	pass(0);
	is_str(next(), "a.py", "a file that a rename brings is complete at once");
	is_int(claim("a.py"), 0, "it can be claimed");
	is_str(next(), NULL, "it is then no entry any more");
	run("mkdir -p ../tmp/d/e && echo 1 >../tmp/d/code.py && mv ../tmp/d d");
	pass(0);
	is_str(next(), "d", "a directory that a rename brings is complete at once");
	is_int(claim("d"), 0, "it can be claimed");
	run("echo 1 >.a.py.X2f && mv .a.py.X2f a.py");
	pass(0);
	is_str(next(), "a.py", "a rename from an ignored name counts as one (rsync)");
	run("echo 2 >../tmp/a.py && mv ../tmp/a.py a.py");
	pass(0);
	is_str(next(), "a.py", "so does one over an entry");
	is_int(claim("a.py"), 0, "and the new file is claimed");
	end();
}

static void test_rename_of_written(void)
{
	int fd;

	begin(&usual);
	fd = open_writer("tmp/a.py");
	run("mv ../tmp/a.py a.py");
	pass(60 * SECOND);
	is_str(next(), NULL, "a renamed file with a writer is not complete");
	close(fd);
	pass(SETTLE);
	is_str(next(), "a.py", "it is when the writer has closed it");
	end();
}

static void test_replaced(void)
{
	begin(&usual);
	run("echo 1 >../tmp/a.py && mv ../tmp/a.py a.py");
	pass(0);
	is_str(next(), "a.py", "(a renamed file is complete)");
	run("rm a.py && echo 1 >a.py");
	is_str(next(), NULL, "a written file in its place is not, without an event");
	pass(SETTLE - 1);
	is_str(next(), NULL, "nor by the rename's event");
	pass(1);
	is_str(next(), "a.py", "but when it has settled");
	end();
}

/* --- rule 2 -------------------------------------------------------------------- */

static void test_written(void)
{
	begin(&usual);
	run("echo 1 >a.py");
	pass(SETTLE - 1);
	is_str(next(), NULL, "a written file is not complete before it has settled");
	run("echo 2 >>a.py");
	pass(SETTLE - 1);
	is_str(next(), NULL, "nor after it has changed");
	pass(1);
	is_str(next(), "a.py", "it is when it has settled");
	run("echo 3 >>a.py");
	is_str(next(), NULL, "not any more if it has changed since");
	pass(SETTLE);
	is_int(claim("a.py"), 0, "until it has settled once more");
	end();
}

static void test_early_event(void)
{
	begin(&usual);
	run("echo 1 >a.py");
	pass(SETTLE / 2);
	run("chmod 600 a.py && chmod 644 a.py");
	pass(0);
	run(": >>a.py"); /* closed by a writer, and not changed */
	pass(SETTLE - 1);
	is_str(next(), NULL, "a file of which an event tells begins to settle anew");
	pass(1);
	is_str(next(), "a.py", "and takes no longer than to settle");
	end();
}

static void test_writer(void)
{
	int fd;

	begin(&usual);
	fd = open_writer("new/a.py");
	pass(10 * 60 * SECOND);
	is_str(next(), NULL, "a file that a process writes is not complete in ten minutes");
	if (write(fd, "1\n", 2) != 2 || close(fd) < 0)
		ok(false, "(the writer ends)");
	pass(SETTLE - 1);
	is_str(next(), NULL, "it settles after the writer's end");
	pass(1);
	is_str(next(), "a.py", "and is complete then");
	fd = open_writer("new/a.py");
	is_str(next(), NULL, "a writer that comes later takes that back");
	close(fd);
	pass(SETTLE);
	is_str(next(), "a.py", "until it has ended");
	end();
}

static void test_mapped(void)
{
	void *p;
	int fd;

	begin(&usual);
	fd = open("new/a.py", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (ftruncate(fd, 4096) < 0)
		ok(false, "(the file gets a size)");
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	pass(60 * SECOND);
	is_str(next(), NULL, "a file that a process has mapped for writing is not complete");
	munmap(p, 4096);
	pass(WATCH_QUIET);
	is_str(next(), "a.py", "it is when the map is gone");
	end();
}

static void test_claimed_too_early(void)
{
	int fd;

	begin(&usual);
	run("echo 1 >../tmp/a.py && mv ../tmp/a.py a.py");
	pass(0);
	is_str(next(), "a.py", "(a file is complete)");
	fd = open_writer("new/a.py");
	if (renameat(new_dir, "a.py", run_dir, "input") < 0)
		ok(false, "(it is claimed)");
	is_int(entries_claimed(entries, "a.py", run_dir, "input", &err), -EBUSY,
	       "a claimed file that a process writes has to go back");
	is_str(err.text, "a.py is still being written", "and a sentence says so");
	put_back("a.py");
	pass(60 * SECOND);
	is_str(next(), NULL, "the rename that puts it back does not make it complete");
	close(fd);
	pass(SETTLE);
	is_int(claim("a.py"), 0, "the end of its writer does");
	end();
}

static void test_changed_after_claim(void)
{
	begin(&usual);
	run("echo 1 >a.py");
	pass(SETTLE);
	is_str(next(), "a.py", "(a file is complete)");
	run("echo 2 >>a.py && mv a.py ../run/input");
	is_int(entries_claimed(entries, "a.py", run_dir, "input", &err), -EBUSY,
	       "a file that has changed before its claim has to go back");
	end();
}

static void test_link(void)
{
	int fd;

	begin(&usual);
	run("echo 1 >../tmp/a.py && ln ../tmp/a.py a.py");
	pass(SETTLE);
	is_str(next(), "a.py", "a hard link is complete when it has settled");
	fd = open_writer("tmp/a.py");
	is_str(next(), NULL, "not if a process writes to it by its other name");
	close(fd);
	end();
}

static void test_clock(void)
{
	begin(&usual);
	run("touch -d '1 hour' a.py; touch -d '-1 hour' b.py; touch -d @0 c.py");
	pass(SETTLE - 1);
	is_str(next(), NULL, "files from hosts whose clocks are wrong have to settle");
	pass(1);
	is_int(claim("a.py"), 0, "a file of the future settles as fast as any");
	is_int(claim("b.py"), 0, "so does one of the past");
	is_int(claim("c.py"), 0, "and one of 1970");
	end();
}

/* --- what needs another user -------------------------------------------------- */

static bool become(uid_t uid)
{
	return seteuid(uid) == 0;
}

static void test_other_owner(void)
{
	begin(&usual);
	run("chmod 777 . && echo 1 >a.py && chmod 644 a.py");
	become(OTHER_USER);
	pass(ENTRIES_NO_LEASE_MS - 1);
	is_str(next(), NULL, "a file that gives no lease takes longer");
	pass(1);
	is_str(next(), "a.py", "and is complete then");
	become(0);
	run("echo 1 >../tmp/b.py && mv ../tmp/b.py b.py");
	become(OTHER_USER);
	pass(0);
	is_int(claim("a.py"), -EACCES, "(another user may not claim it)");
	entries_gone(entries, "a.py");
	is_str(next(), "b.py", "a rename makes one complete at once all the same");
	become(0);
	end();
}

static void test_unreadable(void)
{
	begin(&usual);
	run("chmod 777 . ../run && echo 1 >a.py && mkdir d && echo 1 >d/code.py");
	run("chmod 600 a.py d/code.py");
	become(OTHER_USER);
	pass(ENTRIES_UNREADABLE_MS - 1);
	is_str(next(), NULL, "an entry that cannot be read waits");
	pass(SETTLE + 1);
	is_str(next(), "a.py", "for a minute");
	if (renameat(new_dir, "a.py", run_dir, "input") < 0)
		ok(false, "(it is claimed)");
	is_int(entries_claimed(entries, "a.py", run_dir, "input", &err), -EACCES,
	       "it is claimed and can never run");
	is_str(err.text, "input cannot be read: Permission denied", "a sentence says why");
	is_str(next(), "d", "so does a directory with a file that cannot be read");
	become(0);
	is_str(next(), "d", "(root may read it)");
	end();
}

/* --- rule 3 -------------------------------------------------------------------- */

static void test_directory(void)
{
	int fd;

	begin(&usual);
	run("mkdir d && echo 1 >d/data");
	pass(60 * SECOND);
	is_str(next(), NULL, "a directory that was made here waits for its code.*");
	run("echo 1 >d/code.py");
	pass(WATCH_QUIET);
	pass(SETTLE - 1);
	is_str(next(), "d", "and is complete when it has settled with it");
	run("echo 2 >d/data2");
	is_str(next(), "d", "(a file that comes later gives no event)");
	is_int(claim("d"), -EBUSY, "but is found after the claim");
	put_back("d");
	fd = open_writer("new/d/data");
	pass(60 * SECOND);
	is_str(next(), NULL, "it is not complete while a file in it is written");
	close(fd);
	pass(WATCH_QUIET + SETTLE);
	is_int(claim("d"), 0, "but at the end");
	end();
}

/* Each step changes the tree before it has settled. */
static void test_slow_copy(void)
{
	static const char *const steps[] = {
		"mkdir d", "echo 1 >d/code.py", "mkdir d/e", "echo 2 >>d/code.py",
		"echo 1 >d/e/a", "mkdir -p d/e/f/g", "echo 1 >d/e/f/g/h",
		"mv d/e/a d/e/b", "rm d/e/b", "touch -d @0 d/e/f/g/h",
		"ln -s nowhere d/link", "rm d/link", "chmod 700 d/code.py",
	};

	begin(&usual);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		run("%s", steps[i]);
		pass(SETTLE - 1);
		is_str(next(), NULL, "not complete behind: %s", steps[i]);
	}
	pass(SETTLE);
	is_int(claim("d"), 0, "a directory that is copied slowly is complete at its end");
	end();
}

static void test_any_directory(void)
{
	struct entries_options options = usual;

	options.any_directory = true;
	begin(&options);
	run("mkdir d && echo 1 >d/data");
	pass(SETTLE);
	is_str(next(), "d", "with a program of the spool a directory needs no code.*");
	end();
}

/* --- rule 4 -------------------------------------------------------------------- */

static void test_ready(void)
{
	struct entries_options options = usual;

	options.ready = "DONE";
	begin(&options);
	run("echo 1 >a.py; mkdir d && echo 1 >d/code.py");
	run("echo 1 >../tmp/b.py && mv ../tmp/b.py b.py");
	run("mkdir ../tmp/f && echo 1 >../tmp/f/code.py && mv ../tmp/f f");
	pass(600 * SECOND);
	is_str(next(), NULL, "with --ready nothing is complete without its marker");
	run("touch b.py.ready");
	pass(0);
	is_str(next(), "b.py", "the marker of a renamed file makes it complete at once");
	is_int(claim("b.py"), 0, "it is claimed");
	is_int(access("new/b.py.ready", F_OK), -1, "and its marker removed");
	run("touch a.py.ready f/DONE d/DONE");
	pass(WATCH_QUIET + SETTLE);
	is_int(claim("a.py"), 0, "a written file needs its marker as well");
	is_int(claim("d"), 0, "so does a directory that was made here");
	is_int(claim("f"), 0, "and one that was renamed");
	run("echo 1 >a.py && touch a.py.ready");
	pass(SETTLE - 1);
	is_str(next(), NULL, "an old marker makes no file complete before it has settled");
	end();
}

/* --- what is never opened ------------------------------------------------------- */

static void make_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		ok(false, "(a socket is made)");
	close(fd);
}

static void test_odd(void)
{
	static const struct {
		const char *name, *sentence;
	} odd[] = {
		{ "fifo", "fifo is a FIFO; fsd spool takes files and directories with "
			  "files and directories in them only" },
		{ "link", "link is a symbolic link; fsd spool takes files and directories "
			  "with files and directories in them only" },
		{ "sock", "sock is a socket; fsd spool takes files and directories with "
			  "files and directories in them only" },
	};

	begin(&usual);
	run("echo secret >../tmp/secret; mkfifo fifo; ln -s ../tmp/secret link");
	make_socket("new/sock");
	pass(0);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		is_int(entry_open(new_dir, odd[i].name, NULL, &err), -EINVAL,
		       "a %s is not opened", odd[i].name);
		is_str(err.text, odd[i].sentence, "a sentence says what it is");
		is_int(claim(odd[i].name), -EINVAL, "it is claimed at once, and refused");
	}
	is_str(next(), NULL, "(no other entry is there)");
	is_int(entry_open(new_dir, "../tmp/secret", NULL, &err), -EINVAL,
	       "a path is not the name of an entry");
	is_int(entry_open(new_dir, "..", NULL, &err), -EINVAL, "nor is ..");
	is_int(entry_open(new_dir, "none", NULL, &err), -ENOENT, "a missing one is missing");
	end();
}

static void test_odd_inside(void)
{
	static const char *const makers[] = {
		"ln -s /etc/passwd d/e/x", "ln -s /etc d/e/x", "mkfifo d/e/x",
		"ln -s loop d/e/x", "mkdir d/e/x; touch d/e/x/y; rm -r d/e/x; mkfifo d/e/x",
	};

	begin(&usual);
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		run("mkdir -p d/e && echo 1 >d/code.py && %s && mv d ../tmp/d && "
		    "mv ../tmp/d d", makers[i]);
		pass(0);
		is_int(claim("d"), -EINVAL, "a directory is refused with: %s", makers[i]);
		ok(!strncmp(err.text, "input/e/x is a ", 15), "a sentence says where: %s",
		   err.text);
	}
	run("p=d; for i in $(seq 70); do p=$p/e; done; mkdir -p $p; "
	    "echo 1 >d/code.py; mv d ../tmp/d; mv ../tmp/d d");
	pass(0);
	is_int(claim("d"), -ENAMETOOLONG, "so is one of 70 directories in each other");
	end();
}

/* --- names and order ------------------------------------------------------------ */

static void test_ignored(void)
{
	static const char *const ignored[] = {
		".", "..", ".a", ".code.py.Ab12", "~$a.docx", "a~", "a.part", "a.partial",
		"a.tmp", "a.filepart", "a.crdownload", "a.swp", "a.lock", "a.ready",
		"Thumbs.db", "desktop.ini", "~", ".part",
	};
	static const char *const taken[] = {
		"a", "~a", "$~a", "part", "tmp", "a.py", "a.part.py", "a.partx", "thumbs",
		"Thumbs.dbx", "aThumbs.db", "-", "a.", " ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		ok(entry_is_ignored(ignored[i]), "%s is ignored", ignored[i]);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		ok(!entry_is_ignored(taken[i]), "%s is an entry", taken[i]);
	begin(&usual);
	run("touch .a a~ a.part Thumbs.db; echo >../tmp/a && mv ../tmp/a a.filepart");
	pass(120 * SECOND);
	is_str(next(), NULL, "an ignored name is never complete");
	run("mv a.filepart a");
	pass(0);
	is_str(next(), "a", "an upload is, once it has its own name");
	run("mv a a.filepart");
	pass(0);
	is_str(next(), NULL, "and is not once it has lost that");
	end();
}

static void test_names(void)
{
	static const char *const names[] = {
		"-rf", " ", "a b", "a\nb", "a\tb", "\"", "'", "$(reboot)", "*", "\\", "a;b",
		"\xff\xfe", "\xc3\xa4", "\x01", "a%sb", "input",
	};
	char longest[NAME_MAX + 1];
	int fd;

	memset(longest, 'n', NAME_MAX);
	longest[NAME_MAX] = '\0';
	begin(&usual);
	for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
		const char *name = i < ARRAY_SIZE(names) ? names[i] : longest;

		fd = openat(new_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			ok(false, "(%s is made)", name);
		close(fd);
		pass(SETTLE);
		is_int(claim(name), 0, "a name of %zu bytes is taken: %s", strlen(name),
		       name);
	}
	end();
}

static void test_order(void)
{
	struct entries_counts counts;

	begin(&usual);
	run("for i in c b a; do echo >../tmp/$i; mv ../tmp/$i $i; done");
	pass(0);
	is_int(claim("c"), 0, "entries come in the order of their events");
	is_int(claim("b"), 0, "the second");
	is_int(claim("a"), 0, "the third");
	end();
	begin(&usual);
	entries_free(entries);
	run("for i in c b a B 10 9; do echo >$i; done");
	entries = entries_new(new_dir, &usual, now, &err);
	run("for i in 1 0; do echo >$i; done");
	pass(SETTLE);
	entries_count(entries, now, &counts);
	is_int((long long)counts.all, 8, "all entries are counted");
	is_int((long long)counts.complete, 8, "so are the complete ones");
	is_int(counts.oldest_ms, SETTLE, "and the time since the oldest was seen");
	is_int(claim("10"), 0, "entries of one scan come in the order of names");
	is_int(claim("9"), 0, "by bytes");
	is_int(claim("B"), 0, "by bytes");
	is_int(claim("a"), 0, "by bytes");
	entries_gone(entries, "b");
	is_int(claim("c"), 0, "one that another host took is left out");
	is_int(claim("1"), 0, "those seen later come later");
	is_int(claim("0"), 0, "whatever their names");
	entries_count(entries, now, &counts);
	is_int((long long)counts.all, 0, "none is left");
	is_int(counts.oldest_ms, 0, "nor the age of one");
	end();
}

static void test_gone(void)
{
	struct entries_counts counts;

	begin(&usual);
	run("echo 1 >a; echo 1 >b; echo 1 >c; mkdir d");
	pass(SETTLE);
	run("rm a; mv b ../tmp; rmdir d");
	is_str(next(), "c", "an entry that is gone is not complete, without an event");
	pass(0);
	entries_count(entries, now, &counts);
	is_int((long long)counts.all, 1, "nor counted, with one");
	end();
}

/* --- lost events ---------------------------------------------------------------- */

static void test_overflow(void)
{
	struct entries_counts counts;
	int scanf_got, most = 16384;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	scanf_got = f ? fscanf(f, "%d", &most) : 0;
	if (f)
		fclose(f);
	begin(&usual);
	run("echo 1 >a; echo 1 >gone");
	pass(0);
	for (int i = 0; i < most && scanf_got == 1; i++)
		if (renameat(new_dir, i % 2 ? "y" : "a", new_dir, i % 2 ? "a" : "y") < 0)
			ok(false, "(a rename fails)");
	run("rm gone; echo 1 >late");
	pass(0);
	entries_count(entries, now, &counts);
	is_int((long long)counts.all, 2, "a full queue of events leads to a scan");
	pass(2 * SETTLE);
	is_int(claim(most % 2 ? "y" : "a"), 0, "what was there is complete");
	is_int(claim("late"), 0, "so is what came during the flood");
	end();
}

static void test_directory_gone(void)
{
	begin(&usual);
	run("echo 1 >a");
	pass(SETTLE);
	if (system("rm -r new") != 0)
		ok(false, "(new is removed)");
	now += 60 * SECOND;
	is_int(entries_update(entries, now, &err), -ENOENT,
	       "a directory that is gone is an error of the next scan");
	ok(!strncmp(err.text, "the directory new cannot be read: ", 34), "with a sentence");
	ok(entries_timeout_ms(entries, now) > 0, "and not tried all the time");
	end();
}

int main(void)
{
	if (!start())
		return 1;
	test_rename();
	test_rename_of_written();
	test_replaced();
	test_written();
	test_early_event();
	test_writer();
	test_mapped();
	test_claimed_too_early();
	test_changed_after_claim();
	test_link();
	test_clock();
	if (geteuid() == 0) {
		test_other_owner();
		test_unreadable();
	} else {
		skip("files of another owner need root");
	}
	test_directory();
	test_slow_copy();
	test_any_directory();
	test_ready();
	test_odd();
	test_odd_inside();
	test_ignored();
	test_names();
	test_order();
	test_gone();
	test_overflow();
	test_directory_gone();
	return finish();
}
