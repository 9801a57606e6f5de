/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `events`, one JSON object a line, and the record of the order in
 * which a run's output came, from which it is made. Pure.
 *
 * Records lie behind one another, each two numbers of 7 bits a byte, the lowest
 * first, the last byte below 0x80:
 *
 *   count << 2 | kind     bytes of a stream or of `shown`, or a state
 *   ms since the record before it; of the first: since 1970
 *
 * Whatever a crash leaves of a file of them, its whole records are good.
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
	ORDER_SHOWN, /* bytes of the file `shown` of the run */
	ORDER_MAX
};

struct order_record {
	enum order_kind kind;
	uint32_t count;   /* ORDER_STATE: the state, and a pid or 0 */
	uint64_t time_ms; /* CLOCK_REALTIME, never before the one before it */
};

#define ORDER_RECORD_MAX 20u

/* A pid that has more bits is not told. */
#define ORDER_STATE_PID(state, pid) \
	((uint32_t)(state) | ((pid) >> 24 ? 0u : (uint32_t)(pid) << 8))
#define ORDER_STATE_OF(count) ((count) & 0xffu)
#define ORDER_PID_OF(count) ((uint32_t)(count) >> 8)

/* The most bytes of a stream on one line: these, and what was held back of a
 * character that they complete. */
#define EVENT_DATA_MAX 65532u
#define EVENT_HELD_MAX 3u

/* before_ms: time of the record before, 0: none. Return: bytes of room. */
size_t order_put(const struct order_record *record, uint64_t before_ms,
		 uint8_t room[ORDER_RECORD_MAX]);
/* Return: bytes taken; 0: no whole record is there; -EPROTO: no record. */
int order_get(const uint8_t *data, size_t len, uint64_t before_ms,
	      struct order_record *ret);

/* Bytes without the character that they end inside, which is held back. */
size_t event_whole(const char *data, size_t len);

/* Each appends one line. Return: 0 or negative errno, as all of buf. */
/* attempt: which run of the submission begins so; told from the second on. pid: of
 * the program in its machine; told if it is not 0. */
int event_state(struct buf *out, uint64_t time_ms, const char *state,
		unsigned attempt, uint32_t pid);
/* Text, or base64 if the bytes are not UTF-8. */
int event_data(struct buf *out, uint64_t time_ms, enum order_kind stream,
	       const char *data, size_t len);
int event_error(struct buf *out, uint64_t time_ms, const char *sentence);

/* A longer line of `shown` makes no event; result.json has the display. */
#define EVENT_SHOWN_MAX (1u << 20)
/* text: what one display shows, JSON without a newline. Nothing is appended if it is
 * something else or too long. */
int event_shown(struct buf *out, uint64_t time_ms, const char *text, size_t len);

/* A result.json of up to this length is told whole. */
#define EVENT_RESULT_MAX 65536u

struct event_end {
	uint64_t time_ms;   /* if the result does not tell it */
	uint64_t after_ms;  /* of the line before */
	const char *result; /* the start of result.json; NULL: there is none */
	size_t len;
	uint64_t bytes;     /* of the whole of it */
	unsigned exit_code;
	const char *error;  /* the job's; if the result does not tell why */
};

/* The last lines: error, if the appliance failed; result, state, end. */
int event_end(struct buf *out, const struct event_end *known);

#endif
