/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes the records of output order, and renders the lines of `events`. It
 * has three parts: records, one line, the lines of a job's end.
 *
 * The end takes the members of result.json by their text, not by a parser, because a
 * program's value may be large and is copied unchanged. There is no state.
 */
#include "event_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "layout/base/num.h"
#include "layout/base/utf8.h"
#include "json.h"
#include "result.h"

/* --- records ------------------------------------------------------------ */

#define TIME_MAX_MS 10000000000000u /* the year 2286 */

static size_t number_put(uint64_t n, uint8_t *room)
{
	size_t len = 0;

	for (; n >= 0x80; n >>= 7)
		room[len++] = (uint8_t)(n | 0x80);
	room[len++] = (uint8_t)n;
	return len;
}

/* Decodes a number. Return: bytes taken; 0: it is not complete; -EPROTO: too long. */
static int number_get(const uint8_t *data, size_t len, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i < MIN(len, (size_t)9); i++) {
		n |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		if (data[i] < 0x80) {
			*ret = n;
			return (int)i + 1;
		}
	}
	return len < 9 ? 0 : -EPROTO;
}

size_t order_put(const struct order_record *record, uint64_t before_ms,
		 uint8_t room[ORDER_RECORD_MAX])
{
	uint64_t first = (uint64_t)record->count << 2 | record->kind;
	size_t len = number_put(first, room);

	return len + number_put(record->time_ms - before_ms, room + len);
}

int order_get(const uint8_t *data, size_t len, uint64_t before_ms,
	      struct order_record *ret)
{
	uint64_t first, ms;
	int n = number_get(data, len, &first), m;

	if (n <= 0)
		return n;
	m = number_get(data + n, len - (size_t)n, &ms);
	if (m <= 0)
		return m;
	if (first >> 2 > UINT32_MAX ||
	    before_ms > TIME_MAX_MS || ms > TIME_MAX_MS - before_ms)
		return -EPROTO;
	*ret = (struct order_record){
		.kind = (enum order_kind)(first & 3),
		.count = (uint32_t)(first >> 2),
		.time_ms = before_ms + ms,
	};
	return n + m;
}

/* --- lines -------------------------------------------------------------- */

size_t event_whole(const char *data, size_t len)
{
	for (size_t i = 1; i <= EVENT_HELD_MAX && i <= len; i++)
		if (utf8_step(data + len - i, i) == UTF8_SHORT)
			return len - i;
	return len;
}

static void begin(struct buf *out, uint64_t time_ms, const char *event)
{
	char when[32];

	time_render(time_ms * 1000000, when);
	buf_fmt(out, "{\"time\": \"%s\", \"event\": \"%s\"", when, event);
}

static int end_line(struct buf *out)
{
	return buf_str(out, "}\n");
}

int event_state(struct buf *out, uint64_t time_ms, const char *state,
		unsigned attempt, uint32_t pid)
{
	begin(out, time_ms, "state");
	buf_fmt(out, ", \"state\": \"%s\"", state);
	if (attempt > 1)
		buf_fmt(out, ", \"attempt\": %u", attempt);
	if (pid)
		buf_fmt(out, ", \"pid\": %u", pid);
	return end_line(out);
}

static void base64(struct buf *out, const uint8_t *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	if (buf_reserve(out, (len + 2) / 3 * 4 + 1) < 0)
		return;
	for (size_t at = 0; at < len; at += 3) {
		size_t n = MIN(len - at, (size_t)3);
		uint32_t v = (uint32_t)data[at] << 16;
		char four[4];

		v |= n > 1 ? (uint32_t)data[at + 1] << 8 : 0;
		v |= n > 2 ? data[at + 2] : 0;
		for (size_t i = 0; i < 4; i++)
			four[i] = i > n ? '=' : digits[v >> (18 - 6 * i) & 63];
		buf_add(out, four, sizeof(four));
	}
}

int event_data(struct buf *out, uint64_t time_ms, enum order_kind stream,
	       const char *data, size_t len)
{
	begin(out, time_ms, stream == ORDER_STDOUT ? "stdout" : "stderr");
	if (utf8_span(data, len) == len) {
		buf_str(out, ", \"data\": ");
		json_quote(out, data, len);
	} else {
		buf_str(out, ", \"base64\": \"");
		base64(out, (const uint8_t *)data, len);
		buf_str(out, "\"");
	}
	return end_line(out);
}

