/* SPDX-License-Identifier: Apache-2.0 */
/* A form gives the same parts however it is cut; paths never lead out of a sandbox. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/envd/envd.h"
#include "fsd/gateway/base/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static int parse(const char *data, size_t len, size_t piece, struct buf *out)
{
	struct multipart m;
	int r = multipart_begin(&m, "multipart/form-data; boundary=b", &ops, out);

	for (size_t at = 0; r == 0 && at < len; at += piece)
		r = multipart_add(&m, data + at, len - at < piece ? len - at : piece);
	if (r == 0)
		r = multipart_over(&m);
	multipart_done(&m);
	return r;
}

static void check_path(const char *text)
{
	struct envd_path p;

	if (envd_resolve("h", text, &p) < 0)
		return;
	if (*p.path != '/' || strstr(p.mount, "/../") ||
	    strncmp(p.mount, ".fsd/sandboxes/h/", 17) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf whole = { 0 }, cut = { 0 };
	char *text = malloc(size + 1);
	int r;

	memcpy(text, data, size);
	text[size] = '\0';
	check_path(text);
	r = parse(text, size, size + 1, &whole);
	if (r > 0 && parse(text, size, 1, &cut) > 0 &&
	    (whole.len != cut.len ||
	     (whole.len && memcmp(whole.data, cut.data, whole.len) != 0)))
		abort();
	free(text);
	return 0;
}
