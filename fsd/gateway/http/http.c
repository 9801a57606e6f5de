/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners and connections. epoll reports edges (EPOLLET); connections that
 * can continue are in a list, and http_client.c lets each continue once after a
 * turn of the loop. Owns struct http. All functions run on the loop.
 */
#include "http_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"

/* --- addresses ---------------------------------------------------------------- */

/* Splits "[::1]:3000". */
static int split_address(const char *text, char *host, size_t size,
			 const char **port)
{
	bool brackets = *text == '[';
	const char *end = brackets ? strchr(text, ']') : strrchr(text, ':');
	size_t len;

	text += brackets;
	if (!end || end == text)
		return -EINVAL;
	len = (size_t)(end - text);
	end += brackets;
	if (len >= size || *end != ':' || !end[1] ||
	    (!brackets && memchr(text, ':', len)))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = end + 1;
	return 0;
}

static int resolve(const char *address, struct addrinfo **ret, struct err *err)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	char host[64];
	const char *port;

	if (split_address(address, host, sizeof(host), &port) < 0 ||
	    getaddrinfo(host, port, &hints, ret) != 0)
		return err_set(err, -EINVAL, "%.80s: an address is such as "
			       "127.0.0.1:3000 or [::1]:3000", address);
	return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
		 six->sin6_addr.s6_addr[12] == 127));
}

bool http_is_loopback(const char *address)
{
	struct addrinfo *info;
	bool is;

	if (resolve(address, &info, NULL) < 0)
		return false;
	is = is_loopback(info->ai_addr);
	freeaddrinfo(info);
	return is;
}

