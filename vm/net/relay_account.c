/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay's end of its account: the server's orders, and the words to the server. A
 * word that the socket does not take waits in a ring; a word that the ring does not take
 * is dropped and counted. So a server that is busy or dead never stops a stream.
 *
 * The relay ends here: when the account's other end is closed by all, or when everything
 * is said after the port's end.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "relay_int.h"
#include "vm/os/fdpass.h"

#define TOTAL_NS (250 * NS_PER_MS)
#define SAID_RESERVED 8u
#define FINISH_NS (2 * NS_PER_S)
#define WINDOW_USUAL (128u << 10)
/* Bytes under way on all streams, in one direction. The helper in the guest has 24 MiB for
 * these and its sockets. */
#define WINDOWS_TOGETHER (8u << 20)

/* --- words -------------------------------------------------------------------------- */

static void flush(struct relay *r)
{
	while (r->said_count) {
		ssize_t n = fdpass_send(r->account, &r->said[r->said_at], sizeof(*r->said),
					NULL, 0, MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		/* without a reader on_account() ends the relay */
		r->said_at = (r->said_at + 1) % RELAY_SAID_MAX;
		r->said_count--;
	}
	loop_fd_mod(&r->account_src, EPOLLIN | (r->said_count ? EPOLLOUT : 0));
	if (r->ended && !r->said_count)
		loop_quit(r->loop);
}

void account_say(struct relay *r, const struct relay_said *said)
{
	struct relay_said *place;

	bool may_miss = said->op == RELAY_ENDED || said->op == RELAY_TOTAL;

	/* places stay free for READY, FINISHED and BROKE */
	if (r->said_count >= RELAY_SAID_MAX - (may_miss ? SAID_RESERVED : 0)) {
		r->dropped += said->op == RELAY_ENDED;
		return;
	}
	place = &r->said[(r->said_at + r->said_count++) % RELAY_SAID_MAX];
	*place = *said;
	place->version = RELAY_VERSION;
	flush(r);
}

static void say_totals(struct relay *r, enum relay_op op)
{
	struct relay_said said = { .op = op, .sent = r->sent, .received = r->received,
				   .dropped = r->dropped };

	account_say(r, &said);
}

static void on_total(struct loop_timer *t)
{
	say_totals(t->arg, RELAY_TOTAL);
}

void account_count(struct relay *r)
{
	if (!r->total.loop)
		loop_timer_set(r->loop, &r->total, TOTAL_NS);
}

void account_note(struct relay *r, bool *told, const char *fmt, ...)
{
	struct relay_said said = { .op = RELAY_NOTE };
	va_list ap;

	if (*told)
		return;
	*told = true;
	va_start(ap, fmt);
	vsnprintf(said.text, sizeof(said.text), fmt, ap);
	va_end(ap);
	account_say(r, &said);
}

void account_end(struct relay *r)
{
	r->ended = true;
	flush(r);
}

void account_broke(struct relay *r, const char *fmt, ...)
{
	struct relay_said said = { .op = RELAY_BROKE };
	va_list ap;

	if (r->ended)
		return;
	va_start(ap, fmt);
	vsnprintf(said.text, sizeof(said.text), fmt, ap);
	va_end(ap);
	r->status = RELAY_EXIT_BROKE;
	loop_fd_del(&r->port_src);
	account_say(r, &said);
	account_end(r);
}

/* --- the end of a program ----------------------------------------------------------- */

static void say_finished(struct relay *r)
{
	r->finishing = false;
	loop_timer_del(&r->finish);
	loop_timer_del(&r->total);
	streams_report(r);
	say_totals(r, RELAY_FINISHED);
}

static void on_finish_late(struct loop_timer *t)
{
	say_finished(t->arg);
}

void account_check_finished(struct relay *r)
{
	if (r->finishing && r->guest_finished && !streams_are_full(r))
		say_finished(r);
}

static void finish(struct relay *r)
{
	if (r->finishing)
		return;
	r->finishing = true;
	r->guest_finished = false;
	r->finishes++;
	loop_timer_set(r->loop, &r->finish, FINISH_NS);
	port_put_short(r, WIRE_NET_FINISH, 0, 0);
}

/* --- orders ------------------------------------------------------------------------- */

static void start(struct relay *r, const struct relay_order *o)
{
	struct net_frame f = { .type = WIRE_NET_START, .names = WIRE_NET_NAMES_MAX };
	uint32_t window = WINDOWS_TOGETHER / o->connections;

	r->limits = *o;
	r->window = MAX(MIN(window, WINDOW_USUAL), WIRE_NET_WINDOW_MIN);
	f.window = r->window;
	/* one more, so that the relay sees and reports a stream over the limit */
	f.streams = MIN(2 * o->connections + 1, WIRE_NET_STREAMS_MAX);
	port_start(r);
	port_put(r, &f);
	account_say(r, &(struct relay_said){ .op = RELAY_READY });
}

/* Consumes fd. */
static void perform(struct relay *r, const struct relay_order *o, int fd)
{
	switch ((enum relay_op)o->op) {
	case RELAY_START:
		start(r, o);
		return;
	case RELAY_DOOR:
		ask_new_door(r, fd);
		return;
	case RELAY_PORT:
		listen_add(r, o->port, fd);
		return;
	case RELAY_CLOSE:
		listen_del(r, o->port);
		return;
	default:
		finish(r);
	}
}

/* Return: false if there is nothing to read now. */
static bool hear(struct relay *r)
{
	char bytes[sizeof(struct relay_order) + 1];
	struct relay_order o;
	int fd = -1;
	unsigned count;
	ssize_t n = fdpass_receive(r->account, bytes, sizeof(bytes), &fd, 1, &count,
				   MSG_DONTWAIT);

	if (n == -EAGAIN)
		return false;
	if (n > 0 && relay_order_check(bytes, (size_t)n, count, &o, NULL) == 0 &&
	    (r->limits.op == RELAY_START) != (o.op == RELAY_START)) {
		perform(r, &o, fd);
		return true;
	}
	/* no process has the other end, or the process that has it is no server */
	fd_close(&fd);
	if (n != 0)
		r->status = 1;
	loop_fd_del(&r->account_src);
	loop_quit(r->loop);
	return false;
}

static void on_account(struct loop_fd *src, uint32_t events)
{
	struct relay *r = src->arg;

	if (events & EPOLLOUT)
		flush(r);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (hear(r))
			;
}

int account_open(struct relay *r)
{
	r->total = (struct loop_timer){ .fn = on_total, .arg = r };
	r->finish = (struct loop_timer){ .fn = on_finish_late, .arg = r };
	r->account_src = (struct loop_fd){
		.fd = r->account, .events = EPOLLIN, .fn = on_account, .arg = r,
	};
	r->said = calloc(RELAY_SAID_MAX, sizeof(*r->said));
	return r->said ? loop_fd_add(r->loop, &r->account_src) : -ENOMEM;
}

void account_close(struct relay *r)
{
	loop_timer_del(&r->total);
	loop_timer_del(&r->finish);
	loop_fd_del(&r->account_src);
	fd_close(&r->account);
	free(r->said);
}
