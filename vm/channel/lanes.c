/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared machine's lanes: their numbers, opening and closing. A number is
 * open from lanes_open() on. After lane_close() frames from the guest on it are
 * dropped until CLOSED comes. The machine's wire breaks if CLOSED does not come
 * in time, or if the guest sends a frame with a number that is not open.
 *
 * Owns struct lanes and its table of lanes. All functions run on the loop.
 */
#include "lanes_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "layout/base/cleanup.h"

#define LANE_OUT_CAP (1u << 20)
#define WAIT_CLOSED_S 5
/* each wait gets longer by one `scale` for this many lanes */
#define WAIT_MORE 4

/* --- fields and faults -------------------------------------------------- */

void lane_free(struct lane *l)
{
	if (l->number)
		channel_free(l->ch);
	lane_wants(l, false);
	buf_done(&l->out);
	l->of->lane[l->number] = NULL;
	free(l);
}

void lanes_leave(struct lanes *ls)
{
	if (--ls->busy || !ls->freed)
		return;
	if (ls->own)
		munmap(ls->mux, sizeof(*ls->mux));
	free(ls->payload);
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
	lanes_leave(ls);
}

void lanes_fail(struct lanes *ls, const char *sentence)
{
	if (!ls->fault)
		ls->fault = sentence;
}

void lanes_report_failure(struct lanes *ls)
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

/* Breaks the wire if a lane's CLOSED is late; else sets the timer for the next
 * one. */
static void on_closing(struct loop_timer *t)
{
	struct lanes *ls = t->arg;
	uint64_t now = now_ns(), next = UINT64_MAX;

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++) {
		struct lane *l = ls->lane[i];

		if (!l || !lane_is_closing(l))
			continue;
		if (ls->stalled) /* the answer cannot be read now */
			l->closed_by_ns = now + WAIT_CLOSED_S * ls->scale *
							NS_PER_S;
		if (l->closed_by_ns <= now)
			lanes_fail(ls, "the machine did not close a lane in time");
		next = MIN(next, l->closed_by_ns);
	}
	if (next != UINT64_MAX && !ls->fault)
		arm_closing(ls, next - now);
	lanes_report_failure(ls);
}

static void close_begun(struct lane *l, bool leaves)
{
	struct lanes *ls = l->of;
	uint64_t wait = WAIT_CLOSED_S * ls->scale * NS_PER_S;

	lane_put(l, WIRE_CLOSE, leaves ? WIRE_CLOSE_LEAVE : WIRE_CLOSE_KILL,
		 MUX_CLOSING);
	l->closed_by_ns = now_ns() + wait;
	if (!ls->closing.loop && !ls->over)
		arm_closing(ls, wait);
}

void lane_close(struct lane *l)
{
	struct lanes *ls = l->of;
	bool leaves = channel_has_ended(l->ch);

	channel_free(take_ptr(l->ch));
	lane_wants(l, false);
	l->refused = false;
	buf_done(&l->out);
	lanes_relieve(ls);
	if (ls->mux->lane[l->number] == MUX_FREE)
		lane_free(l);
	else
		close_begun(l, leaves);
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

static struct lane *lane_new(struct lanes *ls, unsigned number)
{
	struct lane *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct lane){
		.of = ls, .number = (uint8_t)number,
		.out = { .cap = LANE_OUT_CAP },
	};
	ls->lane[number] = l;
	return l;
}

/* Sets the factor of all timeouts, which grows with the number of open lanes: they share
 * the machine's processors, so the guest answers more slowly on each. */
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

/* Opens lane n. Return: 0 or negative errno; then the lane does not exist. */
static int open_number(struct lanes *ls, unsigned n,
		       const struct channel_events *ev, void *arg,
		       struct lane **ret)
{
	struct lane *l = lane_new(ls, n);
	int r = l ? channel_new_lane(ls->loop, ls->scale, ev, arg, &lane_transport, l,
				     &l->ch)
		  : -ENOMEM;

	if (r < 0) {
		if (l)
			lane_free(l);
		return r;
	}
	channel_stall(l->ch, ls->stalled);
	rescale(ls);
	*ret = l;
	return 0;
}

int lanes_open(struct lanes *ls, const struct channel_events *ev, void *arg,
	       struct lane **ret)
{
	unsigned n = 1;

	while (n <= WIRE_LANE_MAX && ls->lane[n])
		n++;
	return n > WIRE_LANE_MAX ? -EMFILE : open_number(ls, n, ev, arg, ret);
}

/* --- a machine's beginning and end ------------------------------------------- */

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
			/* if its replay buffer was full: channel_drain() makes room,
			 * so read the machine once more */
			more |= l->refused;
			l->refused = false;
			channel_drain(l->ch);
		}
	}
	lanes_leave(ls);
}

