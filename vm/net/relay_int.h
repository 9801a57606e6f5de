/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a relay. One thread, one loop; no call waits.
 *
 *            relay_account.c        relay_ask.c
 *   server <----------------> relay <-----------> door
 *                              | |
 *   guest <--------------------+ +--------------> servers, clients of ports
 *            relay_port.c         relay_stream.c, relay_hello.c, relay_listen.c
 *
 * Memory is bounded: a window for each stream (relay_window()), RELAY_QUESTIONS
 * questions, OUT_MAX bytes to the guest, RELAY_SAID_MAX words to the server.
 */
#ifndef VM_NET_RELAY_INT_H
#define VM_NET_RELAY_INT_H

#include "guest/wire/net_stream.h"
#include "relay_wire.h"
#include "vm/os/loop.h"

#define OUT_MAX (512u << 10)
#define OUT_FULL (64u << 10)   /* with more bytes in `out` no DATA is added */
#define OUT_STOPS (256u << 10) /* with more bytes in `out` no frame is read */
#define IN_MAX (64u << 10)
#define RELAY_SAID_MAX 256u
#define RELAY_QUESTIONS 512u /* look-ups at a time */
#define RELAY_BUCKETS 256u
#define RELAY_WAIT_NS (5 * NS_PER_S) /* longest wait for a door, for the rate, or for a
				      * hello */
/* How long a new port is tried while no program listens: less than the 5 s that clients
 * of HTTP wait by default, so that they get an answer and may ask again. */
#define RELAY_TRIES_NS (4 * NS_PER_S)

struct relay;

/* A connection. */
struct stream {
	struct list node; /* link in a bucket of relay.streams */
	struct list turn; /* link in relay.turns while its socket may have bytes to
			   * read */
	struct relay *relay;
	struct net_stream wire;
	struct question *question; /* CONNECT or CHECK; owned by relay_ask.c */
	int fd;                    /* owned; -1: the door has not connected it yet */
	struct loop_fd src;
	bool reads;    /* the loop tells when there are bytes to read */
	bool blocked;  /* the guest has to acknowledge bytes first */
	bool shut;     /* the relay sends no more to its socket: shutdown(SHUT_WR) was
		        * called */
	bool holds;    /* the first bytes are held back until the hello is whole */
	bool allows_ech, reported;
	size_t need;   /* holds: bytes to look at next */
	struct loop_timer limit; /* timeout of the hello; with is_hosts the time of the
				  * next try */
	/* bytes for the socket, from in_at on; owned; NULL: none */
	uint8_t *in;
	size_t in_at, in_size;
	uint64_t sent, received, began_ns;
	uint64_t tries_ns; /* is_hosts: the relay tries until this time; 0: no longer */
	uint32_t port;   /* the server's port, or the program's own */
	bool is_hosts;   /* the stream was opened by a client of a port of the host */
	struct net_address address; /* the server's address */
	char name[WIRE_NET_NAME_MAX + 1];
};

/* A question to the door. */
struct question {
	struct list node;      /* link in relay.waiting or relay.asked */
	uint32_t op, id;       /* enum door_op */
	struct stream *stream; /* NULL: the question is RESOLVE */
	bool paid;             /* the rate has counted it */
	uint64_t until_ns;     /* waiting: fails then; 0: never */
	char name[WIRE_NET_NAME_MAX + 1];
};

struct listener {
	uint32_t port; /* 0: this entry is free */
	int fd;        /* owned */
	uint64_t since_ns;
	struct loop_fd src;
	struct relay *relay;
};

struct relay {
	struct loop *loop;
	int status; /* the exit status */
	bool ended; /* the port has closed, or the guest has broken the protocol */

	/* fields of relay_account.c */
	int account; /* owned */
	struct loop_fd account_src;
	struct relay_said *said; /* owned; a ring of RELAY_SAID_MAX */
	unsigned said_at, said_count;
	uint64_t dropped;
	struct loop_timer total, finish;
	struct relay_order limits; /* op 0: START has not come yet */
	bool finishing, guest_finished;
	bool slow_told, names_told; /* account_note() */
	unsigned finishes; /* FINISH frames that the guest has not answered */

	/* fields of relay_port.c */
	int port; /* owned */
	struct loop_fd port_src;
	uint8_t *in, *out; /* owned: IN_MAX, OUT_MAX bytes */
	size_t in_size, out_at, out_size;
	uint8_t *block; /* owned: WIRE_NET_DATA_MAX bytes */
	struct loop_call pump;

