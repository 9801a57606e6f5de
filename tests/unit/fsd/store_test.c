/* SPDX-License-Identifier: Apache-2.0 */
/* A job's record in the state directory: as it was written, or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fsd/store/store.h"
#include "tests/unit/tap.h"

static const char good[] =
	"format 3\nuid 1000\ngid 100\nmode 750\nstate done\nrun 3\n"
	"exit_code 7\ncreated 5\nchanged 6000\nqueued 8\nended 9\nattempt 2\n"
	"retry 4\nretain 60\nheld 1\nname a job\n\n\n";

static const char before[] =
	"format 2\nuid 1000\ngid 100\nmode 750\nstate done\nrun 3\n"
	"exit_code 7\ncreated 5\nchanged 6000\nqueued 8\nended 9\nattempt 2\n"
	"retry 4\nretain 60\nname a job\n\n\n";

static const char old[] =
	"format 1\nuid 1000\ngid 100\nmode 750\nstate done\nrun 3\n"
	"exit_code 7\ncreated 5\nchanged 6000\nname a job\n\n\n";

/* whole, with from replaced by to. */
static int parse_of(const char *whole, const char *from, const char *to,
		    struct job_meta *ret)
{
	const char *at = strstr(whole, from);
	char text[1000];

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, to,
		 at + strlen(from));
	return store_meta_parse(text, ret);
}

static int parse(const char *from, const char *to, struct job_meta *ret)
{
	return parse_of(good, from, to, ret);
}

static void test_good(void)
{
	struct job_meta m = { .no = 9 };
	struct buf out = { .cap = 0 };

	is_int(parse("", "", &m), 0, "a record is read");
	ok(m.no == 9 && m.uid == 1000 && m.gid == 100 && m.mode == 0750 &&
	   m.state == JOB_DONE && m.run == 3 && m.exit_code == 7 &&
	   m.created_ns == 5 && m.changed_ns == 6000 && m.queued_no == 8 &&
	   m.ended_ns == 9 && m.attempt == 2 && m.retry == 4 &&
	   m.retain_s == 60 && m.held && m.format == 3, "with all its fields");
	is_str(m.name, "a job", "and its name");
	store_meta_print(&m, &out);
	ok(out.data && !strncmp(out.data, good, out.len),
	   "and written as it was");
	buf_done(&out);
	free(m.name);
}

static void test_old(void)
{
	struct job_meta m = { .no = 9 };

	is_int(parse_of(old, "", "", &m), 0, "one of format 1 is read");
	ok(m.format == 1 && m.uid == 1000 && m.run == 3, "as what it is");
	ok(m.ended_ns == 6000 && m.attempt == 1 && !m.queued_no && !m.retry &&
	   !m.retain_s, "and what it did not say follows from the rest");
	free(m.name);
	is_int(parse_of(old, "state done", "state queued", &m), 0,
	       "a queued one, too");
	ok(m.queued_no == 6 && !m.ended_ns,
	   "which has its place by the time of its acceptance");
	free(take_ptr(m.name));
	is_int(parse_of(old, "format 1", "format 2", &m), -EINVAL,
	       "it is none of format 2");
	is_int(parse_of(before, "", "", &m), 0, "one of format 2 is read");
	ok(m.format == 2 && m.retain_s == 60 && !m.held,
	   "and its job is not held");
	free(take_ptr(m.name));
	is_int(parse_of(old, "name", "retry 1\nname", &m), -EINVAL,
	       "and has no keys that format 1 has not");
}

static void test_wrong(void)
{
	static const char *const wrong[][2] = {
		{ "uid 1000\n", "" }, { "gid 100\n", "" }, { "name a job", "" },
		{ "mode 750\n", "" }, { "state done\n", "" },
		{ "format 3\n", "" }, { "format 3", "format 4" },
		{ "format 3", "format 0" }, { "format 3", "format 1" },
		{ "format 3", "format 2" }, { "held 1", "held 2" },
		{ "held 1\n", "" },
		{ "queued 8\n", "" }, { "queued 8", "queued -8" },
		{ "ended 9", "ended x" }, { "attempt 2", "attempt 12" },
		{ "retry 4", "retry 11" }, { "retry 4\n", "" },
		{ "retain 60", "retain 31536001" }, { "retain 60\n", "" },
		{ "gid", "uid 0\nuid 0\ngid" }, { "uid 1000", "uid 4294967296" },
		{ "uid 1000", "uid -1" }, { "uid 1000", "uid 0x0" },
		{ "uid 1000", "uid " }, { "uid 1000", "uid" },
		{ "mode 750", "mode 4755" }, { "mode 750", "mode rwx" },
		{ "mode 750", "mode 789" }, { "state done", "state dead" },
		{ "run 3", "run 4294967296" }, { "exit_code 7", "exit_code 256" },
		{ "created 5", "created 9223372036854775808" },
		{ "name a job", "name a/b" }, { "name a job", "name .." },
		{ "name a job", "name a\tb" }, { "name a job", "name .fsd" },
		{ "name a job", "name \xff" }, { "name a job", "other x" },
	};
	struct job_meta m = { .no = 9 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(parse(wrong[i][0], wrong[i][1], &m) == -EINVAL && !m.name,
		   "%s instead of %s is no record", wrong[i][1], wrong[i][0]);
}

static void test_attempts(void)
{
	static const char *const wrong[] = {
		"", "3", "3 failed", "3 failed 1 2", "3 nosuch 1 2 x",
		"x failed 1 2 x", "0 failed 1 2 x", "3 failed -1 2 x",
		"3 failed 1 9223372036854775808 x", " 3 failed 1 2 x",
	};
	struct result_attempt a = { .known = false };
	char text[200] = "3 failed 10 20 the machine died: why\\n";
	unsigned run = 0;

	ok(store_attempt_parse(text, &run, &a) == 0 && run == 3 && a.known &&
	   a.status == STATUS_FAILED && a.started_ns == 10 &&
	   a.ended_ns == 20, "a line of an earlier attempt is read");
	is_str(a.message, "the machine died: why\\n", "with its sentence");
	snprintf(text, sizeof(text), "4 interrupted 0 20 ");
	ok(store_attempt_parse(text, &run, &a) == 0 && !a.message,
	   "or without one");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		is_int(store_attempt_parse(text, &run, &a), -EINVAL,
		       "\"%s\" is none", wrong[i]);
	}
}

