/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of results, the settings of `fsd batch`, and its journal after a crash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsd/batch/journal.h"
#include "fsd/batch/paths.h"
#include "fsd/batch/settings.h"
#include "tests/unit/tap.h"

static char base[] = "/tmp/fsd-test.XXXXXX";

static void is_path(const char *name, const char *want)
{
	char got[PATH_MAX];

	is_int(result_path(name, strlen(name), got), 0, "\"%s\" has a path", name);
	is_str(got, want, "\"%s\" has its results in \"%s\"", name, want);
}

static void test_paths(void)
{
	char got[PATH_MAX];

	is_path("in/a.csv", "in/a.csv");
	is_path("/in//./a/", "in/a");
	is_path("../a/../b", "%2E%2E/a/%2E%2E/b");
	is_path("..a", "..a");
	is_path(".new-x", "%2Enew-x");
	is_path("in/.new-x", "in/.new-x");
	is_int(result_path("./", 2, got), -EINVAL, "\"./\" has no path");
}

static int take(struct settings *s, struct batch_options *o, const char *memory)
{
	struct run_client run = { .command = "batch" };

	run.value[RUN_MEMORY] = memory;
	o->run = &run;
	return settings_take(s, o);
}

static void test_settings(void)
{
	struct batch_options o = { .halt = "now,10%", .part = "2/5", .keep = "none" };
	struct settings s;

	is_int(take(&s, &o, "256,1024"), 0, "good values are taken");
	ok(s.halt == 10 && s.halt_percent && s.halt_now, "--halt now,10%% is all of it");
	ok(s.part == 2 && s.parts == 5, "--part 2/5 is the second of five");
	ok(s.keep == KEEP_NONE && s.tries == 1, "--keep is read, --tries is 1");
	ok(s.sizes == 2 && s.memory_mb[1] == 1024, "-m has two sizes");
	o.part = "6/5";
	is_int(take(&s, &o, NULL), 2, "--part 6/5 is refused");
	o.part = NULL;
	o.halt = "0";
	is_int(take(&s, &o, NULL), 2, "--halt 0 is refused");
	o.halt = NULL;
	is_int(take(&s, &o, "512,"), 2, "-m 512, is refused");
	is_int(take(&s, &o, "512,256"), 2, "sizes that fall are refused");
}

/* --- the journal -------------------------------------------------------------------- */

static char seen[1000];

static int note(void *arg, uint64_t at, const char *line)
{
	(void)arg;
	(void)at;
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s;", line);
	return 0;
}

static void write_file(int dir, const char *text)
{
	int fd = openat(dir, "journal", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "(it is written)");
	close(fd);
}

static void test_journal(void)
{
	struct journal j = JOURNAL_NONE;
	struct journals all;
	int dir;

	ok(mkdtemp(base) != NULL, "(a directory)");
	dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(dir, "{\"a\":\"}\"}\nno\n{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1}");
	is_int(journal_open(&j, dir, "journal", false), 0, "a journal that was cut is opened");
	buf_str(&j.lines, "{\"c\":2}\n");
	is_int(journal_flush(&j), 0, "and gets another line");
	journal_close(&j);
	is_int(journals_open(&all, dir), 0, "(it is read)");
	is_int(journals_each(&all, note, NULL), 0, "to its end");
	is_str(seen, "{\"a\":\"}\"};{\"a\":{\"b\":1}};{\"c\":2};", "whole lines are given");
	is_int((int)all.ignored, 2, "what is no line, and what was cut, is ignored");
	journals_close(&all);
	unlinkat(dir, "journal", 0);
	close(dir);
	rmdir(base);
}

static void test_members(void)
{
	const char *line = "{\"input\":\"a\\\"try\\\":9\",\"try\":3,\"status\":\"exited\","
			   "\"value\":{\"try\":7}}";
	size_t len;

	is_int((int)journal_number(line, "\"try\":"), 3,
	       "a member is not found in a text or in value");
	ok(journal_is(line, "\"status\":", "\"exited\""), "a text is compared");
	is_int((int)journal_number(line, "\"none\":"), -1, "what is missing is -1");
	ok(journal_member(line, "\"input\":", &len) && len == 12, "a text ends at its quote");
}

int main(void)
{
	test_paths();
	test_settings();
	test_journal();
	test_members();
	return done_testing();
}
