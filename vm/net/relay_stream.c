/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: its frames, its socket, the bytes between them, its end. A struct stream
 * owns its socket and the bytes that the socket has not taken.
 *
 *   guest's:  OPEN -> question to the door -> OPENED, or RESET
 *   host's:   accept -> CONNECT -> OPENED, or RESET, from the guest
 *
 * Bytes of the guest wait in `in`, a window at most, and are acknowledged when the socket
 * has taken them. Bytes of a socket are read only when they fit into the guest's window.
 * A hangup is seen by epoll even without interest, so a socket without interest is not
 * in the loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/host_name.h"
#include "relay_int.h"

#define TRY_NS (100 * NS_PER_MS)

static void on_socket(struct loop_fd *src, uint32_t events);
static void on_limit(struct loop_timer *t);

/* --- the table ---------------------------------------------------------------------- */

static struct list *bucket(struct relay *r, uint32_t id)
{
	/* the host's and the guest's numbers both begin at 1 */
	return &r->streams[(id ^ id >> 31 << 7) % RELAY_BUCKETS];
}

static struct stream *find(struct relay *r, uint32_t id)
{
	list_for_each(pos, tmp, bucket(r, id)) {
		struct stream *s = list_entry(pos, struct stream, node);

		if (s->wire.id == id)
			return s;
	}
	return NULL;
}

static struct stream *add(struct relay *r, uint32_t id, uint32_t port, bool is_hosts)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->relay = r;
	s->wire = (struct net_stream){ .id = id, .ours = is_hosts };
	s->port = port;
	s->is_hosts = is_hosts;
	s->fd = -1;
	s->began_ns = now_ns();
	s->limit = (struct loop_timer){ .fn = on_limit, .arg = s };
	list_add_tail(bucket(r, id), &s->node);
	r->stream_count++;
	return s;
}

/* --- the end ------------------------------------------------------------------------ */

static void say_refused(struct relay *r, uint32_t id, uint32_t port, enum net_told told,
			const char *text)
{
	struct relay_said said = { .op = RELAY_ENDED, .stream = id, .told = told,
				   .port = port };

	snprintf(said.text, sizeof(said.text), "%s", text);
	account_say(r, &said);
}

static void report(struct stream *s, enum net_told told, const char *text)
{
	struct relay_said said = {
		.op = RELAY_ENDED, .stream = s->wire.id, .told = told,
		.port = s->is_hosts ? s->port : 0, .sent = s->sent,
		.received = s->received, .ms = (now_ns() - s->began_ns) / NS_PER_MS,
	};

	if (s->reported)
		return;
	s->reported = true;
	snprintf(said.text, sizeof(said.text), "%s", text);
	account_say(s->relay, &said);
}

static void drop(struct stream *s)
{
	ask_forget(s);
	loop_timer_del(&s->limit);
	loop_fd_del(&s->src);
	list_del(&s->turn);
	list_del(&s->node);
	fd_close(&s->fd);
	free(s->in);
	s->relay->stream_count--;
	free(s);
}

static void end(struct stream *s, enum net_told told, const char *text)
{
	struct relay *r = s->relay;

	report(s, told, text);
	drop(s);
	account_check_finished(r);
}

/* Lets the socket's peer see a reset in place of an end. */
static void end_by_reset(struct stream *s, enum net_told told, const char *text)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (s->fd >= 0)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	end(s, told, text);
}

void stream_cut(struct stream *s, unsigned arg, enum net_told told, const char *text)
{
	port_put_short(s->relay, WIRE_NET_RESET, arg, s->wire.id);
	end_by_reset(s, told, text);
}

/* Frees the stream if both sides have ended it and its socket has taken all bytes. */
static void settle(struct stream *s)
{
	if (net_stream_is_over(&s->wire) && !s->in_size)
		end(s, NET_TOLD_OK, "");
}

static const struct {
	int error;
	enum net_told told;
	const char *text;
} failures[] = {
	{ ECONNRESET, NET_TOLD_RESET, "the server reset it" },
	{ EPIPE, NET_TOLD_RESET, "the server reset it" },
	{ ETIMEDOUT, NET_TOLD_TIMEOUT, "the server did not answer any more" },
};

static void socket_failed(struct stream *s, int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i].error == error) {
			stream_cut(s, NET_RESET_PEER, failures[i].told, failures[i].text);
			return;
		}
	stream_cut(s, NET_RESET_PEER, NET_TOLD_UNREACHABLE, "the way to the server broke");
}

