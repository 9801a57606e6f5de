/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a machine's frames from its socket into a replay buffer, and recovers
 * the buffer in the next server. The order of stores matters, because a SIGKILL
 * may come between any two.
 *
 * In order: the start of a job's buffer, reading from the wire, the buffer of one lane
 * of a shared machine (feed), recovery. The memory belongs to the caller. All
 * functions run on the loop.
 */
#include "replay.h"

#include <errno.h>
#include <string.h>

#include "guest/wire/wire.h"
#include "layout/base/num.h"
#include "ring.h"

_Static_assert((VM_REPLAY_ROOM & (VM_REPLAY_ROOM - 1)) == 0, "its end is masked");

/* The bytes from position `from` on may wrap around. Return: bytes before the
 * wrap. */
static size_t first_part(uint64_t from, size_t size)
{
	return MIN(size, (size_t)(VM_REPLAY_ROOM - from % VM_REPLAY_ROOM));
}

static struct ring_room room_of(const struct vm_replay *t)
{
	return (struct ring_room){ (uint8_t *)(uintptr_t)t->room, VM_REPLAY_ROOM };
}

static void copy_out(const struct vm_replay *t, uint64_t from, void *data,
		     size_t size)
{
	ring_get(room_of(t), from, data, size);
}

static void in_order(void)
{
	ring_in_order();
}

void replay_mark_begun(struct vm_replay *t)
{
	t->begin_tries = 0;
	in_order();
}

unsigned replay_tries(const struct vm_replay *t)
{
	return t->spoiled ? 0 : t->begin_tries;
}

void replay_invalidate(struct vm_replay *t)
{
	t->sent = 0;
	in_order();
	t->reach.keys = (struct vm_keys){ 0 };
}

void replay_begin(struct vm_replay *t, const struct vm_checkpoint *p,
		  const uint8_t *data, size_t size)
{
	/* until all below is written the buffer belongs to no job */
	t->sent = 0;
	in_order();
	t->run_at = t->fed_at = t->fed_end = 0;
	t->feed.put = t->feed.next = t->feed.at = 0;
	t->which = 0;
	t->point[0] = *p;
	t->point[0].at = 0;
	memcpy(t->room, data, size);
	t->read.msg_len = 0;
	t->read_at = t->end = size;
}

/*
 * Receives into the buffer. recvmmsg(2), because the kernel then stores the
 * count in shared memory before a SIGKILL can be delivered; recv(2) would only
 * return it.
 */