static int bind_socket(const struct addrinfo *info)
{
	auto_close int fd = socket(info->ai_family,
				   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (info->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 ||
	    listen(fd, 511) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Sets l->address: the address as given, with the port that the kernel chose for 0. */
static void tell_address(struct listener *l, const char *address)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	const char *colon = strrchr(address, ':');
	char port[8] = "";

	if (getsockname(l->fd, (void *)&own, &len) == 0)
		getnameinfo((void *)&own, len, NULL, 0, port, sizeof(port),
			    NI_NUMERICSERV);
	snprintf(l->address, sizeof(l->address), "%.*s:%s",
		 (int)(colon - address), address, port);
}

int http_open(struct gateway *g)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return -ENOMEM;
	list_init(&http->clients);
	list_init(&http->ready);
	list_init(&http->requests);
	list_init(&http->tunnels);
	shares_init(&http->budget, HTTP_BUDGET);
	g->http = http;
	return 0;
}

int http_listen(struct gateway *g, const char *address, unsigned services,
		bool keyless, struct err *err)
{
	struct listener *l = &g->http->listener[g->http->listeners];
	struct addrinfo *info;
	int r = resolve(address, &info, err);

	if (r < 0)
		return r;
	if (g->http->listeners == HTTP_LISTENERS) {
		freeaddrinfo(info);
		return err_set(err, -EINVAL, "at most %u addresses",
			       HTTP_LISTENERS);
	}
	r = bind_socket(info);
	freeaddrinfo(info);
	if (r < 0)
		return err_sys(err, r, "%s", address);
	*l = (struct listener){ .gateway = g, .fd = r, .services = services,
				.keyless = keyless };
	tell_address(l, address);
	g->http->listeners++;
	return 0;
}

/* --- connections -------------------------------------------------------------- */

static unsigned count_of(const struct http *h, const char *address)
{
	unsigned count = 0;

	list_for_each(pos, tmp, &h->clients)
		count += !strcmp(list_entry(pos, struct client, node)->address,
				 address);
	return count;
}

/* Finds a connection without a request. Those that came or were answered last
 * are at the end. */
static struct client *find_idle(struct http *h, const char *address)
{
	list_for_each(pos, tmp, &h->clients) {
		struct client *c = list_entry(pos, struct client, node);

		if ((c->at == AT_HEAD || c->at >= AT_REST) && !c->spare &&
		    (!address || !strcmp(c->address, address)))
			return c;
	}
	return NULL;
}

/* Makes room at a limit by closing an idle connection. Return: false: there is
 * none, except the new one. */
static bool make_room(struct http *h, const char *address,
		      const struct client *but)
{
	struct client *idle = find_idle(h, address);

	if (!idle || idle == but)
		return false;
	client_close(idle);
	return true;
}

/* Returns whether the connection is above the limit of all connections, or of those of
 * one other host, and no idle connection could be closed for it. */
static bool is_over(struct http *h, const struct client *c)
{
	if (!c->local && count_of(h, c->address) > HTTP_OF_ADDRESS)
		return !make_room(h, c->address, c);
	return h->connections > HTTP_CONNECTIONS && !make_room(h, NULL, c);
}

void client_wake(struct client *c)
{
	if (!c->ready.next || list_empty(&c->ready))
		list_add_tail(&c->gateway->http->ready, &c->ready);
}

static void on_socket(struct reactor_source *source, uint32_t events)
{
	struct client *c = container_of(source, struct client, source);

	c->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	c->writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		client_gone(c);
	client_wake(c);
}

static void on_clock(struct reactor_timer *timer)
{
	client_clock(container_of(timer, struct client, clock));
}

/* Opens a connection. Takes fd. */
static void client_open(struct listener *l, int fd, const struct sockaddr *from,
			socklen_t len)
{
	struct gateway *g = l->gateway;
	struct client *c = calloc(1, sizeof(*c));
	int yes = 1;

	if (!c || getnameinfo(from, len, c->address, sizeof(c->address), NULL, 0,
			      NI_NUMERICHOST) != 0 ||
	    reactor_add(&g->reactor, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
			&c->source) < 0) {
		close(fd);
		free(c);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	c->gateway = g;
	c->listener = l;
	c->fd = fd;
	c->source.fn = on_socket;
	c->clock.fn = on_clock;
	c->local = is_loopback(from);
	c->in.cap = CLIENT_IN;
	c->writable = true;
	list_add_tail(&g->http->clients, &c->node);
	g->http->connections++;
	c->spare = is_over(g->http, c);
	reactor_timer_set(&g->reactor, &c->clock, HTTP_IDLE_MS);
}

static void look_at(struct listener *l, bool paused)
{
	struct gateway *g = l->gateway;

	if (l->paused == paused || l->fd < 0)
		return;
	l->paused = paused;
	if (paused)
		reactor_remove(&g->reactor, l->fd);
	else if (reactor_add(&g->reactor, l->fd, EPOLLIN, &l->source) < 0)
		l->paused = true;
}

void client_close(struct client *c)
{
	struct gateway *g = c->gateway;

	c->at = AT_END;
	if (c->tunnel)
		c->tunnel->free(c->tunnel);
	if (c->request)
		request_over(c->request);
	reactor_timer_stop(&c->clock);
	reactor_remove(&g->reactor, c->fd);
	fd_close(&c->fd);
	list_del(&c->node);
	list_del(&c->ready);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
	g->http->connections--;
	for (unsigned i = 0; i < g->http->listeners; i++)
		look_at(&g->http->listener[i], false);
}

/* Accepts a limited number at a time, so that others get their turn. */
static void on_listener(struct reactor_source *source, uint32_t events)
{
	struct listener *l = container_of(source, struct listener, source);
	struct http *h = l->gateway->http;

	(void)events;
	for (unsigned n = 0; n < 64; n++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		int fd;

		if (h->connections >= HTTP_CONNECTIONS + HTTP_SPARE &&
		    !make_room(h, NULL, NULL)) {
			look_at(l, true);
			return;
		}
		fd = accept4(l->fd, (void *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && h->connections)
			look_at(l, true);
		if (fd < 0)
			return;
		client_open(l, fd, (void *)&from, len);
	}
}

/* --- start and end ------------------------------------------------------ */

int http_start(struct gateway *g, const struct route *routes, struct err *err)
{
	int r = 0;

	g->http->routes = routes;
	for (unsigned i = 0; r == 0 && i < g->http->listeners; i++) {
		struct listener *l = &g->http->listener[i];

		l->source.fn = on_listener;
		r = reactor_add(&g->reactor, l->fd, EPOLLIN, &l->source);
		if (r < 0)
			err_sys(err, r, "%s", l->address);
	}
	return r;
}

void http_quiesce(struct gateway *g)
{
	for (unsigned i = 0; i < g->http->listeners; i++) {
		look_at(&g->http->listener[i], true);
		fd_close(&g->http->listener[i].fd);
	}
}

void http_stop(struct gateway *g)
{
	struct client *c;

	while ((c = list_first(&g->http->clients, struct client, node))) {
		if (c->request) /* jobs continue without the gateway */
			c->request->ops = NULL;
		client_close(c);
	}
	http_quiesce(g);
}

bool http_is_idle(const struct gateway *g)
{
	return list_empty(&g->http->requests);
}

bool http_has_workers(const struct gateway *g)
{
	list_for_each(pos, tmp, &g->http->requests)
		if (list_entry(pos, struct request, node)->handed)
			return true;
	return false;
}

void http_run(struct gateway *g)
{
	struct list now;
	struct client *c;

	list_init(&now);
	while ((c = list_first(&g->http->ready, struct client, ready))) {
		list_del(&c->ready);
		list_add_tail(&now, &c->ready);
	}
	while ((c = list_first(&now, struct client, ready))) {
		list_del(&c->ready);
		client_go(c);
	}
}
