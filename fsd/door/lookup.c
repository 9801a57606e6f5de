/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up names: in the host's hosts file, among the answers that a user has already got,
 * then by c-ares. Answers are kept for each user apart, so no user learns from the time of
 * an answer which names another has asked for.
 *
 * c-ares gets no file, no search domain and no cache of its own. Its sockets are sources
 * of the loop. Owns the channel, its sockets and all look-ups.
 */
#include "door.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "race.h"

#define TRY_MS 1000 /* doubles with each round */
#define TRIES 2
#define EDNS_BYTES 1232
#define TTL_MOST 60

struct resolver {
	ares_channel channel;
	struct door *door;
	struct list sockets; /* of struct resolver_socket */
	struct loop_timer due;
};

struct resolver_socket {
	struct list node;
	struct resolver *resolver;
	struct loop_fd src;
};

/* --- sockets and time ---------------------------------------------------- */

static void set_timer(struct resolver *r)
{
	struct timeval room, *due = ares_timeout(r->channel, NULL, &room);

	if (!due) {
		loop_timer_del(&r->due);
		return;
	}
	loop_timer_set(r->door->loop, &r->due, (uint64_t)due->tv_sec * NS_PER_S +
		       (uint64_t)due->tv_usec * 1000 + NS_PER_MS);
}

static void on_due(struct loop_timer *t)
{
	struct resolver *r = t->arg;

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(r);
}

