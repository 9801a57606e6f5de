/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the door. A question waits until there is a door and the rate allows it,
 * then it is asked; the answer ends it. When the door ends or is replaced, the questions
 * without an answer wait again: the next door gets them.
 *
 *   ask_name, ask_stream -> waiting -> asked -> answer
 *                             |  ^-------'  the door has ended
 *                             '-> fails after RELAY_WAIT_NS
 *
 * A struct question is owned by the list that it is in. Its stream may end first:
 * ask_forget() removes it, and a late answer finds no question.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/host_name.h"
#include "relay_int.h"
#include "vm/os/fdpass.h"

#define BURST_NS (5 * NS_PER_S) /* connections of so much time, by the rate, may come at
				 * once */

static void pump(struct relay *r);

/* --- the ends of a question --------------------------------------------------------- */

static void forget(struct relay *r, struct question *q)
{
	if (q->stream)
		q->stream->question = NULL;
	else
		r->look_ups--;
	list_del(&q->node);
	free(q);
}

void ask_forget(struct stream *s)
{
	if (s->question)
		forget(s->relay, s->question);
}

static void put_answer(struct relay *r, uint32_t query, enum net_answer arg,
		       const struct door_answer *a)
{
	struct net_frame f = { .type = WIRE_NET_ANSWER, .arg = (uint8_t)arg, .id = query };

	if (arg == NET_ANSWER_OK) {
		f.range_count = a->range_count;
		memcpy(f.range, a->range, sizeof(f.range));
	}
	port_put(r, &f);
}

/* Ends a question that has waited too long. */
static void fail(struct relay *r, struct question *q)
{
	struct stream *s = q->stream;
	bool no_door = r->door < 0;
	uint32_t query = q->id;

	forget(r, q);
	if (!s)
		put_answer(r, query, NET_ANSWER_AGAIN, NULL);
	else if (no_door)
		stream_cut(s, NET_RESET_FAILED, NET_TOLD_LOST,
			      "the host's network helper ended");
	else
		stream_cut(s, NET_RESET_LIMIT, NET_TOLD_LIMIT,
			      "too many new connections a second");
}

/* Consumes fd. */
static void settle(struct relay *r, struct question *q, const struct door_answer *a, int fd)
{
	struct stream *s = q->stream;
	bool found = a->told == NET_TOLD_OK && a->range_count;

	forget(r, q);
	if (a->asked == DOOR_CONNECT)
		stream_answered(s, a, fd);
	else if (a->asked == DOOR_CHECK)
		stream_checked(s, a);
	else
		put_answer(r, a->id, found ? NET_ANSWER_OK :
			   a->again ? NET_ANSWER_AGAIN : NET_ANSWER_NONE, a);
}

/* --- the rate ----------------------------------------------------------------------- */

static uint64_t price(const struct relay *r)
{
	return NS_PER_S / r->limits.rate;
}

/* Pays for a question. Return: 0, or the nanoseconds after which it can be paid. */
static uint64_t pay(struct relay *r, struct question *q)
{
	uint64_t now = now_ns(), paid = MAX(r->paid_ns, now) + price(r);

	if (q->paid)
		return 0;
	if (paid > now + BURST_NS)
		return paid - now - BURST_NS;
	r->paid_ns = paid;
	q->paid = true;
	return 0;
}

/* --- asking ------------------------------------------------------------------------- */

static int send_question(struct relay *r, const struct question *q)
{
	struct door_question m = { .version = DOOR_VERSION, .op = q->op, .id = q->id };
	ssize_t n;

	memcpy(m.name, q->name, sizeof(m.name));
	if (q->stream)
		m.port = q->stream->port;
	if (q->op == DOOR_CHECK) {
		m.has_address = 1;
		m.address = q->stream->address;
	}
	n = fdpass_send(r->door, &m, sizeof(m), NULL, 0, MSG_DONTWAIT);
	return n < 0 ? (int)n : 0;
}

static void lose_door(struct relay *r)
{
	struct question *q;

	loop_fd_del(&r->door_src);
	fd_close(&r->door);
	/* back to the front, in their order */
	while (!list_empty(&r->asked)) {
		q = list_entry(r->asked.prev, struct question, node);
		list_del(&q->node);
		/* a new door is asked about every open stream anew */
		if (q->op == DOOR_CHECK) {
			forget(r, q);
			continue;
		}
		q->until_ns = now_ns() + RELAY_WAIT_NS;
		list_add(&r->waiting, &q->node);
	}
	pump(r);
}

static void set_timer(struct relay *r, uint64_t payable_ns)
{
	uint64_t now = now_ns(), at = payable_ns ? now + payable_ns : UINT64_MAX;

	list_for_each(pos, tmp, &r->waiting) {
		const struct question *q = list_entry(pos, struct question, node);

		if (q->until_ns)
			at = MIN(at, q->until_ns);
	}
	if (at == UINT64_MAX)
		loop_timer_del(&r->ask_timer);
	else
		loop_timer_set(r->loop, &r->ask_timer, at > now ? at - now : 0);
}