/* --- limits ------------------------------------------------------------------------- */

static void all_streams(struct relay *r, void (*fn)(struct stream *s))
{
	for (unsigned i = 0; i < RELAY_BUCKETS; i++)
		list_for_each(pos, tmp, &r->streams[i])
			fn(list_entry(pos, struct stream, node));
}

static const char *over(struct relay *r, char *text, size_t size)
{
	snprintf(text, size, "over %" PRIu64 " bytes; cut", r->limits.bytes);
	return text;
}

static void cut_over(struct stream *s)
{
	char text[64];

	stream_cut(s, NET_RESET_LIMIT, NET_TOLD_LIMIT, over(s->relay, text, sizeof(text)));
}

/* Counts bytes. Return: false if they are more than the job may move; then no stream is
 * left. */
static bool count(struct stream *s, uint64_t *of_stream, uint64_t *of_all, size_t n)
{
	struct relay *r = s->relay;

	*of_stream += n;
	*of_all += n;
	account_count(r);
	if (r->sent + r->received <= r->limits.bytes)
		return true;
	r->is_over = true;
	all_streams(r, cut_over);
	return false;
}

/* Returns whether one more stream may begin. If not, reports why. */
static bool may_begin(struct relay *r, uint32_t id, uint32_t port)
{
	char text[96];

	if (r->is_over)
		over(r, text, sizeof(text));
	else if (r->stream_count >= r->limits.connections)
		snprintf(text, sizeof(text), "more than %u connections at a time; some were refused",
			 r->limits.connections);
	else
		return true;
	say_refused(r, id, port, NET_TOLD_LIMIT, text);
	return false;
}

/* --- its socket --------------------------------------------------------------------- */

/* Sets the events that the loop watches for this stream. */
static void watch(struct stream *s)
{
	uint32_t events = (s->reads ? EPOLLIN : 0) |
			  (s->in_size && !s->holds ? EPOLLOUT : 0);

	if (!events) {
		loop_fd_del(&s->src);
		return;
	}
	if (s->src.loop) {
		loop_fd_mod(&s->src, events);
		return;
	}
	s->src = (struct loop_fd){ .fd = s->fd, .events = events, .fn = on_socket,
				   .arg = s };
	if (loop_fd_add(s->relay->loop, &s->src) < 0)
		/* the descriptor from the door is no socket, or memory ran out */
		loop_timer_set(s->relay->loop, &s->limit, 0);
}

static void acknowledge(struct stream *s, size_t n)
{
	uint32_t told = net_stream_took(&s->wire, s->relay->window, (uint32_t)n);

	if (told && !s->wire.heard_end)
		port_put(s->relay, &(struct net_frame){ .type = WIRE_NET_WINDOW,
							.id = s->wire.id, .window = told });
}

/* Return: bytes that the socket took, or a negative errno. */
static ssize_t send_some(struct stream *s, const uint8_t *p, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = send(s->fd, p + done, size - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* The guest's end, once all before it has gone. */
static void pass_end(struct stream *s)
{
	if (!s->wire.heard_end || s->in_size || s->shut)
		return;
	s->shut = true;
	shutdown(s->fd, SHUT_WR);
}

/* Writes what waits. Return: false if the stream has ended. */
bool stream_flush(struct stream *s)
{
	ssize_t n = s->in_size ? send_some(s, s->in + s->in_at, s->in_size) : 0;

	if (n < 0) {
		socket_failed(s, (int)-n);
		return false;
	}
	s->in_at += (size_t)n;
	s->in_size -= (size_t)n;
	acknowledge(s, (size_t)n);
	if (!s->in_size) {
		free(take_ptr(s->in));
		s->in_at = 0;
		account_check_finished(s->relay);
	}
	pass_end(s);
	watch(s);
	return true;
}

static void wait_turn(struct stream *s)
{
	s->reads = false;
	if (list_empty(&s->turn))
		list_add_tail(&s->relay->turns, &s->turn);
	port_pump(s->relay);
}

static void on_socket(struct loop_fd *src, uint32_t events)
{
	struct stream *s = src->arg;

	if (s->reads && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		wait_turn(s);
		watch(s);
	}
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR) && s->in_size && !s->holds &&
	    stream_flush(s))
		settle(s);
}

