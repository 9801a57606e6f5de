/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges addresses: by the rules (layout/network/verdict.h), and by whether the host has
 * the address itself. It gives the reason for a person. There is no state.
 *
 * A rule cannot know the host's own addresses, and they change. So the kernel is asked at
 * each use: a datagram socket that is "connected" to an own address has that address as
 * its source. No packet is sent. bind(2) would not do, since with ip_nonlocal_bind every
 * address can be bound. Where the kernel has no socket for that, no address passes.
 */
#include "door.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "race.h"

#define ANY_PORT 9 /* discard: no datagram is sent */

int judge_is_own(const struct net_address *a)
{
	union socket_address to, from;
	socklen_t size = socket_address_of(a, ANY_PORT, &to);
	auto_close int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t got = sizeof(from);
	struct net_address source;

	if (fd < 0)
		return errno == EAFNOSUPPORT ? 0 : -errno;
	if (connect(fd, &to.any, size) < 0 || getsockname(fd, &from.any, &got) < 0)
		return 0; /* no route leads there, so none leads back */
	socket_address_read(&from, &source);
	return !memcmp(&source, a, sizeof(*a));
}

static void say(struct judgement *ret, const struct net_address *a, const char *end)
{
	auto_buf struct buf text = { .cap = 0 };

	net_address_print(a, &text);
	snprintf(ret->why, sizeof(ret->why), "it leads to %s, %s",
		 text.data ? text.data : "an address", end);
}

void judge_address(const struct door_job *job, const char *name,
		   const struct net_address *a, unsigned port, struct judgement *ret)
{
	struct net_asker asker = { &job->user->share, &job->wish };
	struct net_address plain = net_address_plain(a);
	int own = judge_is_own(a);

	if (own == 0)
		own = judge_is_own(&plain);
	if (own < 0) {
		*ret = (struct judgement){ NET_TOLD_LIMIT,
					   "the host's connections are used up" };
		return;
	}
	*ret = (struct judgement){ .told = NET_TOLD_OK };
	switch (net_address_verdict(&asker, name, a, port, own > 0)) {
	case NET_OK:
		break;
	case NET_DENIED:
		ret->told = NET_TOLD_DENIED;
		if (name)
			say(ret, a, "which a rule denies");
		else
			snprintf(ret->why, sizeof(ret->why), "no rule names it");
		break;
	case NET_IS_PRIVATE:
		ret->told = NET_TOLD_PRIVATE;
		say(ret, a, "a private address (the operator's \"reach\" does not cover "
			    "it)");
		break;
	case NET_IS_OWN:
		ret->told = NET_TOLD_OWN;
		say(ret, a, "an address of this host");
		break;
	}
}
