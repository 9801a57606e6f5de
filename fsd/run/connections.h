/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one program, for result.json and for the job's log: at most
 * CONNECTIONS_MOST connections, and as many lines of the log. When the list is full, a
 * refused connection takes the place of the oldest one that was not refused. The struct
 * has no pointers, so it can be in shared memory, which outlives a killed server. Pure:
 * no I/O.
 */
#ifndef FSD_CONNECTIONS_H
#define FSD_CONNECTIONS_H

#include "layout/layout.h"

#define CONNECTIONS_MOST 200u
#define CONNECTIONS_PORTS 32u /* ports of the program whose connections are counted */

#define CONNECTIONS_TEXT 512u
#define CONNECTIONS_LINE 1024u

struct connections_item {
	uint32_t stream; /* number of the stream while the connection is open; else 0 */
	uint32_t port;
	uint64_t sent, received, ms;
	char verdict[16], host[256], address[64], reason[CONNECTIONS_TEXT]; /* "": none */
};

/* The caller zeroes all fields before `item`, and sets live, run, job, totals_only, sent
 * and received. item[i] is in use if order[i] is not 0, line[i] if times[i] is not 0.
 * `order` and `times` are written last, so a killed server leaves each entry complete or
 * free. */
struct connections {
	uint32_t live, run;
	uint64_t job;
	uint32_t totals_only; /* do not list connections */
	uint32_t unlisted; /* open ones without a place in item; counted as dropped */
	uint64_t sent, received; /* bytes of all connections */
	uint64_t dropped;        /* connections that are not listed */
	/* connections to the program's ports; the first entry with port 0 is free */
	struct result_port port[CONNECTIONS_PORTS];
	uint64_t last;           /* the last `order` that was given */
	uint64_t order[CONNECTIONS_MOST];
	uint64_t times[CONNECTIONS_MOST]; /* how often the line came */
	struct connections_item item[CONNECTIONS_MOST];
	char line[CONNECTIONS_MOST][CONNECTIONS_LINE];
};

/* Makes the texts valid that an earlier server has written: that server may have been
 * compromised. */
void connections_recover(struct connections *c);
/* A connection was made. stream: not 0, and no other open one has it. */
void connections_open(struct connections *c, uint32_t stream,
		      const struct result_connection *shown);
/* Notes that a stream has ended, or was refused. If connections_open() listed the stream,
 * its entry is completed; else a new entry is made, but not if an equal refusal is
 * listed. */
void connections_end(struct connections *c, uint32_t stream,
		     const struct result_connection *shown);
/* Counts an ended connection to a port of the program. Does nothing if `port` is full of
 * other ports. */
void connections_port(struct connections *c, unsigned port, uint64_t sent,
		      uint64_t received);
/* Returns how many ports were connected to. They are the first ones of `port`. */
unsigned connections_ports(const struct connections *c);
/* Lists the connections in `room`, in the order in which they came, and fills *ret, whose
 * list is `room`. The texts are borrowed from c. */
void connections_show(const struct connections *c,
		      struct result_connection room[CONNECTIONS_MOST],
		      struct result_network *ret);
/* Counts a text for the log. Return: true if the caller must log it now: it is new, and
 * fewer than CONNECTIONS_MOST other texts came before. */
bool connections_say(struct connections *c, const char *text);
/* Calls say() for each text that came more than once: `TEXT, N times`. */
void connections_say_again(const struct connections *c,
			   void (*say)(void *arg, const char *text), void *arg);

/* Appends a line about a connection that was made (is_open), has ended, or was refused. */
void connection_describe(const struct result_connection *shown, bool is_open,
			 struct buf *out);
/* Appends a line about the end of a connection that was made: its time and its bytes. */
void connection_describe_count(const struct result_connection *ended, struct buf *out);

#endif
