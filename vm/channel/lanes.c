/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared machine's lanes: their numbers, their opening and their end. A
 * number is open from lanes_open() on. After lane_close() it is the guest's,
 * whose frames are dropped, until CLOSED comes. The machine breaks if that
 * never comes, or if the guest speaks on a number that is not open.
 */
#include "lanes_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"

#define WIRE_OUT_CAP (2u << 20) /* some, a JOB and the frames of closing */
#define LANE_OUT_CAP (1u << 20)
#define LANE_IN_CAP (WIRE_HEADER_SIZE + WIRE_JOB_MAX + (128u << 10))
#define WAIT_CLOSED_S 5
#define WAIT_MORE 4 /* so many lanes have each wait once more */

/* --- life and death -------------------------------------------------------- */

void lane_free(struct lane *l)
{
	if (l->number)
		channel_free(l->ch);
	loop_fd_del(&l->sock);
	fd_close(&l->sock.fd);
	buf_done(&l->in);
	buf_done(&l->out);
	l->of->lane[l->number] = NULL;
	free(l);
}

static void leave(struct lanes *ls)
{
	if (--ls->busy || !ls->freed)
		return;
	free(ls->in);
	buf_done(&ls->out);
	free(ls);
}

void lanes_free(struct lanes *ls)
{
	if (!ls || ls->freed)
		return;
	ls->busy++;
	ls->freed = ls->over = true;
	loop_fd_del(&ls->sock);
	fd_close(&ls->sock.fd);
	loop_call_del(&ls->wake);
	loop_timer_del(&ls->closing);
	for (unsigned i = 0; i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i])
			lane_free(ls->lane[i]);
	leave(ls);
}

void lanes_fail(struct lanes *ls, const char *sentence)
{
	if (!ls->fault)
		ls->fault = sentence;
}

void lanes_settle(struct lanes *ls)
{
	if (!ls->fault || ls->over)
		return;
	ls->over = true;
	loop_fd_del(&ls->sock);
	loop_timer_del(&ls->closing);
	ls->ev->broken(ls->arg, ls->fault, ls->eof);
}

/* --- opening and closing ---------------------------------------------------------- */

static void arm_closing(struct lanes *ls, uint64_t after_ns)
{
	loop_timer_set(ls->loop, &ls->closing, after_ns);
}

/* The first that is late breaks the machine; else it looks again at the next. */
static void on_closing(struct loop_timer *t)
{
	struct lanes *ls = t->arg;
	uint64_t now = now_ns(), next = UINT64_MAX;

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++) {
		struct lane *l = ls->lane[i];

		if (!l || !lane_is_closing(l))
			continue;
		if (ls->stalled) /* then the answer cannot be heard */
			l->closed_by_ns = now + WAIT_CLOSED_S * ls->scale *
							NS_PER_S;
		if (l->closed_by_ns <= now)
			lanes_fail(ls, "the machine did not close a lane in time");
		next = MIN(next, l->closed_by_ns);
	}
	if (next != UINT64_MAX && !ls->fault)
		arm_closing(ls, next - now);
	lanes_settle(ls);
}

void lane_close(struct lane *l)
{
	struct lanes *ls = l->of;
	uint8_t head[WIRE_HEADER_SIZE];
	bool leaves = channel_has_ended(l->ch);

	channel_free(take_ptr(l->ch));
	loop_fd_del(&l->sock);
	fd_close(&l->sock.fd);
	buf_done(&l->in);
	buf_done(&l->out);
	lanes_relieve(ls);
	if (!l->begun) {
		lane_free(l);
		return;
	}
	wire_header_put(head, 0, WIRE_CLOSE,
			leaves ? WIRE_CLOSE_LEAVE : WIRE_CLOSE_KILL);
	wire_lane_put(head, l->number);
	if (buf_add(&ls->out, head, sizeof(head)) < 0)
		lanes_fail(ls, "no memory for a frame to the machine");
	l->closed_by_ns = now_ns() + WAIT_CLOSED_S * ls->scale * NS_PER_S;
	if (!ls->closing.loop && !ls->over)
		arm_closing(ls, WAIT_CLOSED_S * ls->scale * NS_PER_S);
	if (!ls->over)
		loop_defer(ls->loop, &ls->wake);
}

unsigned lane_number(const struct lane *l)
{
	return l->number;
}

struct channel *lane_channel(const struct lane *l)
{
	return l->ch;
}

