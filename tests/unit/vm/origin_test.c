/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a QEMU that was brought: where it is from and how old it is; and how
 * one that has a loader of its own is started. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/jail/jail_root.h"
#include "vm/qemu/origin.h"
#include "tests/unit/tap.h"

#define DAY (24 * 60 * 60)
#define UPLOAD 1788026140 /* 2026-08-29T17:55:40Z */
#define GOOD "package qemu-system-x86\nversion 1:10.0.13+ds-0+deb13u1\n" \
	"suite trixie\ndate 2026-08-29T17:55:40Z\n"

static char top[] = "/tmp/origin-test.XXXXXX";

/* "": it is right; else the sentence. */
static const char *parsed(const char *text, struct vm_qemu *q)
{
	static struct err err;
	auto_free char *copy = strdup(text);

	*q = (struct vm_qemu){ .package = "before" };
	err.text[0] = '\0';
	if (origin_parse(copy, q, &err) == 0)
		return "";
	is_str(q->package, "before", "of what is wrong nothing is taken");
	return err.text;
}

static void test_parse(void)
{
	static const struct {
		const char *text, *says;
	} odd[] = {
		{ "", "there is no line \"version\"" },
		{ "version 1\nsuite trixie\n", "there is no line \"date\"" },
		{ "version 1\ndate 2026-08-29T17:55:40Z\n",
		  "there is no line \"suite\"" },
		{ GOOD "date yesterday\n", "its date is \"yesterday\"" },
		{ GOOD "date 2026-08-29\n", "its date is \"2026-08-29\"" },
		{ GOOD "asked 1969-01-01T00:00:00Z\n",
		  "its asked is \"1969-01-01T00:00:00Z\"" },
		{ GOOD "version a b\n", "its version is \"a b\"" },
		{ GOOD "suite \033[2J\n", "its suite is \"\033[2J\"" },
		{ GOOD "date\n", "the line \"date\" has no value" },
	};
	struct vm_qemu q;

	is_str(parsed(GOOD "asked 2026-11-28T01:20:00Z\ndeb a 1 2\nnew x\n", &q),
	       "", "an origin is read, keys of tomorrow passed over");
	is_str(q.package, "1:10.0.13+ds-0+deb13u1", "it has the version");
	is_str(q.suite, "trixie", "and the suite");
	is_int(q.date, UPLOAD, "and the time of the upload");
	is_int(q.asked, 1795828800, "and when the archive was asked");
	is_str(parsed(GOOD, &q), "", "one that was never asked again is right");
	is_int(q.asked, 0, "and says so");
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		is_str(parsed(odd[i].text, &q), odd[i].says,
		       "an odd origin is refused: %zu", i);
}

static const char *age(const struct vm_qemu *q, int64_t now)
{
	static struct buf text;

	buf_done(&text);
	vm_qemu_age_text(q, now, &text);
	return text.data;
}

static void test_age(void)
{
	struct vm_qemu q;

	parsed(GOOD, &q);
	is_str(age(&q, UPLOAD + 90 * DAY), "package 1:10.0.13+ds-0+deb13u1 of "
	       "Debian's trixie, of 2026-08-29, 90 days old", "a person is told");
	ok(!vm_qemu_is_old(&q, UPLOAD + 120 * DAY), "120 days are not old");
	ok(vm_qemu_is_old(&q, UPLOAD + 121 * DAY), "121 days are");
	ok(!vm_qemu_is_old(&q, UPLOAD - DAY), "one of tomorrow is not old");
	is_str(age(&q, UPLOAD - DAY), "package 1:10.0.13+ds-0+deb13u1 of "
	       "Debian's trixie, of 2026-08-29, 0 days old",
	       "where a clock is behind it is 0 days old");
	q.asked = UPLOAD + 300 * DAY;
	ok(!vm_qemu_is_old(&q, UPLOAD + 330 * DAY),
	   "it is not old where its archive has no newer one");
	ok(vm_qemu_is_old(&q, UPLOAD + 331 * DAY),
	   "but it is when the archive was not asked for a month");
	is_str(age(&q, UPLOAD + 330 * DAY), "package 1:10.0.13+ds-0+deb13u1 of "
	       "Debian's trixie, of 2026-08-29, 330 days old; no newer one was "
	       "in its archive on 2027-06-25", "a person is told that as well");
	q = (struct vm_qemu){ .doubt = "why" };
	is_str(age(&q, UPLOAD), "of no package of Debian, of unknown age; why",
	       "what is unknown is said to be");
	ok(!vm_qemu_is_old(&q, UPLOAD), "and is not called old");
}