int event_error(struct buf *out, uint64_t time_ms, const char *sentence)
{
	size_t len = strlen(sentence);

	while (len && sentence[len - 1] == '\n')
		len--;
	begin(out, time_ms, "error");
	buf_str(out, ", \"message\": ");
	json_quote(out, sentence, len);
	return end_line(out);
}

/* No result is deeper. */
#define SHOWN_DEPTH 80

int event_shown(struct buf *out, uint64_t time_ms, const char *text, size_t len)
{
	json_t *shown = NULL;
	bool is_object;
	int r = len > EVENT_SHOWN_MAX ? -EFBIG
				      : json_read(text, len, SHOWN_DEPTH, NULL,
						  &shown, NULL);

	if (r == -ENOMEM)
		return r;
	is_object = json_is_object(shown);
	json_decref(shown);
	if (!is_object)
		return 0;
	begin(out, time_ms, "shown");
	buf_str(out, ", \"shown\": ");
	json_compact(out, text, len);
	return end_line(out);
}

/* --- the end ------------------------------------------------------------ */

/*
 * Returns the text of a member of result.json as result_render() lays it out:
 * one key a line. No string in it has a newline, but the program's value may
 * contain a line that looks like a member. So take the first match for members
 * before the value, and the last one (last) for those behind it. Return: bytes,
 * 0: not found.
 */
static size_t member(const struct event_end *e, const char *key, bool last,
		     const char **ret)
{
	char begins[64];
	const char *at, *next, *stop, *end;
	size_t n = (size_t)snprintf(begins, sizeof(begins), "\n  \"%s\": ",
				    key);

	if (!e->result)
		return 0;
	end = e->result + e->len;
	at = memmem(e->result, e->len, begins, n);
	while (last && at &&
	       (next = memmem(at + n, (size_t)(end - at) - n, begins, n)))
		at = next;
	if (!at)
		return 0;
	at += n;
	stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop)
		return 0;
	*ret = at;
	return (size_t)(stop - at) - (stop > at && stop[-1] == ',');
}

static bool is_status(const char *text, size_t len, enum job_status status)
{
	const char *name = status_name(status);

	return len == strlen(name) + 2 && !memcmp(text + 1, name, len - 2);
}

static void put_error(struct buf *out, const struct event_end *e)
{
	const char *text;
	size_t len = member(e, "message", false, &text);

	if (!len || *text != '"') {
		event_error(out, e->time_ms, e->error ? e->error : "");
		return;
	}
	begin(out, e->time_ms, "error");
	buf_str(out, ", \"message\": ");
	buf_add(out, text, len);
	end_line(out);
}

static void put_result(struct buf *out, const struct event_end *e)
{
	if (!e->result)
		return;
	begin(out, e->time_ms, "result");
	buf_fmt(out, ", \"bytes\": %llu, \"result\": ",
		(unsigned long long)e->bytes);
	if (e->bytes <= EVENT_RESULT_MAX && e->len == e->bytes)
		json_compact(out, e->result, e->len);
	else
		buf_str(out, "null");
	end_line(out);
}

static uint64_t ended_ms(const struct event_end *e)
{
	char copy[sizeof("\"2026-01-02T03:04:05.678Z\"")] = "";
	const char *text;
	struct tm tm = { 0 };
	unsigned ms;

	if (e->len != e->bytes ||
	    member(e, "ended", true, &text) != sizeof(copy) - 1)
		return e->time_ms;
	memcpy(copy, text, sizeof(copy) - 1);
	if (sscanf(copy, "\"%4d-%2d-%2dT%2d:%2d:%2d.%3uZ\"", &tm.tm_year,
		   &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
		   &ms) != 7)
		return e->time_ms;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return (uint64_t)timegm(&tm) * 1000 + ms;
}

int event_end(struct buf *out, const struct event_end *known)
{
	struct event_end copy = *known, *end = &copy;
	const char *status;
	size_t len = member(end, "status", false, &status);

	end->time_ms = MAX(ended_ms(end), end->after_ms);
	if (len < 3) { /* the result itself could not be stored */
		status = "\"failed\"";
		len = strlen(status);
	}
	if (is_status(status, len, STATUS_FAILED) ||
	    is_status(status, len, STATUS_INTERRUPTED))
		put_error(out, end);
	put_result(out, end);
	event_state(out, end->time_ms, state_name(JOB_DONE), 0, 0);
	begin(out, end->time_ms, "end");
	buf_fmt(out, ", \"exit_code\": %u, \"status\": ", end->exit_code);
	buf_add(out, status, len);
	return end_line(out);
}