static void socket_ended(struct stream *s)
{
	s->wire.said_end = true;
	port_put_short(s->relay, WIRE_NET_END, 0, s->wire.id);
	settle(s);
}

void stream_read(struct stream *s)
{
	struct relay *r = s->relay;
	uint32_t room = net_stream_room(&s->wire, r->window);
	ssize_t n;

	list_del(&s->turn);
	if (!room) {
		s->blocked = true;
		return;
	}
	n = recv(s->fd, r->block, MIN(room, WIRE_NET_DATA_MAX), MSG_DONTWAIT);
	if (n == 0) {
		socket_ended(s);
	} else if (n > 0) {
		s->wire.sent += (uint32_t)n;
		port_put(r, &(struct net_frame){ .type = WIRE_NET_DATA, .id = s->wire.id,
						 .data = r->block, .size = (size_t)n });
		if (count(s, &s->received, &r->received, (size_t)n))
			wait_turn(s);
	} else if (errno == EAGAIN || errno == EINTR) {
		s->reads = true;
		watch(s);
	} else {
		socket_failed(s, errno);
	}
}

/* --- a client of a port ------------------------------------------------------------- */

/* Calls the program that listens, by a number that was not used yet. */
static void call(struct stream *s)
{
	struct relay *r = s->relay;

	list_del(&s->node);
	s->wire = (struct net_stream){ .id = net_ids_next(&r->ids), .ours = true };
	list_add_tail(bucket(r, s->wire.id), &s->node);
	port_put(r, &(struct net_frame){ .type = WIRE_NET_CONNECT, .id = s->wire.id,
					 .port = s->port });
}

static void not_listening(struct stream *s)
{
	if (now_ns() < s->tries_ns)
		loop_timer_set(s->relay->loop, &s->limit, TRY_NS);
	else
		end_by_reset(s, NET_TOLD_REFUSED, "no program listens there");
}

void stream_accepted(struct relay *r, uint32_t port, int fd, uint64_t tries_ns)
{
	auto_close int owned = fd;
	struct stream *s = may_begin(r, 0, port) ? add(r, 0, port, true) : NULL;

	if (!s)
		return;
	s->fd = take_fd(&owned);
	s->tries_ns = tries_ns;
	call(s);
}

static void on_limit(struct loop_timer *t)
{
	struct stream *s = t->arg;

	if (s->is_hosts && !s->wire.opened)
		call(s);
	else if (s->holds && s->in_size)
		hello_is_late(s);
	else
		socket_failed(s, EIO);
}

/* --- frames ------------------------------------------------------------------------- */

/* Adds bytes to those that wait: net_stream_hear() has compared them with the window.
 * Return: 0 or -ENOMEM. */
static int append(struct stream *s, const uint8_t *data, size_t size)
{
	uint32_t window = s->relay->window;

	if (!s->in)
		s->in = malloc(window);
	if (!s->in)
		return -ENOMEM;
	if (s->in_at + s->in_size + size > window) {
		memmove(s->in, s->in + s->in_at, s->in_size);
		s->in_at = 0;
	}
	memcpy(s->in + s->in_at + s->in_size, data, size);
	s->in_size += size;
	return 0;
}

static void on_data(struct stream *s, const struct net_frame *f)
{
	ssize_t n = 0;

	if (!count(s, &s->sent, &s->relay->sent, f->size))
		return;
	if (!s->in_size && !s->holds) {
		n = send_some(s, f->data, f->size);
		if (n < 0) {
			socket_failed(s, (int)-n);
			return;
		}
		acknowledge(s, (size_t)n);
	}
	if ((size_t)n == f->size)
		return;
	if (append(s, f->data + n, f->size - (size_t)n) < 0)
		stream_cut(s, NET_RESET_FAILED, NET_TOLD_LIMIT, "the relay has no memory");
	else if (s->holds)
		hello_holds_on(s);
	else
		watch(s);
}

static void on_end(struct stream *s)
{
	if (s->holds && s->in_size && !hello_holds_on(s))
		return;
	pass_end(s);
	settle(s);
}

static void on_opened(struct stream *s)
{
	s->reads = true;
	watch(s);
}

