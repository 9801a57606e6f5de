/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the addresses of a name as RFC 8305 says: IPv6 and IPv4 in turn, the next
 * one 250 ms after the last or as soon as that has failed, and the first connection wins.
 * All addresses were judged before, and each socket is looked at once more when it is
 * connected. A race belongs to its question.
 */
#include "race.h"
#include "door.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>


#define ATTEMPTS 6
#define STAGGER_NS (250 * NS_PER_MS)

struct attempt {
	struct loop_fd src; /* fd < 0: it has ended, or not begun */
	struct net_address address;
};

struct race {
	struct door_ask *ask;
	struct attempt attempt[ATTEMPTS];
	unsigned count, begun, living;
	struct loop_timer stagger, late;
	struct loop_call over; /* tells the ask that all have failed */
	int error; /* of the first attempt that failed */
};

socklen_t socket_address_of(const struct net_address *a, unsigned port,
			    union socket_address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (net_address_is_ip4(a)) {
		ret->ip4.sin_family = AF_INET;
		ret->ip4.sin_port = htons((uint16_t)port);
		memcpy(&ret->ip4.sin_addr, a->byte + 12, 4);
		return sizeof(ret->ip4);
	}
	ret->ip6.sin6_family = AF_INET6;
	ret->ip6.sin6_port = htons((uint16_t)port);
	memcpy(&ret->ip6.sin6_addr, a->byte, 16);
	return sizeof(ret->ip6);
}

void socket_address_read(const union socket_address *s, struct net_address *ret)
{
	*ret = (struct net_address){ { [10] = 0xff, [11] = 0xff } };
	if (s->any.sa_family == AF_INET6)
		memcpy(ret->byte, &s->ip6.sin6_addr, 16);
	else
		memcpy(ret->byte + 12, &s->ip4.sin_addr, 4);
}

/* --- the end ------------------------------------------------------------- */

static void end_attempt(struct race *r, struct attempt *t)
{
	if (t->src.fd < 0)
		return;
	loop_fd_del(&t->src);
	fd_close(&t->src.fd);
	door_count_sockets(r->ask->job->user, -1);
	r->living--;
}

void race_free(struct door_ask *a)
{
	struct race *r = a->race;

	a->race = NULL;
	if (!r)
		return;
	for (unsigned i = 0; i < r->count; i++)
		end_attempt(r, &r->attempt[i]);
	loop_timer_del(&r->stagger);
	loop_timer_del(&r->late);
	loop_call_del(&r->over);
	free(r);
}

static void on_over(struct loop_call *c)
{
	struct race *r = container_of(c, struct race, over);

	switch (r->error) {
	case ECONNREFUSED:
		ask_raced(r->ask, NET_TOLD_REFUSED, &r->attempt[0].address, -1,
			  "connection refused");
		break;
	case ECONNRESET:
		ask_raced(r->ask, NET_TOLD_RESET, &r->attempt[0].address, -1,
			  "connection reset");
		break;
	case ETIMEDOUT:
		ask_raced(r->ask, NET_TOLD_TIMEOUT, &r->attempt[0].address, -1,
			  "no answer in 10 s");
		break;
	case EMFILE:
		ask_raced(r->ask, NET_TOLD_LIMIT, &r->attempt[0].address, -1,
			  "the host's connections are used up");
		break;
	case EADDRINUSE: /* won() has found it */
		ask_raced(r->ask, NET_TOLD_OWN, &r->attempt[0].address, -1,
			  "it leads to an address of this host");
		break;
	default:
		ask_raced(r->ask, NET_TOLD_UNREACHABLE, &r->attempt[0].address, -1,
			  "no route");
	}
}

static void end_with(struct race *r, int error)
{
	r->error = r->error ? r->error : error;
	loop_timer_del(&r->stagger);
	loop_defer(r->ask->job->user->door->loop, &r->over);
}

static void on_late(struct loop_timer *t)
{
	struct race *r = t->arg;

	r->error = r->error && !r->living ? r->error : ETIMEDOUT;
	on_over(&r->over);
}

/* --- attempts ------------------------------------------------------------ */

static void begin_next(struct race *r);

