/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a disk gives back of a run, and what a guest sent: records of the order,
 * and the lines of `events` that are made of them and of any result. What must
 * hold: a record that is taken is written again as it was, time never goes
 * back, and each line is one line of UTF-8.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "layout/event_line.h"
#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_records(const uint8_t *data, size_t size)
{
	uint64_t before = 0;
	int n = 1;

	for (size_t at = 0; at < size && n > 0; at += (size_t)n) {
		struct order_record record;
		uint8_t again[ORDER_RECORD_MAX];

		n = order_get(data + at, size - at, before, &record);
		check(n == 0 || n == -EPROTO ||
		      (n > 0 && (size_t)n <= size - at));
		if (n <= 0)
			return;
		check(record.kind < ORDER_MAX && record.time_ms >= before);
		check(order_put(&record, before, again) <= (size_t)n);
		before = record.time_ms;
	}
}

/* count lines, each of them an object with a time and the event's name. */
static void check_lines(const struct buf *out, unsigned count)
{
	const char *p = out->data, *end;

	check(!out->failed && utf8_valid(out->data, out->len));
	for (; count; count--, p = end + 1) {
		json_t *line;

		end = strchr(p, '\n');
		check(end != NULL);
		line = json_loadb(p, (size_t)(end - p), JSON_ALLOW_NUL, NULL);
		check(json_string_value(json_object_get(line, "time")) &&
		      json_string_value(json_object_get(line, "event")));
		json_decref(line);
	}
	check(!*p);
}

static void check_data(const char *data, size_t size)
{
	size_t whole = event_whole(data, size);
	auto_buf struct buf out = { .cap = 0 };

	check(whole <= size && size - whole <= EVENT_HELD_MAX);
	event_data(&out, 1, ORDER_STDOUT, data, size);
	check_lines(&out, 1);
}

/* A sentence has no NUL; bytes are otherwise whatever a guest chose. */
static void check_error(const char *data, size_t size)
{
	char *text = strndup(data, size);
	auto_buf struct buf out = { .cap = 0 };

	check(text != NULL);
	event_error(&out, 1, text);
	check_lines(&out, 1);
	free(text);
}

/* As it was rendered from any value, and whatever of that a crash has left. */
static void check_end(const char *data, size_t size, unsigned cut)
{
	struct job_result r = {
		.job = "j", .id = "id", .status = STATUS_FAILED,
		.message = "\"status\": \"exited\"", .guest_json = data,
		.guest_len = size, .ended_ns = 1767323045678000000,
	};
	auto_buf struct buf result = { .cap = 0 }, out = { .cap = 0 };
	struct event_end end = { .time_ms = 5, .after_ms = 3, .error = "e" };
	unsigned most;

	check(result_render(&r, &result) == 0);
	end.bytes = result.len;
	end.result = result.data;
	end.len = MIN(result.len, (size_t)EVENT_RESULT_MAX);
	most = end.len == end.bytes ? 4 : 0;
	if (cut & 1) {
		end.len = MIN(end.len, (size_t)cut);
		most = 0;
	}
	check(event_end(&out, &end) == 0 && utf8_valid(out.data, out.len));
	if (most && size < 1000 && !memchr(data, 'e', size) &&
	    !memchr(data, 'E', size)) /* numbers that the library holds */
		check_lines(&out, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned cut = size > 1 ? data[0] * 8u + (data[1] & 1u) : 0;

	check_records(data, size);
	check_data((const char *)data, MIN(size, (size_t)EVENT_DATA_MAX));
	check_error((const char *)data, size);
	if (size > 2)
		check_end((const char *)data + 2, size - 2, cut);
	return 0;
}
