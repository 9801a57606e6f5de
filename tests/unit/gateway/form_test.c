/* SPDX-License-Identifier: Apache-2.0 */
/* Forms as they come in pieces of any length; paths of a machine in the mount. */
#include "fsd/gateway/envd/envd.h"
#include "fsd/gateway/base/multipart.h"

#include <errno.h>

#include "tests/unit/tap.h"

static int on_begin(void *arg, const char *name, const char *filename)
{
	return buf_fmt(arg, "[%s|%s|", name, filename);
}

static int on_data(void *arg, const char *data, size_t len)
{
	return buf_add(arg, data, len);
}

static int on_end(void *arg)
{
	return buf_str(arg, "]");
}

static const struct multipart_ops ops = { on_begin, on_data, on_end };

#define TYPE "multipart/form-data; boundary=\"b-1\""

/* In pieces of each length. */
static void gives(const char *sentence, const char *body, const char *parts)
{
	size_t len = strlen(body);

	for (size_t piece = 1; piece <= len; piece += piece < 8 ? 1 : len) {
		auto_buf struct buf out = { 0 };
		struct multipart m;
		int r = multipart_begin(&m, TYPE, &ops, &out);

		for (size_t at = 0; r == 0 && at < len; at += piece)
			r = multipart_add(&m, body + at,
					  len - at < piece ? len - at : piece);
		if (parts)
			ok(r == 0 && multipart_over(&m) &&
				   !strcmp(out.data ? out.data : "", parts),
			   "%s, by %zu", sentence, piece);
		else
			ok(r < 0 || !multipart_over(&m), "%s, by %zu", sentence,
			   piece);
		multipart_done(&m);
	}
}

#define HEAD(rest) "Content-Disposition: form-data; " rest "\r\n\r\n"

static void test_forms(void)
{
	struct multipart m;

	gives("two parts",
	      "--b-1\r\n" HEAD("name=\"file\"; filename=\"a%22b\"") "x\r\ny\r\n--b"
	      "\r\n--b-1\r\nA: b\r\n" HEAD("name=c") "\r\n--b-1--\r\n",
	      "[file|a\"b|x\r\ny\r\n--b][c||]");
	gives("a preamble", "hello\r\n--b-1\r\n" HEAD("name=a") "1\r\n--b-1--",
	      "[a||1]");
	gives("no part", "--b-1--", "");
	gives("a part without a head", "--b-1\r\n\r\n1\r\n--b-1--", "[||1]");
	gives("no end", "--b-1\r\n" HEAD("name=a") "1\r\n", NULL);
	gives("a boundary with more behind it", "--b-1x\r\n\r\n1\r\n--b-1--", NULL);
	is_int(multipart_begin(&m, "multipart/form-data", &ops, NULL), -EINVAL,
	       "a form without a boundary");
}

static void is_path(const char *text, const char *path, const char *mount)
{
	struct envd_path p;

	is_int(envd_resolve("h", text, &p), 0, "the path \"%s\"", text);
	is_str(p.path, path, "in the machine");
	is_str(p.mount, mount, "in the mount");
}

static void test_paths(void)
{
	is_path("a", "/home/user/a", ".fsd/sandboxes/h/files/a");
	is_path("", "/home/user", ".fsd/sandboxes/h/files");
	is_path("~", "/home/user", ".fsd/sandboxes/h/files");
	is_path("~/a//./b/", "/home/user/a/b", ".fsd/sandboxes/h/files/a/b");
	is_path("~a", "/home/user/~a", ".fsd/sandboxes/h/files/~a");
	is_path("/tmp/x", "/tmp/x", ".fsd/sandboxes/h/root/tmp/x");
	is_path("/home/user2", "/home/user2", ".fsd/sandboxes/h/root/home/user2");
	is_path("../../../../etc", "/etc", ".fsd/sandboxes/h/root/etc");
	is_path("/..", "/", ".fsd/sandboxes/h/root");
	is_path("../user/a", "/home/user/a", ".fsd/sandboxes/h/files/a");
}

int main(void)
{
	test_forms();
	test_paths();
	return done_testing();
}
