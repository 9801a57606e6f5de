/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one program, for result.json and for the job's log: at most
 * CONNECTIONS_MOST connections, and as many lines of the log. If there are more, a
 * refusal has precedence over a connection that was made. They lie in one piece of memory
 * without pointers, which outlives a server that is killed. Pure: no I/O.
 */
#ifndef FSD_CONNECTIONS_H
#define FSD_CONNECTIONS_H

#include "layout/layout.h"

#define CONNECTIONS_MOST 200u
#define CONNECTIONS_PORTS 32u /* those that are counted */

#define CONNECTIONS_TEXT 512u
#define CONNECTIONS_LINE 1024u

struct connections_item {
	uint32_t stream; /* while it is open; else 0 */
	uint32_t port;
	uint64_t sent, received, ms;
	char verdict[16], host[256], address[64], reason[CONNECTIONS_TEXT]; /* "": none */
};

/* All before `item` zeroed; `live`, `run` and `job` are the owner's. A place of `item` is
 * in use if its `order` is not 0, one of `line` if its `times` is not. These are written
 * last: a server that is killed leaves each place whole or free. */
struct connections {
	uint32_t live, run;
	uint64_t job;
	uint32_t totals_only; /* do not list connections */
	uint32_t unlisted; /* open ones without a place in item; counted as dropped */
	uint64_t sent, received; /* bytes of all connections */
	uint64_t dropped;        /* connections that are not listed */
	/* connections to the program's ports; the first with the port 0 is free */
	struct result_port port[CONNECTIONS_PORTS];
	uint64_t last;           /* the last `order` that was given */
	uint64_t order[CONNECTIONS_MOST];
	uint64_t times[CONNECTIONS_MOST]; /* how often the line came */
	struct connections_item item[CONNECTIONS_MOST];
	char line[CONNECTIONS_MOST][CONNECTIONS_LINE];
};

/* Checks what another server has written, which may have been compromised. */
void connections_recover(struct connections *c);
/* A connection was made. stream: not 0, and no other open one has it. */
void connections_open(struct connections *c, uint32_t stream,
		      const struct result_connection *shown);
/* Notes that a stream has ended, or was refused. If connections_open() listed the stream,
 * its entry is completed; else a new entry is made, but not if an equal refusal is
 * listed. */
void connections_end(struct connections *c, uint32_t stream,
		     const struct result_connection *shown);
/* Counts a connection to a port of the program, which has ended. A port that finds no place
 * is not counted. */
void connections_port(struct connections *c, unsigned port, uint64_t sent,
		      uint64_t received);
/* Returns how many ports were connected to. They are the first ones of `port`. */
unsigned connections_ports(const struct connections *c);
/* Lists them in the order in which they came. *ret has room as its list; the texts are
 * borrowed. */
void connections_show(const struct connections *c,
		      struct result_connection room[CONNECTIONS_MOST],
		      struct result_network *ret);
/* Returns whether the log gets the text now: it did not come before, and fewer than
 * CONNECTIONS_MOST other ones did. */
bool connections_say(struct connections *c, const char *text);
/* Calls say() for each text that came more than once: `TEXT, N times`. */
void connections_say_again(const struct connections *c,
			   void (*say)(void *arg, const char *text), void *arg);

/* Appends a line about a connection that was made (is_open), has ended, or was refused. */
void connection_describe(const struct result_connection *shown, bool is_open,
			 struct buf *out);

#endif
