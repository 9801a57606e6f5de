/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the tree, names, ctl's verbs, and the manual page of it all. */
#include "layout/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "layout/base/err.h"
#include "layout/base/utf8.h"
#include "tests/unit/tap.h"

#define PAGE "layout/jobtree.5"

static void test_rows(const struct vfile *rows, unsigned count,
		      const char *table)
{
	for (unsigned i = 0; i < count; i++) {
		const struct vfile *r = &rows[i];

		ok(r->name && r->help && *r->help, "%s row %u is whole", table,
		   i);
		ok(S_ISDIR(r->mode) == (r->kind == VFILE_DIR),
		   "%s %s: mode and kind agree", table, r->name);
		if (r->kind == VFILE_DIR)
			continue; /* .fsd/ports is empty */
		ok(r->listed == (r->kind != VFILE_FOLLOW && r->kind != VFILE_WAIT &&
				 r->kind != VFILE_FEED),
		   "%s %s: what can block is not listed", table, r->name);
		ok(!r->result || r->states, "%s %s: results do not always exist",
		   table, r->name);
	}
}

static void test_lookup(void)
{
	for (unsigned i = 1; i < JOB_VFILE_MAX; i++)
		is_int(job_vfile_by_name(job_vfiles[i].name), i, "%s is found",
		       job_vfiles[i].name);
	for (unsigned i = 1; i < FSD_VFILE_MAX; i++)
		is_int(fsd_vfile_by_name(fsd_vfiles[i].name), i, ".fsd/%s is found",
		       fsd_vfiles[i].name);
	is_int(job_vfile_by_name("stdin"), 0, "stdin is a file of the user's");
	is_int(job_vfile_by_name("."), 0, "the directory is no row by name");
	is_int(job_vfile_by_name(""), 0, "no name is no row");
	ok(!job_vfile_exists(JOB_VFILE_STDOUT, JOB_DRAFT), "no stdout in a draft");
	ok(!job_vfile_exists(JOB_VFILE_STDOUT, JOB_QUEUED), "nor when queued");
	ok(job_vfile_exists(JOB_VFILE_STDOUT, JOB_RUNNING), "stdout when running");
	ok(!job_vfile_exists(JOB_VFILE_EXIT_CODE, JOB_RUNNING),
	   "no exit_code when running");
	ok(job_vfile_exists(JOB_VFILE_EXIT_CODE, JOB_DONE), "exit_code when done");
	ok(!job_vfile_exists(JOB_VFILE_EXIT_CODE, JOB_REFUSED),
	   "no exit_code when refused");
	ok(job_vfile_exists(JOB_VFILE_WAIT, JOB_DRAFT), "wait at any time");
	ok(!job_vfile_exists(JOB_VFILE_MAX, JOB_DONE), "no row, no file");
	ok(!job_vfile_exists(JOB_VFILE_STATE, JOB_STATE_MAX), "no state, no file");
}

