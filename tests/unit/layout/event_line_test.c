/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `events`, and the records of the order that they come in. */
#include "layout/event_line.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "layout/state.h"
#include "tests/unit/tap.h"

#define T0 1767323045678u /* 2026-01-02T03:04:05.678Z */
#define BEGIN "{\"time\": \"2026-01-02T03:04:05.678Z\", \"event\": "

static void test_records(void)
{
	static const struct order_record records[] = {
		{ ORDER_STATE, JOB_QUEUED, T0 },
		{ ORDER_STATE, JOB_RUNNING, T0 },
		{ ORDER_STDOUT, 1, T0 + 1 },
		{ ORDER_STDERR, EVENT_DATA_MAX, T0 + 127 },
		{ ORDER_SHOWN, 7, T0 + 127 },
		{ ORDER_STDOUT, UINT32_MAX, T0 + 1000000000 },
	};
	uint8_t room[ARRAY_SIZE(records) * ORDER_RECORD_MAX];
	struct order_record got;
	uint64_t before = 0;
	size_t len = 0, at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		len += order_put(&records[i], before, room + len);
		before = records[i].time_ms;
	}
	ok(len < 32, "records are small (%zu bytes)", len);
	before = 0;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		int n = order_get(room + at, len - at, before, &got);

		ok(n > 0 && got.kind == records[i].kind &&
		   got.count == records[i].count &&
		   got.time_ms == records[i].time_ms,
		   "record %zu comes back", i);
		for (int cut = 0; cut < n; cut++)
			is_int(order_get(room + at, (size_t)cut, before, &got),
			       0, "%d of its bytes are none", cut);
		at += (size_t)MAX(n, 0);
		before = got.time_ms;
	}
	is_int((long long)at, (long long)len, "and nothing is left");
	is_int(order_get((const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff"
			 "\x01", 10, 0, &got), -EPROTO,
	       "a number without an end is refused");
	is_int(order_get((const uint8_t *)"\xff\xff\xff\xff\xff\x7f\x01", 7, 0,
			 &got), -EPROTO, "a count that is too large is refused");
	is_int(order_get((const uint8_t *)"\x04\xff\xff\xff\xff\xff\xff\xff\x7f",
			 9, T0, &got), -EPROTO,
	       "a time beyond all times is refused");
}

