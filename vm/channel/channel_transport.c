/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel without a socket of its own. Either it has given its machine's
 * socket to lanes and is lane 0, for files, from then on; or it is the channel
 * of a lane that runs jobs.
 *
 * Its frames go through struct channel_transport (lanes_move.c). All functions run on
 * the loop.
 */
#include "channel_int.h"

#include <errno.h>

/* --- frames -------------------------------------------------------------------- */

ssize_t channel_transport_take(struct channel *ch, uint8_t *data, size_t size)
{
	return channel_is_replaying(ch)
		       ? (ssize_t)replay_read(ch->replay, &ch->replay_at, data, size)
		       : ch->transport->take(ch->transport_arg, data, size);
}

bool channel_has_fed(const struct channel *ch, uint64_t at)
{
	return ch->replay && replay_has_fed(ch->replay, at);
}

int channel_feed(struct channel *ch, const uint8_t *head,
		 const uint8_t *payload, size_t length, uint64_t at, bool last)
{
	size_t size = WIRE_HEADER_SIZE + length;
	int r;

	if (ch->phase == PHASE_DONE || !ch->replay)
		return 0;
	ch->busy++;
	if (replay_left(ch->replay) < size &&
	    (channel_is_replaying(ch) || !channel_make_room(ch, size, last)))
		r = -EAGAIN;
	else if (!ch->replay)
		r = 0;
	else
		r = replay_feed(ch->replay, head, payload, length, at) < 0 ? -EAGAIN
									: 1;
	channel_wake(ch);
	channel_leave(ch);
	return r;
}

/*
 * Returns the field of the job's replay buffer that gets the position of this frame's
 * end in the mux's `out`. NULL: no replay buffer, or the frame is neither RUN nor open
 * standard input.
 */
static uint64_t *note_of(struct channel *ch, const struct wire_header *h)
{
	struct vm_replay *t = channel_transport_replay(ch);

	if (t && h->type == WIRE_RUN)
		return &t->run_at;
	if (!t || h->type != WIRE_STDIN)
		return NULL;
	replay_feed_put(t, h->length);
	return &t->feed.at;
}

/* Puts one frame. Return: as send(2). */
ssize_t channel_transport_put(struct channel *ch)
{
	const uint8_t *frame = (const uint8_t *)ch->out.data + ch->out_at;
	struct vm_replay *t = channel_transport_replay(ch);
	struct wire_header h;
	ssize_t n;

	if (wire_header_get(frame, &h) < 0) {
		errno = EPROTO; /* a bug: this host's own channel made the frame */
		return -1;
	}
	n = ch->transport->put(ch->transport_arg, frame, note_of(ch, &h));
	if (n < 0) {
		errno = (int)-n;
		return -1;
	}
	if (h.type == WIRE_RUN && t)
		replay_mark_begun(t);
	if (h.type == WIRE_STDIN) {
		ch->feeding = false;
		if (t)
			replay_feed_done(t);
	}
	return n;
}

/* --- making one --------------------------------------------------------- */

static int put_share(struct channel *ch, const struct wire_share *share)
{
	uint8_t payload[32];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };

	wire_share_put(&w, share);
	channel_put(ch, WIRE_SHARE, 0, payload, w.used);
	return ch->phase == PHASE_DONE ? -ENOMEM : 0;
}

void channel_tell_time(struct channel *ch)
{
	uint8_t payload[8];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };

	wire_put_u64(&w, realtime_ns());
	channel_put(ch, WIRE_PING, 0, payload, w.used);
	channel_wake(ch);
}

int channel_share(struct channel *ch, const struct wire_share *share,
		  const struct channel_transport *transport, void *arg, struct buf *in,
		  struct buf *out)
{
	int wire = ch->sock.fd, r = -EINVAL;

	if (ch->phase == PHASE_IDLE && !ch->parsing && !ch->shared)
		r = put_share(ch, share);
	if (r == 0)
		r = buf_add(in, ch->in, ch->in_len);
	if (r == 0)
		r = buf_add(out, ch->out.data + ch->out_at,
			    ch->out.len - ch->out_at);
	if (r < 0)
		return r;
	loop_fd_del(&ch->sock);
	ch->sock.fd = -1;
	ch->in_len = ch->out_at = 0;
	buf_clear(&ch->out);
	ch->transport = transport;
	ch->transport_arg = arg;
	ch->shared = true;
	return wire;
}

static int new_with_transport(struct loop *loop, unsigned scale,
			      const struct channel_events *ev, void *arg,
			      const struct channel_transport *transport, void *transport_arg,
			      struct channel **ret)
{
	struct channel *ch = channel_blank(loop, -1, PHASE_IDLE, scale, ev, arg);

	if (!ch)
		return -ENOMEM;
	ch->transport = transport;
	ch->transport_arg = transport_arg;
	*ret = ch;
	return 0;
}

int channel_new_lane(struct loop *loop, unsigned scale,
		     const struct channel_events *ev, void *arg,
		     const struct channel_transport *transport, void *transport_arg,
		     struct channel **ret)
{
	int r = new_with_transport(loop, scale, ev, arg, transport, transport_arg, ret);

	if (r == 0)
		(*ret)->lane = true;
	return r;
}

int channel_new_zero(struct loop *loop, unsigned scale, uint32_t epoch,
		     const struct channel_events *ev, void *arg,
		     const struct channel_transport *transport, void *transport_arg,
		     struct channel **ret)
{
	int r = new_with_transport(loop, scale, ev, arg, transport, transport_arg, ret);

	if (r < 0)
		return r;
	(*ret)->shared = true;
	(*ret)->fs_epoch = epoch << FS_EPOCH_SHIFT;
	return 0;
}

void channel_go_on(struct channel *ch, const struct vm_job *job,
		   const struct vm_events *ev, void *arg)
{
	const struct vm_replay *t = job->replay;

	channel_take_up(ch, job, ev, arg);
	ch->stdin_at = t->feed.put;
	ch->stdin_acked = MIN(ch->stdin_acked, ch->stdin_at);
	ch->step = job->stdin_open		     ? SEND_FEED
		   : job->stdin_size > t->feed.put ? SEND_STDIN
						     : SEND_STDIN_END;
}

/* Restarts the present waits after a change of their limits. */
static void wait_anew(struct channel *ch, uint64_t seconds)
{
	channel_wait(ch, ch->waiting_for, (unsigned)seconds);
	channel_fs_progress(ch);
}

void channel_rescale(struct channel *ch, unsigned scale)
{
	uint64_t seconds = ch->wait_ns / ch->scale / NS_PER_S;

	if (ch->scale == scale || ch->phase == PHASE_DONE)
		return;
	ch->scale = scale;
	wait_anew(ch, seconds);
}

void channel_stall(struct channel *ch, bool stalled)
{
	if (ch->stalled == stalled || ch->phase == PHASE_DONE)
		return;
	ch->stalled = stalled;
	wait_anew(ch, ch->wait_ns / ch->scale / NS_PER_S);
}

bool channel_has_ended(const struct channel *ch)
{
	return ch->ended;
}
