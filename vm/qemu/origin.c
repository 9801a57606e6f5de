/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks the file `origin` of a QEMU tree, prints its age, and verifies the
 * tree's files against it.
 *
 * A command may run on a tree that another user made. So the file has a maximum size,
 * values may only have printable characters, and paths may not leave the tree. There is
 * no state; the functions block on the disk.
 */
#include "origin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/os/sha.h"

#define DAY_S (24 * 60 * 60)

/* Return: bytes, or negative errno. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < size) {
		n = read(fd, text + len, size - len);
		len += (size_t)MAX(n, 0);
	}
	return n < 0 ? -errno : (ssize_t)len;
}

int origin_read(const char *root, char **ret, struct err *err)
{
	auto_free char *text = calloc(1, ORIGIN_MAX + 2);
	char path[PATH_MAX + sizeof(ORIGIN_NAME) + 1];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" ORIGIN_NAME, root);
	/* O_NONBLOCK: if it is a FIFO, open(2) must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || !text)
		return err_sys(err, text ? -errno : -ENOMEM, "%s", path);
	n = read_all(fd, text, ORIGIN_MAX + 1);
	if (n < 0)
		return err_sys(err, (int)n, "%s", path);
	if ((size_t)n > ORIGIN_MAX || strlen(text) != (size_t)n)
		return err_set(err, -EBADMSG, "%s is no text of at most %u "
			       "bytes", path, ORIGIN_MAX);
	*ret = take_ptr(text);
	return 0;
}

/* --- parsing ------------------------------------------------------------ */

/* Parses "2026-08-29T17:55:40Z". Return: false: it is not a time. */
static bool parse_time(const char *text, int64_t *ret)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

	if (!end || *end)
		return false;
	*ret = timegm(&tm);
	return *ret > 0;
}

/*
 * Copies a word of printable characters, so that it can be shown to a person.
 */
static bool parse_word(const char *text, char *ret, size_t size)
{
	for (const char *p = text; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return *text && (size_t)snprintf(ret, size, "%s", text) < size;
}

static int take_line(char *line, struct vm_qemu *q, struct err *err)
{
	char *value = strchr(line, ' ');
	bool right = true;

	if (!value)
		return *line ? err_set(err, -EBADMSG, "the line \"%.40s\" has "
				       "no value", line) : 0;
	*value++ = '\0';
	if (!strcmp(line, "version"))
		right = parse_word(value, q->package, sizeof(q->package));
	else if (!strcmp(line, "suite"))
		right = parse_word(value, q->suite, sizeof(q->suite));
	else if (!strcmp(line, "date"))
		right = parse_time(value, &q->date);
	else if (!strcmp(line, "asked"))
		right = parse_time(value, &q->asked);
	return right ? 0 : err_set(err, -EBADMSG, "its %s is \"%.40s\"", line,
				   value);
}

int origin_parse(char *text, struct vm_qemu *ret, struct err *err)
{
	struct vm_qemu q = *ret;
	char *line;
	int r = 0;

	q.package[0] = q.suite[0] = '\0';
	q.date = q.asked = 0;
	while (r == 0 && (line = strsep(&text, "\n")))
		r = take_line(line, &q, err);
	if (r < 0)
		return r;
	if (!q.package[0] || !q.suite[0] || !q.date)
		return err_set(err, -EBADMSG, "there is no line \"%s\"",
			       !q.package[0] ? "version" :
			       !q.suite[0] ? "suite" : "date");
	*ret = q;
	return 0;
}

/* --- texts for people --------------------------------------------------- */

static int64_t days(int64_t then, int64_t now)
{
	return now > then ? (now - then) / DAY_S : 0;
}

static void day_text(int64_t at, struct buf *out)
{
	time_t t = (time_t)at;
	struct tm tm;
	char text[32] = "?";

	if (gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	buf_str(out, text);
}

void vm_qemu_age_text(const struct vm_qemu *q, int64_t now, struct buf *out)
{
	if (q->suite[0])
		buf_fmt(out, "package %s of Debian's %s", q->package, q->suite);
	else if (q->package[0])
		buf_fmt(out, "Debian's package %s", q->package);
	else
		buf_str(out, "of no package of Debian");
	if (q->date) {
		buf_str(out, ", of ");
		day_text(q->date, out);
		buf_fmt(out, ", %" PRId64 " days old", days(q->date, now));
	} else {
		buf_str(out, ", of unknown age");
	}
	if (q->asked) {
		buf_str(out, "; no newer one was in its archive on ");
		day_text(q->asked, out);
	}
	if (q->doubt[0])
		buf_fmt(out, "; %s", q->doubt);
}

bool vm_qemu_is_old(const struct vm_qemu *q, int64_t now)
{
	return q->date && days(q->date, now) > VM_QEMU_OLD_DAYS &&
	       days(q->asked, now) > VM_QEMU_ASKED_DAYS;
}

/* --- verifying the files ------------------------------------------------ */

/* Verifies one file. line: "SHA256  PATH". */
static int verify_file(const char *root, const char *line, struct err *err)
{
	char path[PATH_MAX], sum[SHA_HEX];
	auto_close int fd = -1;
	int r;

	if (strlen(line) < SHA_HEX + 2 || line[SHA_HEX - 1] != ' ' ||
	    strstr(line, "..") ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", root,
			     line + SHA_HEX + 1) >= sizeof(path))
		return err_set(err, -EBADMSG, "%s/" ORIGIN_NAME ": the file "
			       "\"%.100s\" is no file", root, line);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_sys(err, -errno, "%s", path);
	r = sha_file(fd, NULL, sum);
	if (r < 0)
		return err_sys(err, r, "%s", path);
	if (strncmp(sum, line, SHA_HEX - 1) != 0)
		return err_set(err, -EBADMSG, "%s is not as it was brought: "
			       "its SHA-256 is %s", path, sum);
	return 0;
}

int vm_qemu_verify(const char *root, struct err *err)
{
	auto_free char *text = NULL;
	char *at, *line;
	int r = origin_read(root, &text, err), count = 0;

	at = text;
	while (r == 0 && (line = strsep(&at, "\n"))) {
		if (strncmp(line, "file ", 5) != 0)
			continue;
		r = verify_file(root, line + 5, err);
		count++;
	}
	if (r == 0 && !count)
		r = err_set(err, -EBADMSG, "%s/" ORIGIN_NAME " names no file",
			    root);
	return r < 0 ? r : count;
}
