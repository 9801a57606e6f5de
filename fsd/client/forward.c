/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between TCP connections of loopback and a socket of the mount, ports/N of
 * a job, session or sandbox. If that socket is not there, the verb "port N" of ctl opens
 * it first. One thread, one poll(2) over all connections; each direction has one buffer,
 * and its source is read only while the buffer is empty.
 *
 * The process belongs to the user who starts it, so the mount's rules about who may
 * connect hold: no process of fsd serves the port.
 */
#include "forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "layout/layout.h"
#include "run_say.h"

#define PAIRS 128u /* most connections at a time */
#define BUFFER (64u << 10)

/* One direction of a connection. */
struct way {
	char data[BUFFER];
	size_t from, to; /* the bytes that wait: data[from .. to) */
	bool eof;        /* the source has ended */
	bool shut;       /* the other side knows of that end */
};

struct pair {
	int fd[2]; /* owned: TCP, the mount's socket */
	struct way way[2]; /* way[i]: from fd[i] to fd[!i] */
};

struct forward {
	int dir; /* borrowed */
	const char *what;
	unsigned port;
	int listener;
	unsigned count;
	struct pair *pair[PAIRS];
};

/* --- the mount's socket -------------------------------------------------- */

static int open_port(const struct forward *f)
{
	auto_close int ctl = openat(f->dir, "ctl", O_WRONLY | O_CLOEXEC);
	char verb[16];
	int n = snprintf(verb, sizeof(verb), "port %u\n", f->port);

	return ctl < 0 || write(ctl, verb, (size_t)n) != n ? -errno : 0;
}

static int connect_once(const struct forward *f)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	auto_close int dir = openat(f->dir, "ports", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = -1;

	if (dir < 0)
		return -errno;
	/* the directory's path may be too long for an address */
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%u", dir, f->port);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const void *)&at, sizeof(at)) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Makes sure that the socket is there, without a connection: a program would serve that.
 * Return: 0 or negative errno. */
static int find_port(const struct forward *f)
{
	char name[16];
	struct stat st;

	snprintf(name, sizeof(name), "ports/%u", f->port);
	if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? open_port(f) : -errno;
	return S_ISSOCK(st.st_mode) ? 0 : -ENOENT;
}

/* Return: a connected descriptor or a negative errno. */
static int connect_port(const struct forward *f)
{
	int r = connect_once(f);

	if (r != -ENOENT)
		return r;
	r = open_port(f);
	return r < 0 ? r : connect_once(f);
}

/* --- connections ---------------------------------------------------------- */

static void pair_end(struct forward *f, unsigned i)
{
	struct pair *p = f->pair[i];

	fd_close(&p->fd[0]);
	fd_close(&p->fd[1]);
	free(p);
	f->pair[i] = f->pair[--f->count];
}

static void accept_one(struct forward *f)
{
	auto_close int tcp = accept4(f->listener, NULL, NULL,
				     SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct pair *p;
	int fd;

	if (tcp < 0)
		return;
	fd = connect_port(f);
	p = fd < 0 ? NULL : malloc(sizeof(*p));
	if (!p) {
		client_complain(1, "port %u of %s: %s", f->port, f->what,
			 strerror(fd < 0 ? -fd : ENOMEM));
		if (fd >= 0)
			close(fd);
		return;
	}
	p->fd[0] = take_fd(&tcp);
	p->fd[1] = fd;
	for (int i = 0; i < 2; i++) {
		p->way[i].from = p->way[i].to = 0;
		p->way[i].eof = p->way[i].shut = false;
	}
	f->pair[f->count++] = p;
}

/* Moves what can be moved in one direction. Return: false: the connection is broken. */
static bool move(struct pair *p, int i)
{
	struct way *w = &p->way[i];
	ssize_t n;

	if (w->from == w->to && !w->eof) {
		n = recv(p->fd[i], w->data, BUFFER, 0);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		w->from = 0;
		w->to = (size_t)n;
		w->eof = n == 0;
	}
	if (w->from < w->to) {
		n = send(p->fd[!i], w->data + w->from, w->to - w->from, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		w->from += (size_t)n;
	}
	if (w->eof && w->from == w->to && !w->shut) {
		w->shut = true;
		shutdown(p->fd[!i], SHUT_WR);
	}
	return true;
}

static short wanted(const struct pair *p, int i)
{
	const struct way *in = &p->way[i], *out = &p->way[!i];

	return (short)((in->from == in->to && !in->eof ? POLLIN : 0) |
		       (out->from < out->to ? POLLOUT : 0));
}

static void serve_pairs(struct forward *f, const struct pollfd *poll)
{
	for (unsigned i = f->count; i-- > 0;) {
		struct pair *p = f->pair[i];

		if (!poll[2 * i].revents && !poll[2 * i + 1].revents)
			continue;
		if (!move(p, 0) || !move(p, 1) || (p->way[0].shut && p->way[1].shut))
			pair_end(f, i);
	}
}

/* Waits for an event on any connection, and handles it. Return: 0 or negative errno. */
static int turn(struct forward *f)
{
	struct pollfd all[2 * PAIRS + 1];
	unsigned count = f->count;

	for (unsigned i = 0; i < count; i++)
		for (int k = 0; k < 2; k++)
			all[2 * i + (unsigned)k] = (struct pollfd){
				.fd = wanted(f->pair[i], k) ? f->pair[i]->fd[k] : -1,
				.events = wanted(f->pair[i], k) };
	all[2 * count] = (struct pollfd){ .fd = count < PAIRS ? f->listener : -1,
					  .events = POLLIN };
	if (poll(all, 2 * count + 1, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	serve_pairs(f, all);
	if (all[2 * count].revents)
		accept_one(f);
	return 0;
}

static int listen_at(unsigned local, unsigned *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)local),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const void *)&at, size) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (void *)&at, &size) < 0)
		return -errno;
	*ret_port = ntohs(at.sin_port);
	return take_fd(&fd);
}

int forward(int dir, const char *what, unsigned port, unsigned local)
{
	struct forward f = { .dir = dir, .what = what, .port = port };
	unsigned at = 0;
	int r;

	client_speaks_as("forward");
	r = find_port(&f);
	if (r < 0)
		return client_complain(1, "port %u of %s: %s", port, what,
				r == -ENOENT || r == -ESRCH
					? "no machine runs with \"ports\""
					: strerror(-r));
	r = f.listener = listen_at(local, &at);
	if (r < 0)
		return client_complain(1, "127.0.0.1:%u: %s", local, strerror(-r));
	printf("http://127.0.0.1:%u\n", at);
	fflush(stdout);
	do {
		r = turn(&f);
	} while (r == 0);
	return client_complain(1, "%s", strerror(-r));
}
