/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets. One libmicrohttpd daemon a listener, without a thread of its own: its
 * epoll descriptor lies in the loop's. A suspended connection does not see that its
 * client has gone, so a duplicate of each connection's descriptor is in the loop, too.
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

/* "[::1]:3000" to its two halves. */
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

/* As it was given, with the port that the kernel chose for 0. */
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

int http_listen(struct gateway *g, const char *address, unsigned services,
		bool keyless, struct err *err)
{
	struct listener *l = &g->http.listener[g->http.listeners];
	struct addrinfo *info;
	int r = resolve(address, &info, err);

	if (r < 0)
		return r;
	if (g->http.listeners == HTTP_LISTENERS) {
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
	g->http.listeners++;
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

/* True if the gateway, or the other host, has its bound of connections plus more. */
static bool is_full(const struct http *h, const char *address, bool local,
		    unsigned more)
{
	return h->connections >= HTTP_CONNECTIONS + more ||
	       (!local && count_of(h, address) >= HTTP_OF_ADDRESS + more);
}

static enum MHD_Result accept_policy(void *arg, const struct sockaddr *from,
				     socklen_t len)
{
	struct listener *l = arg;
	char address[64];

	if (getnameinfo(from, len, address, sizeof(address), NULL, 0,
			NI_NUMERICHOST) != 0)
		return MHD_NO;
	return is_full(&l->gateway->http, address, is_loopback(from), HTTP_SPARE) ?
		       MHD_NO : MHD_YES;
}

/* The library frees a connection that it has closed at the socket's next event. If the
 * client went before, no event comes: the connection would stay, and count, until
 * HTTP_IDLE_S are over. */
static void look_again(struct client *c)
{
	MHD_suspend_connection(c->connection);
	MHD_resume_connection(c->connection);
}

/* A request of which a part has come waits for the rest. The library takes a short read
 * for all that there is, and looks no more: it misses an end that came with the last
 * bytes. A second end wakes it. What is unread then can be read all the same. */
static void on_left(struct reactor_timer *timer)
{
	struct client *c = container_of(timer, struct client, left);

	if (c->closed) {
		look_again(c);
		return;
	}
	if (!c->request || request_comes(c->request))
		shutdown(c->fd, SHUT_RD);
	reactor_timer_set(&c->gateway->reactor, &c->left, HTTP_LEFT_MS);
}

static void on_socket(struct reactor_source *source, uint32_t events)
{
	struct client *c = container_of(source, struct client, source);

	(void)events;
	if (c->gone)
		return;
	c->gone = true;
	/* the library looks first, behind this turn of the loop */
	reactor_timer_set(&c->gateway->reactor, &c->left, 1);
	if (c->request)
		request_client_gone(c->request);
}

/* The library then sees a connection that was closed. */
static void on_headers_late(struct reactor_timer *timer)
{
	struct client *c = container_of(timer, struct client, headers);

	shutdown(c->fd, SHUT_RDWR);
}

static void client_open(struct listener *l, struct MHD_Connection *connection,
			void **context)
{
	struct gateway *g = l->gateway;
	struct client *c = calloc(1, sizeof(*c));
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *from = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	int yes = 1;

	if (!c)
		return; /* its requests are refused */
	c->gateway = g;
	c->connection = connection;
	c->fd = fcntl(fd->connect_fd, F_DUPFD_CLOEXEC, 3);
	c->source.fn = on_socket;
	c->headers.fn = on_headers_late;
	c->left.fn = on_left;
	c->local = is_loopback(from->client_addr);
	getnameinfo(from->client_addr, sizeof(struct sockaddr_in6), c->address,
		    sizeof(c->address), NULL, 0, NI_NUMERICHOST);
	c->spare = is_full(&g->http, c->address, c->local, 0);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (c->fd < 0 || reactor_add(&g->reactor, c->fd, EPOLLRDHUP | EPOLLET,
				     &c->source) < 0) {
		fd_close(&c->fd);
		free(c);
		return;
	}
	list_add_tail(&g->http.clients, &c->node);
	g->http.connections++;
	reactor_timer_set(&g->reactor, &c->headers, HTTP_HEADERS_MS);
	*context = c;
}

static void client_close(struct client *c)
{
	struct gateway *g = c->gateway;

	reactor_timer_stop(&c->headers);
	reactor_timer_stop(&c->left);
	reactor_remove(&g->reactor, c->fd);
	fd_close(&c->fd);
	list_del(&c->node);
	g->http.connections--;
	if (c->request)
		c->request->client = NULL;
	free(c);
}

static void on_connection(void *arg, struct MHD_Connection *connection,
			  void **context, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		client_open(arg, connection, context);
	else if (*context)
		client_close(*context);
}

/* --- requests ------------------------------------------------------------------- */

/* Its first line is there. The library gives the result back as *state. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct listener *l = arg;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *c = info ? info->socket_context : NULL;

	if (!c)
		return NULL;
	reactor_timer_set(&l->gateway->reactor, &c->headers, HTTP_HEADERS_MS);
	return request_new(l->gateway, l, c, connection, uri);
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *connection,
				 const char *url, const char *method,
				 const char *version, const char *data,
				 size_t *len, void **state)
{
	struct request *r = *state;

	(void)arg;
	(void)connection;
	(void)url;
	(void)version;
	if (!r || !r->client)
		return MHD_NO;
	reactor_timer_stop(&r->client->headers);
	return request_access(r, method, data, len);
}

static void on_completed(void *arg, struct MHD_Connection *connection,
			 void **state, enum MHD_RequestTerminationCode code)
{
	struct request *r = *state;
	struct client *c = r ? r->client : NULL;

	(void)arg;
	(void)connection;
	if (r)
		request_over(r);
	if (c && c->gone) {
		c->closed = code != MHD_REQUEST_TERMINATED_COMPLETED_OK;
		reactor_timer_set(&c->gateway->reactor, &c->left, 1);
	}
	*state = NULL;
}

__attribute__((format(printf, 2, 0))) static void
on_message(void *arg, const char *fmt, va_list ap)
{
	char text[256];

	(void)arg;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
}

/* --- the library -------------------------------------------------------------------- */

static void on_daemon(struct reactor_source *source, uint32_t events)
{
	(void)source;
	(void)events; /* http_run() follows each turn of the loop */
}

static int start(struct gateway *g, struct listener *l, struct err *err)
{
	const union MHD_DaemonInfo *info;
	int r;

	l->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		accept_policy, l, on_access, l, MHD_OPTION_EXTERNAL_LOGGER,
		on_message, NULL, MHD_OPTION_LISTEN_SOCKET, l->fd,
		MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS + HTTP_SPARE,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_POOL,
		MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_S,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, l,
		MHD_OPTION_URI_LOG_CALLBACK, on_uri, l,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, l, MHD_OPTION_END);
	if (!l->daemon)
		return err_set(err, -EIO, "%s: the HTTP library does not start",
			       l->address);
	info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	l->source.fn = on_daemon;
	r = info ? reactor_add(&g->reactor, info->epoll_fd, EPOLLIN, &l->source)
		 : -EIO;
	return r < 0 ? err_sys(err, r, "%s", l->address) : 0;
}

int http_start(struct gateway *g, struct err *err)
{
	int r = 0;

	list_init(&g->http.clients);
	list_init(&g->http.requests);
	for (unsigned i = 0; r == 0 && i < g->http.listeners; i++)
		r = start(g, &g->http.listener[i], err);
	return r;
}

void http_quiesce(struct gateway *g)
{
	for (unsigned i = 0; i < g->http.listeners; i++) {
		int fd = MHD_quiesce_daemon(g->http.listener[i].daemon);

		fd_close(&fd);
	}
}

void http_stop(struct gateway *g)
{
	/* the library may not stop with a connection that is suspended */
	list_for_each(pos, tmp, &g->http.requests) {
		struct request *r = list_entry(pos, struct request, node);

		r->ops = NULL; /* jobs go on without us */
		r->ended = r->cut = true;
		answer_gone(r);
	}
	http_run(g);
	for (unsigned i = 0; i < g->http.listeners; i++)
		if (g->http.listener[i].daemon)
			MHD_stop_daemon(g->http.listener[i].daemon);
}

int http_timeout(struct gateway *g)
{
	int least = -1;

	for (unsigned i = 0; i < g->http.listeners; i++) {
		MHD_UNSIGNED_LONG_LONG ms;

		if (MHD_get_timeout(g->http.listener[i].daemon, &ms) != MHD_YES)
			continue;
		if (least < 0 || (int)MIN(ms, 60000u) < least)
			least = (int)MIN(ms, 60000u);
	}
	return least;
}

void http_run(struct gateway *g)
{
	for (unsigned i = 0; i < g->http.listeners; i++)
		if (g->http.listener[i].daemon)
			MHD_run(g->http.listener[i].daemon);
}
