/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One socket from the question to the broker until the process that binds it has ended.
 * bind(2) and listen(2) run in that process: bind(2) in the mount is a request that this
 * server must answer, so the server cannot wait in it. If the process has succeeded, the
 * socket listens; its exit status is not used.
 *
 * Owns the socket and the process's pidfd until bound() gets the socket. On the loop.
 */
#include "port_bind.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "broker.h"
#include "fsd/network/network.h"
#include "fsd/network/ports.h"

#define UNDER_WAY_MOST 8u /* sockets that are bound at a time; the others wait */

struct port_bind {
	struct fsd *d;
	struct list waiting; /* struct socket_bind */
	unsigned under_way;
};

struct socket_bind {
	struct list node;
	struct port_bind *all;
	bool asked; /* asked of the broker; otherwise it is in `waiting` */
	struct broker_wait asks;
	/* calls bound() with -EPIPE when the question could not be sent to the broker */
	struct loop_call refused;
	struct loop_fd end;
	int sock, pidfd; /* owned, or -1 */
	void (*bound)(void *owner, int fd);
	void *owner;
};

static void ask_next(struct port_bind *all);

static void done(struct socket_bind *b)
{
	list_del(&b->node);
	b->all->under_way -= b->asked;
	loop_call_del(&b->refused);
	loop_fd_del(&b->end);
	fd_close(&b->pidfd);
	fd_close(&b->sock);
	free(b);
}

static void finish(struct socket_bind *b, int fd)
{
	void (*bound)(void *owner, int fd) = b->bound;
	void *owner = b->owner;
	struct port_bind *all = b->all;

	done(b);
	bound(owner, fd);
	ask_next(all);
}

static void on_end(struct loop_fd *src, uint32_t events)
{
	struct socket_bind *b = src->arg;
	socklen_t size = sizeof(int);
	int listens = 0;

	(void)events;
	if (getsockopt(b->sock, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0)
		listens = 0;
	finish(b, listens ? take_fd(&b->sock) : -EIO);
}

static void on_answer(struct broker_wait *w, const struct broker_answer *a,
		      const int *fds)
{
	struct socket_bind *b = w->arg;
	int r = a->code;

	if (r >= 0) {
		b->sock = fds[0];
		b->pidfd = fds[1];
		b->end = (struct loop_fd){ .fd = b->pidfd, .events = EPOLLIN,
					   .fn = on_end, .arg = b };
		r = loop_fd_add(b->all->d->loop, &b->end);
	}
	if (r < 0)
		finish(b, r);
}

static void on_refused(struct loop_call *c)
{
	finish(container_of(c, struct socket_bind, refused), -EPIPE);
}

static void ask_next(struct port_bind *all)
{
	struct socket_bind *b = list_first(&all->waiting, struct socket_bind, node);

	if (!b || all->under_way == UNDER_WAY_MOST)
		return;
	list_del(&b->node);
	b->asked = true;
	all->under_way++;
	if (broker_ask_later(all->d->broker, &b->asks) < 0)
		loop_defer(all->d->loop, &b->refused);
}

static int bind_begin(void *arg, uint32_t no, unsigned port,
		      void (*bound)(void *owner, int fd), void *owner, void **ret)
{
	struct port_bind *all = arg;
	struct socket_bind *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct socket_bind){ .all = all, .sock = -1, .pidfd = -1, .bound = bound,
				   .owner = owner, .refused.fn = on_refused };
	b->asks = (struct broker_wait){
		.request = { .op = BROKER_BIND, .owner = no, .port = port },
		.fn = on_answer, .arg = b,
	};
	list_add_tail(&all->waiting, &b->node);
	*ret = b;
	ask_next(all);
	return 0;
}

static void bind_drop(void *arg, void *bind)
{
	struct port_bind *all = arg;
	struct socket_bind *b = bind;

	if (b->asked && b->pidfd < 0)
		broker_forget(all->d->broker, &b->asks);
	done(b);
	ask_next(all);
}

static void bind_done(void *arg)
{
	free(arg);
}

void port_bind_start(struct fsd *d)
{
	struct port_bind *all = calloc(1, sizeof(*all));

	if (!all) {
		log_warn("programs have no ports: out of memory");
		return;
	}
	all->d = d;
	list_init(&all->waiting);
	ports_table_serve(network_ports(d->network), &(struct port_binder){
		.bind = bind_begin, .drop = bind_drop, .done = bind_done, .arg = all });
}
