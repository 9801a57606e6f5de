/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners for the ports of a machine's programs. The server makes a listener and hands
 * it to the relay, which accepts clients. The relay lets in the owner and root only. The
 * mount also checks who opens the socket's path, but the relay does not rely on that.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "relay_int.h"

static bool may_connect(const struct relay *r, int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == r->limits.uid || peer.uid == 0);
}

static void on_listener(struct loop_fd *src, uint32_t events)
{
	struct listener *l = src->arg;
	auto_close int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0 && may_connect(l->relay, fd))
		stream_accepted(l->relay, l->port, take_fd(&fd),
				l->since_ns + RELAY_TRIES_NS);
	/* a listener that fails would wake the loop for ever */
	else if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		listen_del(l->relay, l->port);
}

void listen_add(struct relay *r, uint32_t port, int fd)
{
	struct listener *free = NULL;

	listen_del(r, port);
	for (unsigned i = 0; i < RELAY_PORTS_MAX && !free; i++)
		if (!r->listeners[i].port)
			free = &r->listeners[i];
	if (!free) {
		close(fd);
		return;
	}
	*free = (struct listener){ .port = port, .fd = fd, .relay = r,
				   .since_ns = now_ns() };
	free->src = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .fn = on_listener,
				      .arg = free };
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || loop_fd_add(r->loop, &free->src) < 0)
		listen_del(r, port);
}

static void remove_one(struct listener *l)
{
	if (!l->port)
		return;
	loop_fd_del(&l->src);
	fd_close(&l->fd);
	l->port = 0;
}

void listen_del(struct relay *r, uint32_t port)
{
	for (unsigned i = 0; i < RELAY_PORTS_MAX; i++)
		if (r->listeners[i].port == port)
			remove_one(&r->listeners[i]);
}

void listen_close(struct relay *r)
{
	for (unsigned i = 0; i < RELAY_PORTS_MAX; i++)
		remove_one(&r->listeners[i]);
}
