/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a program's answer, and a request for it, as strangers write them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fsd/gateway/base/proxy_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* What was written is a head again, of one answer, which ends its connection. */
static void check_answer(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct proxy_answer a, again;
	struct buf out = { 0 };
	long n;

	memcpy(copy, data, size);
	n = proxy_answer_parse(copy, size, &a);
	check(n <= (long)size);
	if (n > 0) {
		check(a.status >= 100 && a.status <= 599);
		proxy_answer_put(&a, &out);
		n = proxy_answer_parse(out.data, out.len, &again);
		check(n == (long)out.len || n == -1 /* it has grown over a limit */);
		if (n > 0)
			check(again.status == a.status &&
			      again.head.chunked == a.head.chunked &&
			      again.head.length == a.head.length);
	}
	buf_done(&out);
	free(copy);
}

/* A request that the gateway takes is one request for the program, with the same body. */
static void check_request(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct head h, again;
	struct buf out = { 0 };
	long n;

	memcpy(copy, data, size);
	n = head_parse(copy, size, &h);
	if (n > 0) {
		struct proxy_request q = { .method = h.method, .target = h.target,
					   .old = h.old, .address = "127.0.0.1" };

		q.upgrades = !h.old && proxy_upgrades(h.field, h.fields);
		proxy_request_put(&q, h.field, h.fields, &out);
		n = head_parse(out.data, out.len, &again);
		check(n == (long)out.len || n == -1);
		if (n > 0) {
			check(again.chunked == h.chunked && again.length == h.length);
			check(!again.keep || q.upgrades);
			for (unsigned i = 0; i < again.fields; i++)
				check(strcasecmp(again.field[i].name, "X-API-Key") != 0);
		}
	}
	buf_done(&out);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_answer(data, size);
	check_request(data, size);
	return 0;
}
