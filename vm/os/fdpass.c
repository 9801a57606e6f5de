/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives a message with descriptors (SCM_RIGHTS) over a local socket.
 *
 * Neither function allocates memory: a zygote's child calls them before its other
 * threads exist. Both retry after EINTR. The receiver closes descriptors beyond the
 * caller's limit.
 */
#include "fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union room {
	struct cmsghdr head; /* aligns the buffer */
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

ssize_t fdpass_send(int sock, const void *bytes, size_t size, const int *fds,
		    unsigned count, int flags)
{
	struct iovec iov = { (void *)(size_t)bytes, size };
	union room room = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (count > FDPASS_MAX)
		return -EINVAL;
	if (count) {
		msg.msg_control = &room;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		room.head.cmsg_level = SOL_SOCKET;
		room.head.cmsg_type = SCM_RIGHTS;
		room.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&room.head), fds, count * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t fdpass_receive(int sock, void *bytes, size_t size, int *fds,
		       unsigned max, unsigned *count, int flags)
{
	struct iovec iov = { bytes, size };
	union room room;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *head;
	unsigned got = 0;
	ssize_t n;

	*count = 0;
	do
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&msg);
	if (head && head->cmsg_level == SOL_SOCKET &&
	    head->cmsg_type == SCM_RIGHTS)
		got = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	for (unsigned i = 0; i < got; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
		if (*count < max)
			fds[(*count)++] = fd;
		else
			close(fd);
	}
	return n;
}