/* Return: 0 and its own end of a pair in the lane; *ret_fd is the other. */
static int lane_new(struct lanes *ls, unsigned number, struct lane **ret,
		    int *ret_fd)
{
	struct lane *l = calloc(1, sizeof(*l));
	int pair[2], r;

	if (!l || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			     0, pair) < 0) {
		r = l ? -errno : -ENOMEM;
		free(l);
		return r;
	}
	*l = (struct lane){
		.of = ls, .number = (uint8_t)number,
		.sock = { .fd = pair[0], .events = EPOLLIN, .fn = lanes_on_lane,
			  .arg = l },
		.in = { .cap = LANE_IN_CAP }, .out = { .cap = LANE_OUT_CAP },
	};
	r = loop_fd_add(ls->loop, &l->sock);
	if (r < 0) {
		close(pair[0]);
		close(pair[1]);
		free(l);
		return r;
	}
	ls->lane[number] = *ret = l;
	*ret_fd = pair[1];
	return 0;
}

/* All that runs in a machine shares its processors. So the more lanes there are
 * the longer the guest may take to answer on each. */
static void rescale(struct lanes *ls)
{
	unsigned open = 0;

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		open += !!ls->lane[i];
	ls->scale = ls->least * (1 + open / WAIT_MORE);
	for (unsigned i = 0; i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i] && ls->lane[i]->ch)
			channel_rescale(ls->lane[i]->ch, ls->scale);
}

int lanes_open(struct lanes *ls, const struct channel_events *ev, void *arg,
	       struct lane **ret)
{
	unsigned n = 1;
	struct lane *l;
	int r, fd;

	while (n <= WIRE_LANE_MAX && ls->lane[n])
		n++;
	if (n > WIRE_LANE_MAX)
		return -EMFILE;
	r = lane_new(ls, n, &l, &fd);
	if (r < 0)
		return r;
	r = channel_new(ls->loop, fd, PHASE_IDLE, ls->scale, ev, arg, &l->ch);
	if (r < 0) {
		lane_free(l);
		return r;
	}
	channel_be_lane(l->ch);
	channel_stall(l->ch, ls->stalled);
	rescale(ls);
	*ret = l;
	return 0;
}

/* --- a machine's beginning and end ---------------------------------------------------- */

void lanes_drain(struct lanes *ls)
{
	bool more = true;

	ls->busy++;
	ls->draining = true;
	while (more && !ls->freed) {
		more = !ls->over && lanes_read(ls, UINT64_MAX);
		for (unsigned i = 0; i <= WIRE_LANE_MAX && !ls->freed; i++) {
			struct lane *l = ls->lane[i];

			if (!l || !l->ch)
				continue;
			lane_write(l);
			more |= l->out.len && channel_phase(l->ch) != PHASE_DONE;
			channel_drain(l->ch);
		}
	}
	leave(ls);
}

static int divide(struct lanes *ls, struct channel *ch,
		  const struct wire_share *share)
{
	struct buf in = { .cap = CHANNEL_IN_SIZE };
	struct lane *zero;
	int r, fd;

	r = lane_new(ls, 0, &zero, &fd);
	if (r < 0)
		return r;
	zero->ch = ch;
	ls->sock.fd = channel_share(ch, share, fd, &in, &ls->out);
	if (in.len)
		memcpy(ls->in, in.data, in.len);
	ls->in_len = in.len;
	buf_done(&in);
	return ls->sock.fd < 0 ? ls->sock.fd : loop_fd_add(ls->loop, &ls->sock);
}

int lanes_new(struct loop *loop, struct channel *ch,
	      const struct wire_share *share, unsigned scale,
	      const struct lanes_events *ev, void *arg, struct lanes **ret)
{
	struct lanes *ls = calloc(1, sizeof(*ls));
	int r = -ENOMEM;

	if (!ls)
		return r;
	*ls = (struct lanes){
		.loop = loop, .ev = ev, .arg = arg,
		.scale = scale, .least = scale,
		.sock = { .fd = -1, .events = EPOLLIN, .fn = lanes_on_wire,
			  .arg = ls },
		.wake = { .fn = lanes_on_wake, .arg = ls },
		.closing = { .fn = on_closing, .arg = ls },
		.in = malloc(LANES_IN_SIZE), .out = { .cap = WIRE_OUT_CAP },
	};
	if (ls->in)
		r = divide(ls, ch, share);
	if (r < 0) {
		lanes_free(ls);
		return r;
	}
	loop_defer(loop, &ls->wake);
	*ret = ls;
	return 0;
}