static struct vm_mux *own_mux(void)
{
	void *m = mmap(NULL, sizeof(struct vm_mux), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

static struct lanes *blank(struct loop *loop, struct vm_mux *mux,
			   unsigned scale, const struct lanes_events *ev,
			   void *arg)
{
	struct lanes *ls = calloc(1, sizeof(*ls));

	if (!ls)
		return NULL;
	*ls = (struct lanes){
		.loop = loop, .ev = ev, .arg = arg,
		.scale = scale, .least = scale, .mux = mux, .own = !mux,
		.sock = { .fd = -1, .events = EPOLLIN, .fn = lanes_on_wire,
			  .arg = ls },
		.wake = { .fn = lanes_on_wake, .arg = ls },
		.closing = { .fn = on_closing, .arg = ls },
		.payload = malloc(WIRE_PAYLOAD_MAX),
	};
	if (!mux)
		ls->mux = own_mux();
	if (ls->mux && ls->payload)
		return ls;
	ls->own &= ls->mux != NULL;
	lanes_free(ls);
	return NULL;
}

/* Makes ch lane 0. Moves the bytes that ch has read and not handled, or not sent yet, into
 * the mux's rings. */
static int divide(struct lanes *ls, struct channel *ch,
		  const struct wire_share *share)
{
	auto_buf struct buf in = { .cap = CHANNEL_IN_SIZE };
	auto_buf struct buf out = { .cap = VM_MUX_OUT };
	struct vm_mux *m = ls->mux;
	struct lane *zero = lane_new(ls, 0);

	if (!zero)
		return -ENOMEM;
	mux_begin(m);
	zero->ch = ch;
	ls->sock.fd = channel_share(ch, share, &lane_transport, zero, &in, &out);
	if (ls->sock.fd < 0)
		return ls->sock.fd;
	ring_set(mux_in(m), 0, in.data, in.len);
	m->in.end = in.len;
	ring_set(mux_out(m), 0, out.data, out.len);
	m->out.end = out.len;
	ring_in_order();
	m->shared = 1;
	return loop_fd_add(ls->loop, &ls->sock);
}

int lanes_new(struct loop *loop, struct channel *ch,
	      const struct wire_share *share, struct vm_mux *mux,
	      unsigned scale, const struct lanes_events *ev, void *arg,
	      struct lanes **ret)
{
	struct lanes *ls = blank(loop, mux, scale, ev, arg);
	int r = ls ? divide(ls, ch, share) : -ENOMEM;

	if (r < 0) {
		lanes_free(ls);
		return r;
	}
	loop_defer(loop, &ls->wake);
	*ret = ls;
	return 0;
}

/* --- adopting the lanes of a dead process ------------------------------------ */

int lanes_adopt(struct loop *loop, int wire, struct vm_mux *mux,
		unsigned scale, const struct lanes_events *ev, void *arg,
		const struct channel_events *ch_ev, void *ch_arg,
		struct lanes **ret, struct channel **ret_ch)
{
	auto_close int owned = wire;
	struct lanes *ls = blank(loop, mux, scale, ev, arg);
	struct lane *zero = ls ? lane_new(ls, 0) : NULL;
	int r = zero ? channel_new_zero(loop, scale, mux->epoch, ch_ev, ch_arg,
					&lane_transport, zero, &zero->ch)
		     : -ENOMEM;

	if (r < 0) {
		lanes_free(ls);
		return r;
	}
	ls->sock.fd = take_fd(&owned);
	ls->heard = ls->waits = ls->stalled = true;
	*ret = ls;
	*ret_ch = zero->ch;
	return 0;
}

/* Makes a lane that was adopted without a job idle. aborts: a job that got no RUN there
 * may be aborted. Return: 0, or -ESRCH: something else runs there. */
static int give_back(struct lane *l, bool aborts)
{
	enum mux_lane state = l->of->mux->lane[l->number];

	if (state == MUX_IDLE)
		return 0;
	if (state != MUX_BUSY || !aborts)
		return -ESRCH;
	lane_put(l, WIRE_ABORT, 0, MUX_IDLE);
	return 0;
}

int lanes_claim(struct lanes *ls, unsigned number, const struct vm_job *job,
		const struct vm_events *job_ev, void *job_arg, bool aborts,
		const struct channel_events *ev, void *arg, struct lane **ret)
{
	struct lane *l;
	int r;

	if (!ls->waits || !number || number > WIRE_LANE_MAX ||
	    ls->lane[number] || ls->mux->lane[number] == MUX_FREE ||
	    ls->mux->lane[number] == MUX_CLOSING)
		return -ESRCH;
	r = open_number(ls, number, ev, arg, &l);
	if (r < 0)
		return r;
	r = job ? 0 : give_back(l, aborts);
	if (r < 0) {
		channel_free(take_ptr(l->ch));
		lane_free(l);
		return r;
	}
	if (job)
		channel_go_on(l->ch, job, job_ev, job_arg);
	*ret = l;
	return 0;
}

/* Closes a lane that the dead process had open and the caller has not claimed. */
static void close_unclaimed(struct lanes *ls, unsigned number)
{
	struct lane *l = lane_new(ls, number);

	if (!l)
		lanes_fail(ls, "no memory for a lane");
	else if (ls->mux->lane[number] == MUX_CLOSING)
		l->closed_by_ns = now_ns() + WAIT_CLOSED_S * ls->scale * NS_PER_S;
	else
		close_begun(l, false);
}

void lanes_go(struct lanes *ls)
{
	if (!ls->waits)
		return;
	ls->waits = false;
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		if (!ls->lane[i] && ls->mux->lane[i] != MUX_FREE)
			close_unclaimed(ls, i);
	if (loop_fd_add(ls->loop, &ls->sock) < 0)
		lanes_fail(ls, "its wire was lost");
	if (!ls->closing.loop)
		arm_closing(ls, WAIT_CLOSED_S * ls->scale * NS_PER_S);
	lanes_relieve(ls);
	loop_defer(ls->loop, &ls->wake);
}