static void test_names(void)
{
	static const struct {
		const char *name;
		int want;
	} names[] = {
		{ "hello", 0 },
		{ ".draft", 0 },
		{ "...", 0 },
		{ "..a", 0 },
		{ "a b;rm -rf $HOME`x`", 0 },
		{ "..%2f..%2fetc", 0 },
		{ "a\\b", 0 },
		{ "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\x89", 0 },
		{ "", -EINVAL },
		{ ".", -EINVAL },
		{ "..", -EINVAL },
		{ "a/b", -EINVAL },
		{ "/", -EINVAL },
		{ ".fsd", -EPERM },
		{ "a\nb", -EILSEQ },
		{ "a\x7f", -EILSEQ },
		{ "\x1b[31m", -EILSEQ },
		{ "a\xc2\x9b", -EILSEQ },
		{ "\xff", -EILSEQ },
		{ "\xc0\xaf", -EILSEQ },
		{ "\xed\xa0\x80", -EILSEQ },
		{ "a\xe6\x97", -EILSEQ },
	};
	char name[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_int(job_name_check(names[i].name), names[i].want,
		       "job name %zu is judged", i);
	is_int(file_name_check(".fsd"), 0, "an input may be called .fsd");
	memset(name, 'x', sizeof(name));
	name[200] = '\0';
	is_int(job_name_check(name), 0, "200 bytes make a name");
	name[200] = 'x';
	name[201] = '\0';
	is_int(job_name_check(name), -ENAMETOOLONG, "201 bytes are too many");
	is_int(file_name_check(name), 0, "but not for an input");
	name[201] = 'x';
	name[256] = '\0';
	is_int(file_name_check(name), -ENAMETOOLONG, "256 bytes are");
	ok(job_name_is_draft(".x") && !job_name_is_draft("x"),
	   "a leading dot prepares");
	ok(file_is_swap(".code.py.swp") && file_is_swap(".x.swo"),
	   "vim's swap files are known by their name");
	ok(!file_is_swap("code.py.swp") && !file_is_swap(".swp") &&
		   !file_is_swap(".x.swf.c") && !file_is_swap(".x.swz"),
	   "and other names are not theirs");
}

static void test_paths(void)
{
	static const struct {
		const char *path;
		int want;
		const char *says;
	} paths[] = {
		{ "x", 0, "" },
		{ "a/b/c.txt", 0, "" },
		{ ".hidden/..x/...", 0, "" },
		{ "stdin", 0, "" },
		{ "sub/config.json", 0, "" },
		{ "sub/ctl", 0, "" },
		{ "", -EINVAL, "relative" },
		{ "/x", -EINVAL, "relative" },
		{ "../x", -EINVAL, "relative" },
		{ "x/../../y", -EINVAL, "relative" },
		{ "x/..", -EINVAL, "relative" },
		{ "./x", -EINVAL, "relative" },
		{ "x//y", -EINVAL, "relative" },
		{ "x/", -EINVAL, "relative" },
		{ "config.json", -EINVAL, "choose another name" },
		{ "config.json/x", -EINVAL, "choose another name" },
		{ "output/x", -EINVAL, "choose another name" },
		{ "code.py", -EINVAL, "choose another name" },
		{ "code", -EINVAL, "choose another name" },
		{ "code.csv", -EINVAL, "choose another name" },
		{ "my-code.py", 0, "" },
	};
	char path[400];
	struct err err;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		err = (struct err){ 0 };
		is_int(job_path_check(paths[i].path, &err), paths[i].want,
		       "the path \"%s\" is judged", paths[i].path);
		ok(strstr(err.text, paths[i].says), "and told: %s", err.text);
	}
	for (unsigned i = 1; i < JOB_VFILE_MAX; i++)
		is_int(job_path_check(job_vfiles[i].name, &err), -EINVAL,
		       "a file of the program cannot be called %s",
		       job_vfiles[i].name);
	memset(path, 'x', sizeof(path));
	path[256] = '\0';
	is_int(job_path_check(path, &err), -ENAMETOOLONG, "256 bytes are no part");
	for (size_t i = 0; i < 130; i += 2)
		memcpy(path + i, "d/", 2);
	memcpy(path + 130, "x", 2);
	is_int(job_path_check(path, &err), -ENAMETOOLONG, "66 parts are too many");
}

static void test_utf8(void)
{
	static const struct {
		const char *text;
		size_t len, span;
		int step; /* of the first character */
	} texts[] = {
		{ "a", 1, 1, 1 },
		{ "\xc2\x80", 2, 2, 2 },
		{ "\xdf\xbf", 2, 2, 2 },
		{ "\xe0\xa0\x80", 3, 3, 3 },
		{ "\xef\xbf\xbf", 3, 3, 3 },
		{ "\xf0\x90\x80\x80", 4, 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 4 },
		{ "\x80", 1, 0, UTF8_WRONG },
		{ "\xc1\xbf", 2, 0, UTF8_WRONG },
		{ "\xe0\x9f\xbf", 3, 0, UTF8_WRONG },
		{ "\xed\xa0\x80", 3, 0, UTF8_WRONG },
		{ "\xf0\x8f\xbf\xbf", 4, 0, UTF8_WRONG },
		{ "\xf4\x90\x80\x80", 4, 0, UTF8_WRONG },
		{ "\xf5\x80\x80\x80", 4, 0, UTF8_WRONG },
		{ "\xe6\x97", 2, 0, UTF8_SHORT },
		{ "\xe6\x97x", 3, 0, UTF8_WRONG },
		{ "ab\xff", 3, 2, 1 },
		{ "a\0b", 3, 3, 1 },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		is_int(utf8_step(texts[i].text, texts[i].len), texts[i].step,
		       "the first character of text %zu is measured", i);
		is_int((long long)utf8_span(texts[i].text, texts[i].len),
		       (long long)texts[i].span,
		       "the valid start of text %zu is measured", i);
		ok(utf8_valid(texts[i].text, texts[i].len) ==
		   (texts[i].span == texts[i].len), "text %zu is judged", i);
	}
	ok(utf8_valid("", 0), "nothing is valid");
}

static void ctl_good(const char *text, bool appliance, enum ctl_verb verb,
		     unsigned sig)
{
	struct ctl_command c = { CTL_START, 0 };
	struct err e;
	int r = ctl_parse(text, strlen(text), appliance, &c, &e);

	ok(r == 0 && c.verb == verb && c.number == sig,
	   "ctl takes a verb (%zu bytes)", strlen(text));
}

static void ctl_bad(const char *text, size_t len, bool appliance,
		    const char *want)
{
	struct ctl_command c;
	struct err e = { .code = 0 };

	is_int(ctl_parse(text, len, appliance, &c, &e), -EINVAL,
	       "ctl refuses %zu bytes", len);
	is_str(e.text, want, "and says why");
}