static ssize_t bring(struct vm_replay *t, int sock, size_t size)
{
	struct iovec iov[2] = {
		{ .iov_base = t->room + t->end % VM_REPLAY_ROOM,
		  .iov_len = first_part(t->end, size) },
		{ .iov_base = t->room },
	};
	int n;

	iov[1].iov_len = size - iov[0].iov_len;
	t->read.msg_len = 0;
	in_order();
	t->read_at = t->end;
	t->read.msg_hdr = (struct msghdr){
		.msg_iov = iov, .msg_iovlen = iov[1].iov_len ? 2 : 1,
	};
	in_order();
	n = recvmmsg(sock, &t->read, 1, MSG_DONTWAIT, NULL);
	/*
	 * If the peer died with unread bytes, Linux reports ECONNRESET to
	 * recvmmsg(2) once, before the last bytes; recv(2) reports it after
	 * them. So read again.
	 */
	if (n < 0 && errno == ECONNRESET)
		n = recvmmsg(sock, &t->read, 1, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	in_order();
	t->end = t->read_at + t->read.msg_len;
	return t->read.msg_len;
}

size_t replay_read(const struct vm_replay *t, uint64_t *at, uint8_t *data,
		   size_t size)
{
	size_t n = (size_t)MIN(size, t->end - *at);

	copy_out(t, *at, data, n);
	*at += n;
	return n;
}

ssize_t replay_take(struct vm_replay *t, uint64_t *at, int sock, uint8_t *data,
		    size_t size)
{
	size_t left = replay_left(t);
	ssize_t n = 1;

	if (t->end == *at)
		n = left ? bring(t, sock, MIN(size, left)) : -ENOBUFS;
	return n <= 0 ? n : (ssize_t)replay_read(t, at, data, size);
}

/* --- a lane's job ---------------------------------------------------------- */

int replay_feed(struct vm_replay *t, const uint8_t *head, const uint8_t *payload,
		size_t length, uint64_t at)
{
	size_t size = WIRE_HEADER_SIZE + length;

	if (replay_left(t) < size)
		return -ENOBUFS;
	ring_set(room_of(t), t->end, head, WIRE_HEADER_SIZE);
	if (length)
		ring_set(room_of(t), t->end + WIRE_HEADER_SIZE, payload, length);
	t->fed_at = 0;
	in_order();
	t->fed_end = t->end + size;
	in_order();
	t->fed_at = at;
	in_order();
	t->end = t->fed_end;
	in_order();
	return 0;
}

bool replay_has_fed(const struct vm_replay *t, uint64_t at)
{
	return t->fed_at == at && t->end == t->fed_end;
}

ssize_t replay_feed_receive(struct vm_replay *t, int sock, size_t size)
{
	struct iovec iov = { t->feed_bytes, MIN(size, sizeof(t->feed_bytes)) };
	struct mmsghdr *call = &t->feed.call;

	if (call->msg_len)
		return call->msg_len;
	call->msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	in_order();
	if (recvmmsg(sock, call, 1, MSG_DONTWAIT, NULL) < 0)
		return -errno;
	return call->msg_len;
}

void replay_feed_put(struct vm_replay *t, size_t length)
{
	t->feed.at = 0;
	in_order();
	t->feed.next = t->feed.put + length;
	in_order();
}

void replay_feed_done(struct vm_replay *t)
{
	in_order();
	t->feed.call.msg_len = 0;
	in_order();
	t->feed.put = t->feed.next;
}

/* --- recovery ----------------------------------------------------------- */

void replay_commit(struct vm_replay *t)
{
	in_order();
	t->which = !t->which;
}

int replay_recover(struct vm_replay *t)
{
	uint64_t begun = t->read_at;

	if (t->spoiled || t->which > 1 || t->read.msg_len > VM_REPLAY_ROOM ||
	    begun > UINT64_MAX - t->read.msg_len)
		return -EPROTO;
	t->end = MAX(t->end, begun + t->read.msg_len);
	t->language[sizeof(t->language) - 1] = '\0';
	t->origin.template_id[sizeof(t->origin.template_id) - 1] = '\0';
	if (replay_checkpoint(t)->at > t->end ||
	    t->end - replay_checkpoint(t)->at > VM_REPLAY_ROOM)
		return -EPROTO;
	return 0;
}

int replay_recover_lane(struct vm_replay *t, uint64_t out_end)
{
	struct vm_replay_feed *f = &t->feed;

	/* A position behind the end of `out` is of a frame that was never put. Clear it:
	 * later frames would reach it, and that frame would count as put. */
	if (t->run_at > out_end)
		t->run_at = 0;
	if (f->at > out_end)
		f->at = 0;
	if (t->lane > WIRE_LANE_MAX || f->call.msg_len > VM_REPLAY_FEED ||
	    f->put > f->next)
		return -EPROTO;
	t->sent = t->run_at != 0;
	if (t->sent)
		replay_mark_begun(t);
	if (f->at && f->put < f->next)
		replay_feed_done(t);
	return replay_recover(t);
}

bool replay_is_whole(const struct vm_replay *t, bool without_output)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_header h;

	for (uint64_t at = replay_checkpoint(t)->at;
	     t->end - at >= sizeof(bytes);
	     at += sizeof(bytes) + h.length) {
		copy_out(t, at, bytes, sizeof(bytes));
		if (wire_header_get(bytes, &h) < 0 ||
		    h.length > t->end - at - sizeof(bytes))
			return false;
		if (h.type == WIRE_OUTPUT_END ||
		    (h.type == WIRE_EXIT && without_output))
			return true;
	}
	return false;
}
