/* SPDX-License-Identifier: Apache-2.0 */
/* A job's record in the state directory: as it was written, or not at all. */
#include <errno.h>
#include <stdlib.h>

#include "../../fsd/depot.h"
#include "tap.h"

static const char good[] =
	"format 1\nuid 1000\ngid 100\nmode 750\nstate done\nrun 3\n"
	"exit_code 7\ncreated 5\nchanged 6\nname a job\n\n\n";

/* good, with from replaced by to. */
static int parse(const char *from, const char *to, struct job_meta *ret)
{
	const char *at = strstr(good, from);
	char text[1000];

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to,
		 at + strlen(from));
	return depot_meta_parse(text, ret);
}

static void test_good(void)
{
	struct job_meta m = { .no = 9 };
	struct buf out = { .cap = 0 };

	is_int(parse("", "", &m), 0, "a record is read");
	ok(m.no == 9 && m.uid == 1000 && m.gid == 100 && m.mode == 0750 &&
	   m.state == JOB_DONE && m.run == 3 && m.exit_code == 7 &&
	   m.created_ns == 5 && m.changed_ns == 6, "with all its fields");
	is_str(m.name, "a job", "and its name");
	depot_meta_print(&m, &out);
	ok(out.data && !strncmp(out.data, good, out.len),
	   "and written as it was");
	buf_done(&out);
	free(m.name);
}

static void test_wrong(void)
{
	static const char *const wrong[][2] = {
		{ "uid 1000\n", "" }, { "gid 100\n", "" }, { "name a job", "" },
		{ "mode 750\n", "" }, { "state done\n", "" },
		{ "format 1\n", "" }, { "format 1", "format 2" },
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

static void test_numbers(void)
{
	static const char *const wrong[] = {
		"", "0", "00000000000000", "a1", "000000000000A1", "0x0000000000a1",
		"-0000000000001", " 0000000000001", "0000000000000a1",
		"000000000000a1 ", "../00000000001", "10000000000000000",
	};
	uint64_t no = 0;

	ok(depot_no("000000000000a1", &no) == 0 && no == 0xa1,
	   "a directory's number");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is_int(depot_no(wrong[i], &no), -EINVAL, "\"%s\" is none",
		       wrong[i]);
}

int main(void)
{
	test_good();
	test_wrong();
	test_numbers();
	return done_testing();
}