static void test_ctl(void)
{
	char big[300];

	ctl_good("start", false, CTL_START, 0);
	ctl_good("start\n", false, CTL_START, 0);
	ctl_good("  kill \r\n", false, CTL_KILL, 0);
	ctl_good("interrupt\n", false, CTL_INTERRUPT, 0);
	ctl_good("signal TERM\n", false, CTL_SIGNAL, 15);
	ctl_good("signal \t 9", false, CTL_SIGNAL, 9);
	ctl_good("signal SIGRTMIN+2", false, CTL_SIGNAL, 36);
	ctl_good("port 8080\n", false, CTL_PORT, 8080);
	ctl_good("port 1024", false, CTL_PORT, 1024);
	ctl_good("port 65535", false, CTL_PORT, 65535);
	ctl_good("drain\n", true, CTL_DRAIN, 0);
	ctl_good("resume", true, CTL_RESUME, 0);
	ctl_bad("stop\n", 5, false,
		"ctl: \"stop\" is not a verb; it must be start, interrupt, "
		"kill, signal NAME, eof or port N");
	ctl_bad("drain", 5, false,
		"ctl: \"drain\" is not a verb; it must be start, interrupt, "
		"kill, signal NAME, eof or port N");
	ctl_bad("kill", 4, true,
		"ctl: \"kill\" is not a verb; it must be drain, resume or "
		"reload-network");
	ctl_bad("", 0, false,
		"ctl: \"\" is not a verb; it must be start, interrupt, "
		"kill, signal NAME, eof or port N");
	ctl_bad("kill -9", 7, false,
		"ctl: \"kill\" is followed by \"-9\"; it must stand alone");
	ctl_bad("signal", 6, false,
		"ctl: \"\" is not a signal; it must be a name such as TERM or "
		"SIGUSR1, or a number from 1 to 64");
	ctl_bad("port 80", 7, false,
		"ctl: \"80\" is not a port of a program; it must be a number from "
		"1024 to 65535");
	ctl_bad("port", 4, false,
		"ctl: \"\" is not a port of a program; it must be a number from "
		"1024 to 65535");
	ctl_bad("start\nkill\n", 11, false,
		"ctl: byte 5 is not text; one write is one verb on one line");
	ctl_bad("start\0", 6, false,
		"ctl: byte 5 is not text; one write is one verb on one line");
	ctl_bad("\xff", 1, false,
		"ctl: byte 0 is not text; one write is one verb on one line");
	memset(big, 'x', sizeof(big));
	ctl_bad(big, sizeof(big), false,
		"ctl: 300 bytes were written; a verb takes less than 256");
}

/*
 * The page has one paragraph a file, which begins like this, so that a row
 * cannot change without its paragraph:
 *   .\" row job stdout stream 0666 running,done listed result
 */
static void page_line(char room[256], const char *table,
		      const struct vfile *r)
{
	static const char *const kinds[] = {
		[VFILE_TEXT] = "text",     [VFILE_STREAM] = "stream",
		[VFILE_FOLLOW] = "follow", [VFILE_WAIT] = "wait",
		[VFILE_FILE] = "file",     [VFILE_CTL] = "ctl",
		[VFILE_FEED] = "feed",
		[VFILE_DIR] = "dir",
	};
	char states[64] = "";

	for (int s = 0; s < JOB_STATE_MAX; s++)
		if (r->states & (1u << s))
			snprintf(states + strlen(states), 16, "%s%s",
				 *states ? "," : "",
				 state_name((enum job_state)s));
	snprintf(room, 256, ".\\\" row %s %s %s %04o %s %s%s\n", table,
		 r->name, kinds[r->kind], r->mode & 07777u,
		 *states ? states : "always", r->listed ? "listed" : "unlisted",
		 r->result ? " result" : "");
}

static unsigned page_rows(const char *page, const char *table,
			  const struct vfile *rows, unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		char line[256], item[256];
		const char *at;

		page_line(line, table, &rows[i]);
		at = strstr(page, line);
		if (!ok(at, "jobtree.5 has %s/%s as it is", table,
			rows[i].name))
			printf("#  want %s", line);
		snprintf(item, sizeof(item), ".TP\n.B %s\n", rows[i].name);
		ok(at && !strncmp(at + strlen(line), item, strlen(item)),
		   "jobtree.5 describes %s/%s below it", table, rows[i].name);
	}
	return count - 1;
}

static void test_page(void)
{
	FILE *f = fopen(PAGE, "r");
	static char page[256 << 10];
	unsigned rows = 0, found = 0;

	if (!ok(f, PAGE " can be read (from the project's directory)"))
		return;
	page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
	fclose(f);
	rows += page_rows(page, "job", job_vfiles, JOB_VFILE_MAX);
	rows += page_rows(page, "fsd", fsd_vfiles, FSD_VFILE_MAX);
	for (const char *at = page; (at = strstr(at, ".\\\" row ")); at++)
		found++;
	is_int(found, rows, "jobtree.5 describes nothing that is not there");
}

int main(void)
{
	test_rows(job_vfiles, JOB_VFILE_MAX, "job");
	test_rows(fsd_vfiles, FSD_VFILE_MAX, "fsd");
	test_lookup();
	test_names();
	test_paths();
	test_utf8();
	test_ctl();
	test_page();
	return done_testing();
}