static void on_socket(struct loop_fd *src, uint32_t events)
{
	struct resolver *r = ((struct resolver_socket *)src->arg)->resolver;
	ares_socket_t fd = src->fd; /* the source may be freed below */

	ares_process_fd(r->channel, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
			events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	set_timer(r);
}

static struct resolver_socket *socket_of(struct resolver *r, int fd)
{
	struct resolver_socket *s;

	list_for_each(node, next, &r->sockets) {
		s = list_entry(node, struct resolver_socket, node);
		if (s->src.fd == fd)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->resolver = r;
	s->src = (struct loop_fd){ .fd = fd, .fn = on_socket, .arg = s };
	list_add(&r->sockets, &s->node);
	return s;
}

static void drop_socket(struct resolver_socket *s)
{
	loop_fd_del(&s->src);
	list_del(&s->node);
	free(s);
}

/* c-ares says what it waits for. A socket that cannot be added is one that does not
 * answer: its query ends by its time. */
static void on_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = data;
	struct resolver_socket *s = socket_of(r, fd);
	uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

	if (!s)
		return;
	if (!events) {
		drop_socket(s);
	} else if (s->src.loop) {
		loop_fd_mod(&s->src, events);
	} else {
		s->src.events = events;
		loop_fd_add(r->door->loop, &s->src);
	}
}

/* --- look-ups ------------------------------------------------------------ */

static void free_lookup(struct lookup *l)
{
	list_del(&l->node);
	l->user->name_count--;
	door_turn_end(&l->turn);
	free(l);
}

void lookups_free(struct door_user *u)
{
	struct lookup *l;

	while ((l = list_first(&u->names, struct lookup, node)))
		free_lookup(l);
}

void lookup_leave(struct door_ask *a)
{
	struct lookup *l = a->lookup;

	if (!l)
		return;
	a->lookup = NULL;
	list_del(&a->among);
	if (l->state == LOOKUP_WAITS && list_empty(&l->asks))
		free_lookup(l);
}

static void give(struct door_ask *a, const struct lookup *l)
{
	memcpy(a->found, l->address, sizeof(a->found));
	a->found_count = l->count;
}

static void take_addresses(struct lookup *l, const struct ares_addrinfo *found)
{
	int ttl = TTL_MOST;

	for (const struct ares_addrinfo_node *n = found->nodes;
	     n && l->count < DOOR_ADDRESSES; n = n->ai_next) {
		union socket_address s;

		if ((n->ai_family != AF_INET && n->ai_family != AF_INET6) ||
		    n->ai_addrlen > sizeof(s))
			continue;
		memcpy(&s, n->ai_addr, n->ai_addrlen);
		socket_address_read(&s, &l->address[l->count++]);
		ttl = MIN(ttl, n->ai_ttl);
	}
	l->until_ns = now_ns() + (uint64_t)MAX(ttl, 1) * NS_PER_S;
}

/* Returns whether the name servers have said that the name has no address. */
static bool is_no_name(int status)
{
	return status == ARES_ENOTFOUND || status == ARES_ENODATA ||
	       status == ARES_EBADNAME;
}

static void on_found(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
	struct lookup *l = arg;
	struct door_user *u = l->user;
	struct door_ask *a;
	bool silent = status != ARES_SUCCESS && !is_no_name(status);

	(void)timeouts;
	if (status == ARES_SUCCESS)
		take_addresses(l, found);
	if (found)
		ares_freeaddrinfo(found);
	l->state = LOOKUP_KNOWN;
	door_turn_end(&l->turn);
	while ((a = list_first(&l->asks, struct door_ask, among))) {
		give(a, l);
		a->silent = silent;
		ask_resolved(a); /* takes it out of the list */
	}
	if (!l->count)
		free_lookup(l);
	u->queries--;
	door_user_put(u);
}

static void on_place(struct door_turn *t)
{
	static const struct ares_addrinfo_hints hints = {
		.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT,
		.ai_socktype = SOCK_STREAM,
	};
	struct lookup *l = container_of(t, struct lookup, turn);
	struct resolver *r = l->user->door->resolver;

	l->state = LOOKUP_ASKS;
	l->user->queries++;
	ares_getaddrinfo(r->channel, l->name, NULL, &hints, on_found, l);
	set_timer(r);
}

/* Drops the answer that was used longest ago, if a user has the most that he may have.
 * Return: false: all of his names are being asked for. */
static bool make_room(struct door_user *u)
{
	if (u->name_count < DOOR_NAMES)
		return true;
	for (struct list *node = u->names.prev; node != &u->names; node = node->prev) {
		struct lookup *l = list_entry(node, struct lookup, node);

		if (l->state == LOOKUP_KNOWN) {
			free_lookup(l);
			return true;
		}
	}
	return false;
}

static struct lookup *find(struct door_user *u, const char *name)
{
	list_for_each(node, next, &u->names) {
		struct lookup *l = list_entry(node, struct lookup, node);

		if (strcmp(l->name, name) != 0)
			continue;
		list_del(&l->node);
		list_add(&u->names, &l->node);
		return l;
	}
	return NULL;
}

static struct lookup *new_lookup(struct door_user *u, const char *name)
{
	struct lookup *l = make_room(u) ? calloc(1, sizeof(*l)) : NULL;

	if (!l)
		return NULL;
	l->user = u;
	memcpy(l->name, name, sizeof(l->name));
	list_init(&l->asks);
	l->turn.kind = DOOR_LOOKUP;
	l->turn.go = on_place;
	list_add(&u->names, &l->node);
	u->name_count++;
	return l;
}

void lookup_ask(struct door_ask *a)
{
	struct door_user *u = a->job->user;
	struct lookup *l = find(u, a->name);

	a->found_count = hosts_find(&u->door->hosts, a->name, a->found, DOOR_ADDRESSES);
	if (l && l->state == LOOKUP_KNOWN && l->until_ns <= now_ns()) {
		free_lookup(l);
		l = NULL;
	}
	if (!a->found_count && l && l->state == LOOKUP_KNOWN)
		give(a, l);
	if (a->found_count) {
		ask_resolved(a);
		return;
	}
	if (!l)
		l = new_lookup(u, a->name);
	if (!l) {
		a->silent = true;
		ask_resolved(a);
		return;
	}
	a->lookup = l;
	list_add_tail(&l->asks, &a->among);
	if (l->state == LOOKUP_WAITS && !l->turn.user)
		door_turn_ask(u, &l->turn);
}

/* --- begin and end ------------------------------------------------------- */

int resolver_new(struct door *d, const char *resolv_conf, struct err *err)
{
	char lookups[] = "b";
	struct resolver *r = calloc(1, sizeof(*r));
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = TRY_MS, .tries = TRIES, .lookups = lookups,
		.ednspsz = EDNS_BYTES, .sock_state_cb = on_state, .sock_state_cb_data = r,
		.resolvconf_path = (char *)(uintptr_t)resolv_conf,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
		   ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS | ARES_OPT_EDNSPSZ |
		   ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF;
	int status;

#ifdef ARES_OPT_QUERY_CACHE /* from 1.23 on: off, since users must not share it */
	mask |= ARES_OPT_QUERY_CACHE;
	o.qcache_max_ttl = 0;
#endif
#ifdef ARES_OPT_UDP_MAX_QUERIES /* from 1.20 on: new source ports, often */
	mask |= ARES_OPT_UDP_MAX_QUERIES;
	o.udp_max_queries = 1;
#endif
	if (!r)
		return err_sys(err, -ENOMEM, "the resolver");
	r->door = d;
	list_init(&r->sockets);
	r->due = (struct loop_timer){ .fn = on_due, .arg = r };
	status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status == ARES_SUCCESS)
		status = ares_init_options(&r->channel, &o, mask);
	if (status != ARES_SUCCESS) {
		free(r);
		return err_set(err, -EINVAL, "%s: %s", resolv_conf,
			       ares_strerror(status));
	}
	d->resolver = r;
	return 0;
}

void resolver_free(struct door *d)
{
	struct resolver *r = d->resolver;
	struct resolver_socket *s;

	if (!r)
		return;
	ares_destroy(r->channel);
	while ((s = list_first(&r->sockets, struct resolver_socket, node)))
		drop_socket(s);
	loop_timer_del(&r->due);
	ares_library_cleanup();
	free(r);
	d->resolver = NULL;
}
