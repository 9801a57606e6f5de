/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel beside others: it gives its machine's socket to the lanes and is
 * lane 0 from then on, or it is a lane of a program. Either way the far end of
 * its own socket is in this process.
 */
#include "channel_int.h"

#include <errno.h>
#include <unistd.h>

static int put_share(struct channel *ch, const struct wire_share *share)
{
	uint8_t payload[32];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };

	wire_share_put(&w, share);
	channel_put(ch, WIRE_SHARE, 0, payload, w.used);
	return ch->phase == PHASE_DONE ? -ENOMEM : 0;
}

int channel_share(struct channel *ch, const struct wire_share *share, int fd,
		  struct buf *in, struct buf *out)
{
	int wire = ch->sock.fd, r = -EINVAL;

	if (ch->phase == PHASE_IDLE && !ch->parsing && !ch->shared)
		r = put_share(ch, share);
	if (r == 0)
		r = buf_add(in, ch->in, ch->in_len);
	if (r == 0)
		r = buf_add(out, ch->out.data + ch->out_at,
			    ch->out.len - ch->out_at);
	if (r < 0) {
		close(fd);
		return r;
	}
	loop_fd_del(&ch->sock);
	ch->sock.fd = fd;
	ch->sock.events = EPOLLIN;
	ch->in_len = ch->out_at = 0;
	buf_clear(&ch->out);
	ch->shared = true;
	r = loop_fd_add(ch->loop, &ch->sock);
	if (r == 0)
		return wire;
	close(wire);
	return r;
}

void channel_be_lane(struct channel *ch)
{
	ch->lane = true;
}

/* Its wait begins again, by what holds now. */
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