	/* fields of relay_stream.c */
	struct net_ids ids;
	uint32_t window;
	struct list streams[RELAY_BUCKETS];
	struct list turns;
	unsigned stream_count;
	uint64_t sent, received;
	bool is_over; /* limits.bytes are used up */

	/* fields of relay_ask.c */
	int door; /* owned; -1: there is none */
	struct loop_fd door_src;
	struct list waiting, asked;
	unsigned look_ups;
	uint64_t paid_ns; /* the rate: when all that was asked is paid for */
	struct loop_timer ask_timer;

	/* fields of relay_listen.c */
	struct listener listeners[RELAY_PORTS_MAX];
};

/* Sets all fields that are not 0 at the start, except account and port. */
void relay_init(struct relay *r);

/* --- relay_account.c: the server ---------------------------------------------------- */

/* Sends the message, or drops it if there is no room. */
void account_say(struct relay *r, const struct relay_said *said);
/* Call it when the totals have changed. */
void account_count(struct relay *r);
/* Sends FINISHED if that is allowed now. */
void account_check_finished(struct relay *r);
/* Sends the server a sentence for the log if *told is false, and sets *told. */
void account_note(struct relay *r, bool *told, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the relay because the guest has broken the protocol. why: a phrase. */
void account_broke(struct relay *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends the relay once all messages are sent. */
void account_end(struct relay *r);
int account_open(struct relay *r);
void account_close(struct relay *r);

/* --- relay_port.c: the guest -------------------------------------------------------- */

/* Begins to read the port. */
void port_start(struct relay *r);
void port_put(struct relay *r, const struct net_frame *f);
/* Puts a frame that has only a type, an arg and an id. */
void port_put_short(struct relay *r, enum wire_net_type type, unsigned arg, uint32_t id);
/* Reads sockets and writes the port, once the loop's handlers have run. */
void port_pump(struct relay *r);
int port_open(struct relay *r);
void port_close(struct relay *r);

/* --- relay_stream.c ----------------------------------------------------------------- */

void stream_open(struct relay *r, const struct net_frame *f);
/* Handles a frame that names a stream. */
void stream_frame(struct relay *r, const struct net_frame *f);
/* Opens a stream for a client of a port. If no program listens there, the relay tries
 * again until tries_ns. Consumes fd. */
void stream_accepted(struct relay *r, uint32_t port, int fd, uint64_t tries_ns);
/* Handles the door's answer to CONNECT. Consumes fd; -1: the door has not connected
 * it. */
void stream_answered(struct stream *s, const struct door_answer *a, int fd);
/* Handles the door's answer to CHECK. */
void stream_checked(struct stream *s, const struct door_answer *a);
/* Resets both sides of the stream and ends it. arg: enum net_reset. */
void stream_cut(struct stream *s, unsigned arg, enum net_told told, const char *text);
/* Writes the bytes that wait for the stream's socket. Return: false if the stream has
 * ended. */
bool stream_flush(struct stream *s);
/* Reads bytes from the stream's socket and makes one frame. */
void stream_read(struct stream *s);
/* Asks the door for each stream whether it may continue. */
void streams_check(struct relay *r);
/* Returns whether a stream has bytes in `in` that are not written yet. */
bool streams_are_full(const struct relay *r);
/* Reports each stream that was not reported yet. */
void streams_report(struct relay *r);
void streams_close(struct relay *r);

/* --- relay_hello.c ------------------------------------------------------------------ */

/* Call it when more bytes, or their end, have come for a stream that holds its first
 * bytes back. Return: false if the stream has ended. */
bool hello_holds_on(struct stream *s);
/* Call it when the hello is not complete at its timeout. */
void hello_is_late(struct stream *s);

/* --- relay_ask.c: the door ---------------------------------------------------------- */

/* Asks the door for the addresses of a name. */
void ask_name(struct relay *r, uint32_t query, const char *name);
/* Asks the door about a stream: DOOR_CONNECT or DOOR_CHECK. Return: 0 or -ENOMEM. */
int ask_stream(struct stream *s, enum door_op op);
/* Forgets the stream's question; call it when the stream ends. */
void ask_forget(struct stream *s);
/* Uses another door from now on. Consumes fd. */
void ask_new_door(struct relay *r, int fd);
void ask_open(struct relay *r);
void ask_close(struct relay *r);

/* --- relay_listen.c ----------------------------------------------------------------- */

/* Consumes fd. */
void listen_add(struct relay *r, uint32_t port, int fd);
void listen_del(struct relay *r, uint32_t port);
void listen_close(struct relay *r);

#endif