static void test_whole(void)
{
	static const struct {
		const char *data;
		size_t len, whole;
	} texts[] = {
		{ "", 0, 0 },
		{ "ab", 2, 2 },
		{ "a\xc3", 2, 1 },
		{ "a\xc3\xbc", 3, 3 },
		{ "a\xe2\x82", 3, 1 },
		{ "a\xf0\x9f\x99", 4, 1 },
		{ "\xf0\x9f\x99\x82", 4, 4 },
		{ "a\x80", 2, 2 },
		{ "a\xff", 2, 2 },
		{ "a\xe2\x28", 3, 3 },
		{ "\xc3", 1, 0 },
		{ "\xbc\xc3", 2, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		is_int((long long)event_whole(texts[i].data, texts[i].len),
		       (long long)texts[i].whole,
		       "text %zu is cut before half a character", i);
}

static void data_is(const char *data, size_t len, enum order_kind stream,
		    const char *want)
{
	auto_buf struct buf out = { 0 };

	event_data(&out, T0, stream, data, len);
	is_str(out.data, want, "%zu bytes are told", len);
}

static void test_data(void)
{
	auto_buf struct buf out = { 0 };
	char *big = calloc(1, EVENT_DATA_MAX + EVENT_HELD_MAX);

	data_is("hi \"\\\n\x01\x7f", 8, ORDER_STDOUT,
		BEGIN "\"stdout\", \"data\": \"hi \\\"\\\\\\n\\u0001\\u007f\"}\n");
	data_is("\xe6\x97\xa5", 3, ORDER_STDERR,
		BEGIN "\"stderr\", \"data\": \"\xe6\x97\xa5\"}\n");
	data_is("a\0b", 3, ORDER_STDOUT,
		BEGIN "\"stdout\", \"data\": \"a\\u0000b\"}\n");
	data_is("\xff", 1, ORDER_STDOUT,
		BEGIN "\"stdout\", \"base64\": \"/w==\"}\n");
	data_is("\xffo", 2, ORDER_STDOUT,
		BEGIN "\"stdout\", \"base64\": \"/28=\"}\n");
	data_is("fo\xff", 3, ORDER_STDOUT,
		BEGIN "\"stdout\", \"base64\": \"Zm//\"}\n");
	data_is("\xff\xfe\xfd\xfc", 4, ORDER_STDOUT,
		BEGIN "\"stdout\", \"base64\": \"//79/A==\"}\n");
	is_int(event_data(&out, T0, ORDER_STDOUT, big,
			  EVENT_DATA_MAX + EVENT_HELD_MAX), 0,
	       "the longest line fits, with each byte escaped");
	free(big);
}

static void test_lines(void)
{
	auto_buf struct buf out = { 0 };

	event_state(&out, T0, "queued", 1, 0);
	is_str(out.data, BEGIN "\"state\", \"state\": \"queued\"}\n",
	       "a state is told");
	buf_clear(&out);
	event_state(&out, T0, "queued", 2, 0);
	is_str(out.data,
	       BEGIN "\"state\", \"state\": \"queued\", \"attempt\": 2}\n",
	       "and which attempt it begins, if that is not the first");
	buf_clear(&out);
	event_state(&out, T0, "running", 0, 77);
	is_str(out.data,
	       BEGIN "\"state\", \"state\": \"running\", \"pid\": 77}\n",
	       "and the program's pid, if it is known");
	is_int((long long)ORDER_PID_OF(ORDER_STATE_PID(3, 4194304)), 4194304,
	       "which a record holds beside the state");
	buf_clear(&out);
	event_error(&out, T0, "code: \"x\" is wrong\n");
	is_str(out.data,
	       BEGIN "\"error\", \"message\": \"code: \\\"x\\\" is wrong\"}\n",
	       "a sentence is told without its newline");
}

static void end_is(const struct event_end *end, const char *want,
		   const char *what)
{
	auto_buf struct buf out = { 0 };

	event_end(&out, end);
	is_str(out.data, want, "%s", what);
}

#define DONE BEGIN "\"state\", \"state\": \"done\"}\n"

static void test_end(void)
{
	static const char good[] =
		"{\n  \"schema\": 1,\n  \"job\": \"\\n  \\\"status\\\": 1\",\n"
		"  \"status\": \"exited\",\n  \"message\": null,\n"
		"  \"value\": {\n  \"status\": \"failed\",\n  \"ended\": \" b \"},\n"
		"  \"ended\": \"2026-01-02T03:04:05.678Z\"\n}\n";
	static const char bad[] =
		"{\n  \"status\": \"failed\",\n  \"message\": \"no \\\"x\\\"\""
		",\n  \"ended\": null\n}\n";
	struct event_end end = { .time_ms = 5, .result = good,
				 .len = sizeof(good) - 1,
				 .bytes = sizeof(good) - 1, .exit_code = 3 };
	char want[1024];

	snprintf(want, sizeof(want), "%s%zu%s", BEGIN "\"result\", \"bytes\": ",
		 sizeof(good) - 1,
		 ", \"result\": {\"schema\":1,\"job\":\"\\n  \\\"status\\\": 1"
		 "\",\"status\":\"exited\",\"message\":null,\"value\":{"
		 "\"status\":\"failed\",\"ended\":\" b \"},\"ended\":"
		 "\"2026-01-02T03:04:05.678Z\"}}\n" DONE BEGIN
		 "\"end\", \"exit_code\": 3, \"status\": \"exited\"}\n");
	end_is(&end, want, "an end has the result on one line and its time");
	end.bytes = EVENT_RESULT_MAX + 1;
	end.time_ms = T0;
	end_is(&end, BEGIN "\"result\", \"bytes\": 65537, \"result\": null}\n"
	       DONE BEGIN
	       "\"end\", \"exit_code\": 3, \"status\": \"exited\"}\n",
	       "a result that is too long is counted");
	end = (struct event_end){ .time_ms = 5, .after_ms = T0, .result = bad,
				  .len = sizeof(bad) - 1, .bytes = 1u << 20,
				  .exit_code = 125 };
	end_is(&end, BEGIN "\"error\", \"message\": \"no \\\"x\\\"\"}\n" BEGIN
	       "\"result\", \"bytes\": 1048576, \"result\": null}\n" DONE BEGIN
	       "\"end\", \"exit_code\": 125, \"status\": \"failed\"}\n",
	       "a failure says why, and no time goes back");
	end = (struct event_end){ .time_ms = T0, .exit_code = 125,
				  .error = "no room\n" };
	end_is(&end, BEGIN "\"error\", \"message\": \"no room\"}\n" DONE BEGIN
	       "\"end\", \"exit_code\": 125, \"status\": \"failed\"}\n",
	       "a result that could not be kept is a failure");
}

/* Nothing can be read behind it. */
static const char *at_the_edge(const char *text, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) < 0)
		abort();
	return memcpy(two + page - len, text, len);
}

static void test_edge(void)
{
	static const char text[] = "{\n  \"status\": \"exited\",\n"
				   "  \"ended\": \"2026-01-02T03:04:05.678Z\"\n";
	struct event_end end = { .result = at_the_edge(text, sizeof(text) - 1),
				 .len = sizeof(text) - 1,
				 .bytes = sizeof(text) - 1 };
	auto_buf struct buf out = { 0 };

	is_int(event_end(&out, &end), 0, "a result that fills its room is told");
	ok(strstr(out.data, BEGIN "\"end\""), "with its time");
}

static void shown_is(const char *text, size_t len, const char *want,
		     const char *sentence)
{
	auto_buf struct buf out = { 0 };

	event_shown(&out, T0, text, len);
	is_str(out.data ? out.data : "", want, "%s", sentence);
}

static void test_shown(void)
{
	auto_buf struct buf big = { 0 };

	shown_is("{\"a\": [1, \"x y\"]}", 17,
		 BEGIN "\"shown\", \"shown\": {\"a\":[1,\"x y\"]}}\n",
		 "what is shown is told on one line");
	shown_is("{\"a\": 1}}", 9, "", "what is no JSON is not told");
	shown_is("[1]", 3, "", "nor what is no object");
	shown_is("", 0, "", "nor an empty line");
	buf_fmt(&big, "{\"a\":\"%*s\"}", (int)EVENT_SHOWN_MAX, "");
	shown_is(big.data, big.len, "", "nor what is too long");
}

int main(void)
{
	test_shown();
	test_edge();
	test_records();
	test_whole();
	test_data();
	test_lines();
	test_end();
	return done_testing();
}