static void test_numbers(void)
{
	static const char *const wrong[] = {
		"", "0", "00000000000000", "a1", "000000000000A1", "0x0000000000a1",
		"-0000000000001", " 0000000000001", "0000000000000a1",
		"000000000000a1 ", "../00000000001", "10000000000000000",
	};
	uint64_t no = 0;

	ok(store_no("000000000000a1", &no) == 0 && no == 0xa1,
	   "a directory's number");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is_int(store_no(wrong[i], &no), -EINVAL, "\"%s\" is none",
		       wrong[i]);
}

/* STATE with the job 1, which has a file, and a store on it. */
static struct store *store_with(struct loop *loop, char *dir)
{
	struct store *s = NULL;
	struct err err = { 0 };
	int fd = -1;

	if (mkdtemp(dir) && store_open(loop, dir, &s, &err) == 0 &&
	    mkdirat(store_jobs_fd(s), "00000000000001", 0700) == 0)
		fd = openat(store_jobs_fd(s), "00000000000001/file",
			    O_WRONLY | O_CREAT, 0600);
	ok(fd >= 0 && close(fd) == 0, "a state directory");
	return s;
}

static bool has_name(struct store *s, const char *name)
{
	return faccessat(store_unlinked_fd(s), name, F_OK, 0) == 0;
}

static bool is_b(void *arg, const char *name)
{
	(void)arg;
	return !strcmp(name, "b");
}

static void test_unlinked(void)
{
	char dir[] = "/tmp/fsd-depot-test.XXXXXX", command[64];
	struct loop *loop = NULL;
	struct store *s;

	loop_new(&loop);
	s = store_with(loop, dir);
	is_int(store_unlinked_add(s, "00000000000001/other", "a"), -ENOENT,
	       "what is not there gets no second name");
	is_int(store_unlinked_add(s, "00000000000001/file", "a"), 0, "a file gets one");
	is_int(store_unlinked_add(s, "00000000000001/file", "a"), 0, "also twice");
	is_int(store_unlinked_add(s, "00000000000001/file", "b"), 0, "or another one");
	unlinkat(store_jobs_fd(s), "00000000000001/file", 0);
	ok(has_name(s, "a") && has_name(s, "b"), "and is there when its own is gone");
	store_unlinked_sweep(s, is_b, NULL);
	ok(!has_name(s, "a") && has_name(s, "b"), "a sweep leaves what is needed");
	store_unlinked_drop(s, "b");
	store_finish_tasks(s);
	ok(!has_name(s, "b"), "and the last one is dropped");
	store_close(s);
	loop_free(loop);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ok(system(command) == 0, "nothing is left");
}

static void on_refused(void *arg, int error)
{
	*(int *)arg = error;
}

static void test_refused(void)
{
	char dir[] = "/tmp/fsd-depot-test.XXXXXX", command[64];
	struct job_meta m = { .no = 1, .name = (char[]){ "a" } };
	struct loop *loop = NULL;
	struct store *s;
	int error = 0;

	loop_new(&loop);
	s = store_with(loop, dir);
	store_on_refusal(s, on_refused, &error);
	ok(store_meta_commit(s, &m) == 0 && !error, "a record that the disk takes");
	ok(!store_is_short(-EIO) && store_is_short(-ENOSPC),
	   "want of room is no refusal, an error of the disk is one");
	unlinkat(store_jobs_fd(s), "00000000000001/meta", 0);
	mkdirat(store_jobs_fd(s), "00000000000001/meta", 0700);
	is_int(store_meta_write(s, &m), -EISDIR, "a record that cannot be written");
	is_int(error, EISDIR, "is told to who ends the server");
	store_on_refusal(s, NULL, NULL);
	error = 0;
	ok(store_meta_write(s, &m) == -EISDIR && !error,
	   "or to the caller alone, when servers are ended no more");
	m.no = 2;
	store_on_refusal(s, on_refused, &error);
	ok(store_meta_write(s, &m) == -ENOENT && !error,
	   "and a directory that somebody has removed ends nothing");
	store_close(s);
	loop_free(loop);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ok(system(command) == 0, "nothing is left");
}

int main(void)
{
	test_refused();
	test_unlinked();
	test_good();
	test_old();
	test_attempts();
	test_wrong();
	test_numbers();
	return done_testing();
}