static void failed(struct race *r, struct attempt *t, int error)
{
	end_attempt(r, t);
	r->error = r->error ? r->error : error;
	if (r->begun < r->count)
		begin_next(r);
	else if (!r->living)
		end_with(r, error);
}

/* The host may have got the address after it was judged. */
static bool leads_back(const struct race *r, int fd)
{
	union socket_address from, to;
	socklen_t size = sizeof(from), peer_size = sizeof(to);
	struct net_address a, b;
	struct judgement now;

	if (getsockname(fd, &from.any, &size) < 0 ||
	    getpeername(fd, &to.any, &peer_size) < 0)
		return false;
	socket_address_read(&from, &a);
	socket_address_read(&to, &b);
	if (memcmp(&a, &b, sizeof(a)) != 0)
		return false;
	judge_address(r->ask->job, r->ask->name[0] ? r->ask->name : NULL, &b,
		      r->ask->q.port, &now);
	return now.told != NET_TOLD_OK;
}

static void won(struct race *r, struct attempt *t)
{
	struct net_address address = t->address;
	int one = 1, fd = t->src.fd;

	if (leads_back(r, fd)) {
		failed(r, t, EADDRINUSE);
		return;
	}
	loop_fd_del(&t->src);
	t->src.fd = -1;
	r->living--;
	door_count_sockets(r->ask->job->user, -1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ask_raced(r->ask, NET_TOLD_OK, &address, fd, NULL);
}

static void on_connected(struct loop_fd *src, uint32_t events)
{
	struct attempt *t = container_of(src, struct attempt, src);
	socklen_t size = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(src->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error)
		failed(src->arg, t, error);
	else
		won(src->arg, t);
}

/* Return: 0, or negative errno: no connect is under way. */
static int begin(struct race *r, struct attempt *t)
{
	struct door_user *u = r->ask->job->user;
	union socket_address to;
	socklen_t size = socket_address_of(&t->address, r->ask->q.port, &to);
	auto_close int fd = -1;

	if (!door_has_socket(u))
		return -EMFILE;
	fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || (connect(fd, &to.any, size) < 0 && errno != EINPROGRESS))
		return -errno;
	t->src = (struct loop_fd){ .fd = fd, .events = EPOLLOUT, .fn = on_connected,
				   .arg = r };
	if (loop_fd_add(u->door->loop, &t->src) < 0) {
		t->src.fd = -1;
		return -ENOMEM;
	}
	take_fd(&fd);
	door_count_sockets(u, 1);
	r->living++;
	return 0;
}

static void begin_next(struct race *r)
{
	int error = 0;

	while (r->begun < r->count) {
		error = -begin(r, &r->attempt[r->begun++]);
		if (!error)
			break;
		r->error = r->error ? r->error : error;
	}
	if (r->begun < r->count)
		loop_timer_set(r->ask->job->user->door->loop, &r->stagger, STAGGER_NS);
	else if (!r->living)
		end_with(r, error);
}

static void on_stagger(struct loop_timer *t)
{
	begin_next(t->arg);
}

/* Puts IPv6 and IPv4 in turn, each in the order in which they came. */
static void order(struct race *r, const struct net_address *a, unsigned count)
{
	unsigned next[2] = { 0, 0 };

	for (unsigned turn = 0; r->count < ATTEMPTS &&
				(next[0] < count || next[1] < count); turn++) {
		unsigned *at = &next[turn % 2];

		while (*at < count && net_address_is_ip4(&a[*at]) != (turn % 2 == 1))
			++*at;
		if (*at < count)
			r->attempt[r->count++] = (struct attempt){
				.src.fd = -1, .address = a[(*at)++] };
	}
}

int race_begin(struct door_ask *a, const struct net_address *address, unsigned count)
{
	struct race *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->ask = a;
	a->race = r;
	r->stagger = (struct loop_timer){ .fn = on_stagger, .arg = r };
	r->late = (struct loop_timer){ .fn = on_late, .arg = r };
	r->over = (struct loop_call){ .fn = on_over };
	order(r, address, count);
	loop_timer_set(a->job->user->door->loop, &r->late, DOOR_CONNECT_NS);
	begin_next(r);
	return 0;
}
