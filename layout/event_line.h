/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `events`, one JSON object a line; and the records from which it is
 * made, which note the order of a run's output. Pure.
 *
 * A record is two numbers of 7 bits a byte, the lowest first, the last byte
 * below 0x80:
 *
 *   count << 2 | kind     bytes of a stream or of `shown`, or a state
 *   ms since the record before it; of the first: since 1970
 *
 * After a crash the complete records of a file are valid.
 */
#ifndef LAYOUT_EVENT_LINE_H
#define LAYOUT_EVENT_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "state.h"

enum order_kind {
	ORDER_STDOUT,
	ORDER_STDERR,
	ORDER_STATE,
	ORDER_SHOWN, /* bytes of the run's file `shown` */
	ORDER_MAX
};

struct order_record {
	enum order_kind kind;
	uint32_t count; /* bytes; ORDER_STATE: the state, and a pid or 0 */
	/* CLOCK_REALTIME; not before that of the last record */
	uint64_t time_ms;
};

#define ORDER_RECORD_MAX 20u

/* A pid with more than 24 bits is left out. */
#define ORDER_STATE_PID(state, pid) \
	((uint32_t)(state) | ((pid) >> 24 ? 0u : (uint32_t)(pid) << 8))
#define ORDER_STATE_OF(count) ((count) & 0xffu)
#define ORDER_PID_OF(count) ((uint32_t)(count) >> 8)

/* Most bytes of a stream on one line. EVENT_HELD_MAX more may have been held
 * back from the last line: the start of a character. */
#define EVENT_DATA_MAX 65532u
#define EVENT_HELD_MAX 3u

/* Encodes a record. before_ms: time of the last record, 0: none. Return: bytes
 * of room. */
size_t order_put(const struct order_record *record, uint64_t before_ms,
		 uint8_t room[ORDER_RECORD_MAX]);
/* Decodes a record. Return: bytes taken; 0: it is not complete; -EPROTO: it is
 * not a record. */
int order_get(const uint8_t *data, size_t len, uint64_t before_ms,
	      struct order_record *ret);

/* Returns how many bytes are complete characters; the caller holds the rest
 * back. */
size_t event_whole(const char *data, size_t len);

/* Each appends one line. Return: 0 or negative errno, as all of buf. */
/* A state. attempt: number of the run that begins with it; shown from the
 * second on. pid: the program's in its machine; shown if it is not 0. */
int event_state(struct buf *out, uint64_t time_ms, const char *state,
		unsigned attempt, uint32_t pid);
/* Appends bytes of a stream: as text, or as base64 if they are not UTF-8. */
int event_data(struct buf *out, uint64_t time_ms, enum order_kind stream,
	       const char *data, size_t len);
int event_error(struct buf *out, uint64_t time_ms, const char *sentence);

/* A longer line of `shown` makes no event; the display is in result.json. */
#define EVENT_SHOWN_MAX (1u << 20)
/* A display. text: JSON without a newline; otherwise, or if it is too long,
 * appends no line. */
int event_shown(struct buf *out, uint64_t time_ms, const char *text, size_t len);

/* A result.json of up to this length is in the event completely. */
#define EVENT_RESULT_MAX 65536u

struct event_end {
	uint64_t time_ms; /* used if the result has no time */
	uint64_t after_ms; /* time of the last line */
	/* the beginning of result.json; NULL: there is none */
	const char *result;
	size_t len;
	uint64_t bytes; /* size of result.json */
	unsigned exit_code;
	const char *error; /* the job's error; used if the result has none */
};

/* The last lines: error, if fsd failed; result, state, end. */
int event_end(struct buf *out, const struct event_end *known);

#endif
