/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one program, for result.json and for the job's log: at most
 * CONNECTIONS_MOST of each. Where there are more, a refusal has precedence over a
 * connection that was made. Pure: no I/O.
 */
#ifndef FSD_CONNECTIONS_H
#define FSD_CONNECTIONS_H

#include "layout/layout.h"

#define CONNECTIONS_MOST 200u

/* A line of the log, and how often it came. */
struct connections_line {
	char *text; /* owned */
	uint64_t times;
};

/* Zeroed; then connections_done(). */
struct connections {
	struct result_network shown; /* its list is `item` */
	struct result_connection item[CONNECTIONS_MOST]; /* the texts are owned */
	uint32_t stream[CONNECTIONS_MOST]; /* of item, while it is open; else 0 */
	bool totals_only; /* do not list connections */
	unsigned unlisted; /* open ones that have no place, and are counted as dropped */
	struct connections_line line[CONNECTIONS_MOST];
	unsigned line_count;
};

/* A connection was made. stream: not 0, and no other open one has it. */
void connections_open(struct connections *c, uint32_t stream,
		      const struct result_connection *shown);
/* A stream has ended, or was refused. It is not listed before if connections_open() was
 * called for another program, and never if an equal refusal is listed. */
void connections_end(struct connections *c, uint32_t stream,
		     const struct result_connection *shown);
/* Returns whether the log gets the text now: it did not come before, and fewer than
 * CONNECTIONS_MOST other ones did. */
bool connections_say(struct connections *c, const char *text);
/* Calls say() for each text that came more than once: `TEXT, N times`. */
void connections_say_again(const struct connections *c,
			   void (*say)(void *arg, const char *text), void *arg);
void connections_done(struct connections *c);

/* Appends a line about a connection that was made (is_open), has ended, or was refused. */
void connection_describe(const struct result_connection *shown, bool is_open,
			 struct buf *out);

#endif