static void take(struct stream *s, const struct net_frame *f)
{
	switch (f->type) {
	case WIRE_NET_OPENED:
		on_opened(s);
		return;
	case WIRE_NET_DATA:
		on_data(s, f);
		return;
	case WIRE_NET_WINDOW:
		if (s->blocked) {
			s->blocked = false;
			wait_turn(s);
		}
		return;
	case WIRE_NET_END:
		on_end(s);
		return;
	default:
		if (s->is_hosts && !s->wire.opened)
			not_listening(s);
		else
			end_by_reset(s, NET_TOLD_OK, "");
	}
}

void stream_frame(struct relay *r, const struct net_frame *f)
{
	struct stream *s = find(r, f->id);
	const char *type = wire_net_type_name(f->type);

	if (!s && !net_ids_was(&r->ids, f->id))
		account_broke(r, "%s for a stream that was never opened", type);
	else if (s && net_stream_hear(&s->wire, r->window, f) < 0)
		account_broke(r, "%s that a stream may not have then", type);
	else if (s)
		take(s, f);
}

/* --- the beginning ------------------------------------------------------------------ */

static bool is_address(const char *name)
{
	struct net_address a;

	return net_address_read(name, strlen(name), &a) == 0;
}

void stream_open(struct relay *r, const struct net_frame *f)
{
	char name[HOST_NAME_MAX_LEN + 1];
	struct stream *s;

	if (net_ids_begin(&r->ids, f->id) < 0) {
		account_broke(r, "OPEN of a stream with a number that is not new");
		return;
	}
	if (!may_begin(r, f->id, 0)) {
		port_put_short(r, WIRE_NET_RESET, NET_RESET_LIMIT, f->id);
		return;
	}
	if (is_address(f->name)) {
		memcpy(name, f->name, sizeof(name));
	} else if (host_name_read(f->name, strlen(f->name), name) < 0) {
		say_refused(r, f->id, 0, NET_TOLD_DENIED, "it asked for what is no name");
		port_put_short(r, WIRE_NET_RESET, NET_RESET_REFUSED, f->id);
		return;
	}
	s = add(r, f->id, f->port, false);
	if (s)
		memcpy(s->name, name, sizeof(s->name));
	if (!s)
		port_put_short(r, WIRE_NET_RESET, NET_RESET_LIMIT, f->id);
	else if (ask_stream(s, DOOR_CONNECT) < 0)
		stream_cut(s, NET_RESET_LIMIT, NET_TOLD_LIMIT, "the relay has no memory");
}

void stream_answered(struct stream *s, const struct door_answer *a, int fd)
{
	static const enum net_reset resets[NET_TOLD_MAX] = {
		[NET_TOLD_DENIED] = NET_RESET_REFUSED, [NET_TOLD_PRIVATE] = NET_RESET_REFUSED,
		[NET_TOLD_OWN] = NET_RESET_REFUSED, [NET_TOLD_LIMIT] = NET_RESET_LIMIT,
	};

	if (fd < 0) {
		/* the door has recorded it */
		s->reported = true;
		stream_cut(s, resets[a->told] ? resets[a->told] : NET_RESET_FAILED, a->told, "");
		return;
	}
	s->fd = fd;
	s->address = a->address;
	s->holds = a->compares_name;
	s->need = 1;
	s->allows_ech = a->allows_ech;
	s->wire.opened = true;
	s->began_ns = now_ns();
	port_put_short(s->relay, WIRE_NET_OPENED, 0, s->wire.id);
	on_opened(s);
}

/* --- all of them -------------------------------------------------------------------- */

void stream_checked(struct stream *s, const struct door_answer *a)
{
	if (a->told != NET_TOLD_OK)
		stream_cut(s, NET_RESET_REFUSED, a->told, "the rules have changed");
}

static void check(struct stream *s)
{
	if (!s->is_hosts && s->wire.opened && ask_stream(s, DOOR_CHECK) < 0)
		stream_cut(s, NET_RESET_REFUSED, NET_TOLD_LIMIT, "the relay has no memory");
}

void streams_check(struct relay *r)
{
	all_streams(r, check);
}

bool streams_are_full(const struct relay *r)
{
	for (unsigned i = 0; i < RELAY_BUCKETS; i++)
		list_for_each(pos, tmp, &r->streams[i])
			if (list_entry(pos, struct stream, node)->in_size)
				return true;
	return false;
}

static void report_open(struct stream *s)
{
	report(s, NET_TOLD_OK, "");
}

void streams_report(struct relay *r)
{
	all_streams(r, report_open);
}

void streams_close(struct relay *r)
{
	all_streams(r, drop);
}
