/* SPDX-License-Identifier: Apache-2.0 */
#include "tape.h"

#include <errno.h>
#include <string.h>

#include "guest/wire.h"
#include "layout/base/num.h"

_Static_assert((VM_TAPE_ROOM & (VM_TAPE_ROOM - 1)) == 0, "its end is masked");

/* The two parts of what lies from `from` on. Return: bytes in the first. */
static size_t first_part(uint64_t from, size_t size)
{
	return MIN(size, (size_t)(VM_TAPE_ROOM - from % VM_TAPE_ROOM));
}

static void copy_out(const struct vm_tape *t, uint64_t from, void *data,
		     size_t size)
{
	size_t first = first_part(from, size);

	memcpy(data, t->room + from % VM_TAPE_ROOM, first);
	memcpy((uint8_t *)data + first, t->room, size - first);
}

/* Nothing after it happens before it, for whoever looks when we are dead. */
static void in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void tape_order(struct vm_tape *t)
{
	t->unbegun = 0;
	in_order();
}

unsigned tape_tries(const struct vm_tape *t)
{
	return t->spoiled ? 0 : t->unbegun;
}

void tape_unsign(struct vm_tape *t)
{
	t->sent = 0;
	in_order();
	t->keys = (struct vm_keys){ 0 };
}

void tape_begin(struct vm_tape *t, const struct vm_tape_point *p,
		const uint8_t *data, size_t size)
{
	t->sent = 0; /* it is nobody's until all is */
	in_order();
	t->which = 0;
	t->point[0] = *p;
	t->point[0].at = 0;
	memcpy(t->room, data, size);
	t->read.msg_len = 0;
	t->read_at = t->end = size;
}

/* The kernel counts what it has brought before anybody can be killed for it:
 * that is why this is no recv(2). */
static ssize_t bring(struct vm_tape *t, int sock, size_t size)
{
	struct iovec iov[2] = {
		{ .iov_base = t->room + t->end % VM_TAPE_ROOM,
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
	/* That its other end died with something unread it says before the last
	 * bytes, and once; recv(2) does after them. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmmsg(sock, &t->read, 1, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	in_order();
	t->end = t->read_at + t->read.msg_len;
	return t->read.msg_len;
}

ssize_t tape_take(struct vm_tape *t, uint64_t *at, int sock, uint8_t *data,
		  size_t size)
{
	size_t left = VM_TAPE_ROOM - (size_t)(t->end - tape_point(t)->at);
	ssize_t n = (ssize_t)MIN(size, t->end - *at);

	if (!n) {
		n = left ? bring(t, sock, MIN(size, left)) : -ENOBUFS;
		if (n <= 0)
			return n;
	}
	copy_out(t, *at, data, (size_t)n);
	*at += (uint64_t)n;
	return n;
}

void tape_settle(struct vm_tape *t)
{
	in_order();
	t->which = !t->which;
}

int tape_recover(struct vm_tape *t)
{
	uint64_t begun = t->read_at;

	if (t->spoiled || t->which > 1 || t->read.msg_len > VM_TAPE_ROOM ||
	    begun > UINT64_MAX - t->read.msg_len)
		return -EPROTO;
	t->end = MAX(t->end, begun + t->read.msg_len);
	t->language[sizeof(t->language) - 1] = '\0';
	t->template_id[sizeof(t->template_id) - 1] = '\0';
	if (tape_point(t)->at > t->end ||
	    t->end - tape_point(t)->at > VM_TAPE_ROOM)
		return -EPROTO;
	return 0;
}

bool tape_is_whole(const struct vm_tape *t, bool without_output)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_header h;

	for (uint64_t at = tape_point(t)->at;
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