/* --- a tree ----------------------------------------------------------------------- */

static void put(const char *name, const char *text, mode_t mode)
{
	char path[200];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *p = path + sizeof(top); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0755);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static const char *verified(const char *files, int *ret)
{
	static struct err err;
	char text[2048];

	err.text[0] = '\0';
	snprintf(text, sizeof(text), GOOD "%s", files);
	put("origin", text, 0644);
	*ret = vm_qemu_verify(top, &err);
	return err.text;
}

/* sha256 of "a\n" */
#define SUM "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"

static void test_verify(void)
{
	int r;

	put("usr/a", "a\n", 0644);
	is_str(verified("file " SUM "  usr/a\n", &r), "",
	       "a tree that is as it was brought is right");
	is_int(r, 1, "its files are counted");
	ok(strstr(verified("file " SUM "  usr/b\n", &r), "usr/b: No such file"),
	   "a file that is missing is named");
	put("usr/b", "changed\n", 0644);
	ok(strstr(verified("file " SUM "  usr/a\nfile " SUM "  usr/b\n", &r),
		  "usr/b is not as it was brought"),
	   "a file that was changed is named");
	ok(strstr(verified("", &r), "names no file"),
	   "an origin without files is not taken for right");
	ok(strstr(verified("file x\n", &r), "\"x\" is no file"),
	   "an odd line is named");
	ok(strstr(verified("file " SUM "  ../../etc/passwd\n", &r), "is no file"),
	   "no file beside the tree is read");
}

static void test_origin_read(void)
{
	char path[200];
	char *text = NULL;
	struct err err;

	snprintf(path, sizeof(path), "%s/origin", top);
	unlink(path);
	is_int(origin_read(top, &text, &err), -ENOENT, "no origin is an error");
	mkfifo(path, 0600);
	is_int(origin_read(top, &text, &err), 0, "a pipe is not waited for");
	free(take_ptr(text));
	unlink(path);
	mkdir(path, 0700);
	is_int(origin_read(top, &text, &err), -EISDIR, "a directory is an error");
	rmdir(path);
	put("origin", "", 0644);
	if (truncate(path, ORIGIN_MAX + 1) == 0)
		is_int(origin_read(top, &text, &err), -EBADMSG,
		       "what is too large is an error");
	if (truncate(path, 10) == 0)
		is_int(origin_read(top, &text, &err), -EBADMSG,
		       "what is no text is an error");
}

/* --- how it is started -------------------------------------------------------------- */

static void test_program(void)
{
	struct qemu_program p;
	char path[200], link[200], loader[200];

	snprintf(path, sizeof(path), "%s/usr/bin/qemu", top);
	snprintf(link, sizeof(link), "%s/link", top);
	snprintf(loader, sizeof(loader), "%s/lib64/ld-linux-x86-64.so.2", top);
	put("usr/bin/qemu", "", 0755);
	qemu_program_find(path, &p);
	is_str(p.root, "", "without a loader beside it it is the host's");
	is_str(p.word[0], path, "and is started as it is");
	ok(!p.word[1], "by one word");
	put("lib64/ld-linux-x86-64.so.2", "", 0755);
	qemu_program_find(path, &p);
	is_str(p.root, top, "one that has a loader lies in a tree");
	is_str(p.word[0], loader, "and is started by that loader");
	is_str(p.word[3], path, "with its path as an argument");
	ok(!p.word[QEMU_WORDS], "and the words have an end");
	ok(symlink(path, link) == 0, "a link is made");
	qemu_program_find(link, &p);
	is_str(p.root, top, "by way of a link it lies there as well");
	is_str(p.path, path, "and has its own path");
	qemu_program_find("/usr/bin/env", &p);
	is_str(p.root, "", "the host's own is in no tree");
	qemu_program_find("nowhere", &p);
	is_str(p.word[0], "nowhere", "nor is what does not exist");
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	test_parse();
	test_age();
	test_verify();
	test_origin_read();
	test_program();
	if (chdir(top) == 0 && system("rm -r ./*") != 0)
		return 1;
	rmdir(top);
	return done_testing();
}