/* Asks what can be asked now. */
static void pump(struct relay *r)
{
	struct question *q;
	uint64_t payable_ns = 0;
	int e = 0;

	while (r->door >= 0 && (q = list_first(&r->waiting, struct question, node))) {
		payable_ns = pay(r, q);
		if (payable_ns)
			account_note(r, &r->slow_told, "slowed down to %u connections a second",
				     r->limits.rate);
		e = payable_ns ? 0 : send_question(r, q);
		if (payable_ns || e < 0)
			break;
		list_del(&q->node);
		list_add_tail(&r->asked, &q->node);
	}
	if (e < 0 && e != -EAGAIN) {
		lose_door(r);
		return;
	}
	if (r->door >= 0)
		loop_fd_mod(&r->door_src, EPOLLIN | (e ? EPOLLOUT : 0));
	set_timer(r, payable_ns);
}

static void on_timer(struct loop_timer *t)
{
	struct relay *r = t->arg;
	uint64_t now = now_ns();

	list_for_each(pos, tmp, &r->waiting) {
		struct question *q = list_entry(pos, struct question, node);

		if (q->until_ns && q->until_ns <= now)
			fail(r, q);
	}
	pump(r);
}

static struct question *add(enum door_op op, uint32_t id, const char *name)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->op = op;
	q->id = id;
	q->until_ns = now_ns() + RELAY_WAIT_NS;
	memcpy(q->name, name, strlen(name) + 1);
	return q;
}

void ask_name(struct relay *r, uint32_t query, const char *name)
{
	char read[HOST_NAME_MAX_LEN + 1];
	struct question *q;

	if (host_name_read(name, strlen(name), read) < 0) {
		put_answer(r, query, NET_ANSWER_NONE, NULL);
		return;
	}
	q = r->look_ups < RELAY_QUESTIONS ? add(DOOR_RESOLVE, query, read) : NULL;
	if (!q) {
		put_answer(r, query, NET_ANSWER_AGAIN, NULL);
		return;
	}
	r->look_ups++;
	list_add_tail(&r->waiting, &q->node);
	pump(r);
}

int ask_stream(struct stream *s, enum door_op op)
{
	struct relay *r = s->relay;
	struct question *q = add(op, s->wire.id, s->name);

	ask_forget(s); /* a CHECK that was not asked yet */
	if (!q)
		return -ENOMEM;
	q->stream = s;
	s->question = q;
	if (op == DOOR_CHECK) {
		q->paid = true;
		q->until_ns = 0;
		list_add(&r->waiting, &q->node);
	} else {
		list_add_tail(&r->waiting, &q->node);
	}
	pump(r);
	return 0;
}

/* --- the door ----------------------------------------------------------------------- */

static struct question *find(struct relay *r, const struct door_answer *a)
{
	list_for_each(pos, tmp, &r->asked) {
		struct question *q = list_entry(pos, struct question, node);

		if (q->id == a->id && q->op == a->asked)
			return q;
	}
	return NULL;
}

/* Return: false if there is nothing to read now. */
static bool hear(struct relay *r)
{
	char bytes[sizeof(struct door_answer) + 1];
	struct door_answer a;
	struct question *q;
	auto_close int fd = -1;
	unsigned count;
	ssize_t n = fdpass_receive(r->door, bytes, sizeof(bytes), &fd, 1, &count,
				   MSG_DONTWAIT);

	if (n == -EAGAIN)
		return false;
	if (n <= 0 || door_answer_check(bytes, (size_t)n, count, &a, NULL) < 0) {
		lose_door(r);
		return false;
	}
	q = find(r, &a);
	if (q)
		settle(r, q, &a, take_fd(&fd));
	return r->door >= 0;
}

static void on_door(struct loop_fd *src, uint32_t events)
{
	struct relay *r = src->arg;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (hear(r))
			;
	if (events & EPOLLOUT)
		pump(r);
}

void ask_new_door(struct relay *r, int fd)
{
	if (r->door >= 0)
		lose_door(r);
	r->door = fd;
	r->door_src = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .fn = on_door,
					.arg = r };
	if (loop_fd_add(r->loop, &r->door_src) < 0) {
		lose_door(r);
		return;
	}
	streams_check(r);
	pump(r);
}

void ask_open(struct relay *r)
{
	list_init(&r->waiting);
	list_init(&r->asked);
	r->ask_timer = (struct loop_timer){ .fn = on_timer, .arg = r };
}

void ask_close(struct relay *r)
{
	struct question *q;

	loop_timer_del(&r->ask_timer);
	loop_fd_del(&r->door_src);
	fd_close(&r->door);
	while ((q = list_first(&r->waiting, struct question, node)))
		forget(r, q);
	while ((q = list_first(&r->asked, struct question, node)))
		forget(r, q);
}
