/* SPDX-License-Identifier: Apache-2.0 */
/* A request's head and chunks as strangers write them: framing, target, Host, Origin, keys, base64, times. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/code/code.h"
#include "fsd/gateway/base/head.h"
#include "fsd/gateway/base/origin.h"
#include "fsd/gateway/routes.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_target(const char *text)
{
	const char *part[TARGET_PARTS];
	struct target t;
	bool other;

	if (target_parse(text, &t) == 0) {
		check(t.parts <= TARGET_PARTS && t.queries <= TARGET_QUERIES);
		for (unsigned i = 0; i < t.parts; i++)
			check(strcmp(t.part[i], "..") && *t.part[i]);
		(void)route_find(routes, "GET", &t, SERVICE_ALL, part, &other);
	}
	target_done(&t);
}

static void check_host(const char *text)
{
	struct hosts h = { .domain = "sbx.example" };
	char id[64], name[256];
	unsigned port;

	(void)origin_is_ours(&h, text, text);
	if (host_is_ours(&h, text))
		check(host_name(text, name, sizeof(name)));
	if (host_label(&h, text, &port, id, sizeof(id)))
		check(port <= 65535 && *id);
}

/* A part of it is waited for, or refused as the whole is. It may not be a request. */
static void check_part(const uint8_t *data, size_t size, long whole)
{
	size_t len = whole > 0 ? (size_t)whole - 1 : size / 2;
	char *copy = malloc(len + 1);
	struct head h;
	long n;

	memcpy(copy, data, len);
	n = head_parse(copy, len, &h);
	check(whole > 0 ? n == 0 : n <= 0 || whole == n);
	free(copy);
}

static void check_head(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct head h;
	long n;

	memcpy(copy, data, size);
	n = head_parse(copy, size, &h);
	check(n < 0 ? h.status >= 400 && h.why : (size_t)n <= size);
	check(n <= 0 || (*h.method && *h.target && h.fields <= HEAD_HEADERS));
	free(copy);
	check_part(data, size, n);
}

/* The body, of what comes in pieces of so many bytes. Return: the bytes that were taken; -1: they
 * are no chunks. */
static long take_chunks(const char *data, size_t size, size_t piece, struct buf *ret)
{
	struct chunks c = { 0 };
	size_t at = 0, came = 0, len;
	const char *body;
	long n = 0;

	while (n >= 0 && came < size) {
		came = MIN(came + piece, size);
		while ((n = chunks_take(&c, data + at, came - at, &body, &len)) > 0) {
			check((size_t)n <= came - at && len <= (size_t)n);
			buf_add(ret, body, len);
			at += (size_t)n;
		}
	}
	return n < 0 ? n : (long)at;
}

static void check_chunks(const char *data, size_t size)
{
	auto_buf struct buf whole = { 0 }, parts = { 0 };
	long n = take_chunks(data, size, size, &whole);

	check(take_chunks(data, size, 1, &parts) == n);
	check(whole.len == parts.len &&
	      (!whole.len || !memcmp(whole.data, parts.data, whole.len)));
}

static void check_base64(const char *text, size_t len)
{
	auto_buf struct buf bytes = { 0 }, again = { 0 }, back = { 0 };

	if (text_unbase64(&bytes, text, len) < 0)
		return;
	check(text_base64(&again, bytes.data, bytes.len, false) == 0);
	check(text_unbase64(&back, again.data ? again.data : "", again.len) == 0);
	check(back.len == bytes.len &&
	      (!back.len || !memcmp(back.data, bytes.data, back.len)));
}

static void check_string(const char *text, size_t len)
{
	auto_json json_t *json = text_string(text, len);
	auto_buf struct buf out = { 0 };

	check(json && text_json(&out, json) == 0);
	for (size_t i = 0; i < out.len; i++)
		check((unsigned char)out.data[i] >= 0x20 &&
		      (unsigned char)out.data[i] < 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct keys keys = { 0 };
	struct err err;

	memcpy(text, data, size);
	text[size] = '\0';
	check_head(data, size);
	check_chunks(text, size);
	check_target(text);
	check_host(text);
	check_base64(text, size);
	check_string(text, size);
	(void)text_untime(text);
	(void)keys_parse(&keys, text, size, &err);
	keys_done(&keys);
	free(text);
	return 0;
}
