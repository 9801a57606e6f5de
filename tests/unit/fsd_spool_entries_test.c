/* SPDX-License-Identifier: Apache-2.0 */
/* When an entry of a spool is complete, which names are entries, and in which order they
 * come. */
#include "spool_fixture.h"

static const struct entries_options usual = { .settle_ms = SETTLE, .poll_ms = POLL };

static void test_rename(void)
{
	begin(&usual);
	run("echo 1 >../tmp/a.py && mv ../tmp/a.py a.py");
	pass(0);
	is_str(next(), "a.py", "a file that a rename brings is complete at once");
	is_int(claim("a.py"), 0, "it can be claimed");
	is_str(next(), NULL, "it is then no entry any more");
	run("mkdir ../tmp/d && mv ../tmp/d d");
	pass(0);
	is_str(next(), "d", "so is a directory");
	end();
}

static void test_written(void)
{
	begin(&usual);
	run("echo 1 >a.py");
	pass(SETTLE - 1);
	is_str(next(), NULL, "a written file is not complete before it has settled");
	run("echo 2 >>a.py");
	pass(SETTLE - 1);
	is_str(next(), NULL, "nor after it has changed once more");
	pass(1);
	is_str(next(), "a.py", "it is when it has settled");
	end();
}

int main(void)
{
	if (!mkdtemp(base) || chdir(base) < 0 || mkdir("new", 0700) < 0)
		return 1;
	test_rename();
	test_written();
	return finish();
}
