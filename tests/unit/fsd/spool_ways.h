/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which people and programs put an entry into a spool, for each kind of watcher.
 * However little the watcher tells, an entry is taken whole, once, and within its time.
 */
#ifndef TESTS_UNIT_SPOOL_WAYS_H
#define TESTS_UNIT_SPOOL_WAYS_H

#include "tests/unit/fsd/spool_fixture.h"

/* For each kind of watcher: after how many milliseconds an entry is complete. */
struct watcher {
	const char *name;
	struct entries_options options;
	int64_t renamed, written; /* at most */
};

/* Commands in `new`, from ../good, which has a file a.py and a directory d. */
struct way {
	const char *sentence, *commands, *name;
	bool is_renamed;
};

static const struct way ways[] = {
	{ "cp of a file", "cp ../good/a.py a.py", "a.py", false },
	{ "cp -p of a file", "cp -p ../good/a.py a.py", "a.py", false },
	{ "cp -r of a directory", "cp -r ../good/d d", "d", false },
	{ "cp -a of a directory", "cp -a ../good/d d", "d", false },
	{ "mv of a file", "cp ../good/a.py ../tmp && mv ../tmp/a.py a.py", "a.py", true },
	{ "mv of a directory", "cp -r ../good/d ../tmp/d && mv ../tmp/d d", "d", true },
	{ "mv of a directory from another filesystem",
	  "rm -rf /dev/shm/fsd-spool.$$ && cp -r ../good/d /dev/shm/fsd-spool.$$ && "
	  "mv /dev/shm/fsd-spool.$$ d", "d", false },
	{ "mv of a file from another filesystem",
	  "cp ../good/a.py /dev/shm/fsd-spool.$$ && mv /dev/shm/fsd-spool.$$ a.py", "a.py",
	  false },
	{ "rsync of a file", "rsync ../good/a.py a.py", "a.py", true },
	{ "rsync of a directory", "rsync -a ../good/d .", "d", false },
	{ "an upload with .filepart", "cp ../good/a.py a.py.filepart && "
	  "mv a.py.filepart a.py", "a.py", true },
	{ "tar x", "tar -C ../good -c d | tar x", "d", false },
	{ "unzip of a directory", "(cd ../good && zip -qr - d) >../tmp/d.zip && "
	  "unzip -q ../tmp/d.zip", "d", false },
	{ "ln", "ln ../good/a.py a.py", "a.py", false },
	{ "ed", "printf 'r ../good/a.py\\nw a.py\\nq\\n' | ed -s", "a.py", false },
	{ "vim", "vim.tiny -u NONE -es ../good/a.py -c 'w a.py' -c q", "a.py", false },
	{ "a redirection", "cat ../good/a.py >a.py", "a.py", false },
	{ "a redirection over an older file",
	  "echo old >a.py && cat ../good/a.py >a.py", "a.py", false },
	{ "install", "install -m 600 ../good/a.py a.py", "a.py", false },
	{ "touch, then a write", "touch a.py && cat ../good/a.py >>a.py", "a.py", false },
};

static void make_good(void)
{
	if (system("mkdir -p good/d/e/f new && echo 'print(1)' >good/a.py && "
		   "echo 'print(2)' >good/d/code.py && echo {} >good/d/config.json && "
		   "head -c 300000 /dev/zero >good/d/e/data && touch good/d/e/f/g") != 0)
		ok(false, "(the good entries are made)");
}

static bool is_whole(const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), "diff -r good/%s run/input", name);
	return system(command) == 0;
}

/* Waits for at most ms, in small steps. Return: milliseconds that it took, or -1. */
static int64_t wait_complete(int64_t ms)
{
	for (int64_t waited = 0; waited <= ms; waited += 50) {
		if (next())
			return waited;
		pass(50);
	}
	return -1;
}

static void test_way(const struct watcher *w, const struct way *way)
{
	int64_t most = way->is_renamed ? w->renamed : w->written;
	int64_t took;

	begin(&w->options);
	/* in the middle of a quiet time: scans are as rare as ever */
	pass(10 * 60 * SECOND + 700);
	run("%s", way->commands);
	pass(0);
	took = wait_complete(most);
	ok(took >= 0 && took <= most, "%s: %s is complete within %lld ms", w->name,
	   way->sentence, (long long)most);
	ok(claim(way->name) == 0 && is_whole(way->name), "%s: and is whole", w->name);
	pass(5 * 60 * SECOND);
	is_str(next(), NULL, "%s: and comes once", w->name);
	end();
}

static void test_order_of_scan(const struct watcher *w)
{
	static const char *const order[] = { "1", "10", "2", "a", "b" };

	begin(&w->options);
	entries_free(entries);
	run("for i in b 10 a 2 1; do cp ../good/a.py $i; done");
	entries = entries_new(new_dir, &w->options, now, &err);
	pass(w->written);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		is_int(claim(order[i]), 0, "%s: of one scan %s comes in its turn", w->name,
		       order[i]);
	end();
}

static void test_ways(const struct watcher *w)
{
	make_good();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		test_way(w, &ways[i]);
	test_order_of_scan(w);
}

#endif
