/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One epoll over files of the mount, on a thread of its own, since each wait
 * and each read is a request to the daemon. A file is armed for one event at a
 * time (EPOLLONESHOT); it is armed again when the loop has less than
 * WATCH_WAITING_MAX of its bytes. Owns struct watch.
 */
#include "watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define READ_SIZE (64u << 10)

/* An order of the loop to the watcher. */
struct order {
	struct list node;
	struct watch *watch;
	bool stop;
};

struct watch {
	struct watcher *watcher;
	const struct watch_ops *ops;
	void *arg;
	int fd;
	struct buf line; /* an incomplete line; used by the watcher */
	bool parked; /* the file is not armed; the watcher's own flag */
	atomic_size_t posted; /* bytes on their way to the loop */
	atomic_size_t waiting; /* bytes that the client has not read */
	bool ended; /* used by the loop */
	atomic_bool stopped;
	struct order go, stop; /* `stop` is the last order */
	atomic_bool ordered; /* `go` was sent */
	struct reactor_post gone;
};

/* Lines on their way to the loop. */
struct chunk {
	struct reactor_post post;
	struct watch *watch;
	int error; /* 1: lines follow; 0: the file has ended; or negative errno */
	size_t len;
	char data[];
};

/* --- on the loop ------------------------------------------------------------ */

static void send_order(struct watcher *w, struct order *o)
{
	inbox_put(&w->orders, &o->node);
	eventfd_write(w->wake, 1);
}

static void go_on(struct watch *watch)
{
	if (!atomic_exchange(&watch->ordered, true))
		send_order(watch->watcher, &watch->go);
}

static void on_chunk(struct reactor_post *post)
{
	struct chunk *c = container_of(post, struct chunk, post);
	struct watch *watch = c->watch;
	size_t at = 0;

	while (at < c->len && !watch->stopped) {
		char *line = c->data + at;
		char *end = memchr(line, '\n', c->len - at);

		*end = '\0';
		at = (size_t)(end + 1 - c->data);
		watch->ops->line(watch->arg, line, (size_t)(end - line));
	}
	atomic_fetch_sub(&watch->posted, c->len);
	if (!watch->stopped && c->error <= 0 && !watch->ended) {
		watch->ended = true;
		watch->ops->end(watch->arg, c->error);
	} else if (!watch->stopped) {
		go_on(watch);
	}
	free(c);
}

void watch_waiting(struct watch *watch, size_t bytes)
{
	size_t before = atomic_exchange(&watch->waiting, bytes);

	if (before >= WATCH_WAITING_MAX / 2 && bytes < WATCH_WAITING_MAX / 2)
		go_on(watch);
}

void watch_stop(struct watch *watch)
{
	watch->stopped = true;
	send_order(watch->watcher, &watch->stop);
}

static void on_gone(struct reactor_post *post)
{
	struct watch *watch = container_of(post, struct watch, gone);

	watch->ops->gone(watch->arg);
	buf_done(&watch->line);
	free(watch);
}

/* --- on the watcher's thread --------------------------------------------------- */

static void post_chunk(struct watch *watch, const char *data, size_t len,
		       int error)
{
	struct chunk *c = malloc(sizeof(*c) + len);

	if (!c) /* losing a line would be worse */
		abort();
	*c = (struct chunk){ .post = { .fn = on_chunk }, .watch = watch,
			     .error = error, .len = len };
	memcpy(c->data, data, len);
	atomic_fetch_add(&watch->posted, len);
	reactor_post(watch->watcher->reactor, &c->post);
}

/* Passes on the complete lines, keeps the rest. */
static int take_lines(struct watch *watch)
{
	struct buf *b = &watch->line;
	char *last = b->len ? memrchr(b->data, '\n', b->len) : NULL;
	size_t whole = last ? (size_t)(last + 1 - b->data) : 0;

	if (!whole)
		return b->failed;
	post_chunk(watch, b->data, whole, 1);
	buf_eat(b, whole);
	return 0;
}

static bool is_full(struct watch *watch)
{
	return atomic_load(&watch->posted) + atomic_load(&watch->waiting) >=
	       WATCH_WAITING_MAX;
}

static void arm(struct watch *watch)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT,
				 .data.ptr = watch };

	watch->parked = epoll_ctl(watch->watcher->epoll, EPOLL_CTL_MOD,
				  watch->fd, &e) < 0;
}

/* Reads available bytes, then arms the file again. */
static void look(struct watch *watch)
{
	ssize_t n = 1;
	int r = 0;

	watch->parked = true;
	while (n > 0 && r == 0 && !watch->stopped && !is_full(watch)) {
		r = buf_reserve(&watch->line, READ_SIZE);
		if (r < 0)
			break;
		n = read(watch->fd, watch->line.data + watch->line.len,
			 READ_SIZE);
		if (n > 0) {
			watch->line.len += (size_t)n;
			r = take_lines(watch);
		}
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		r = -errno;
	if (watch->stopped || (n > 0 && r == 0))
		return; /* full: an order will arm it */
	if (n == 0 || r < 0)
		post_chunk(watch, "", 0, r);
	else
		arm(watch);
}

static void end_watch(struct watch *watch)
{
	epoll_ctl(watch->watcher->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	fd_close(&watch->fd);
	watch->gone.fn = on_gone;
	reactor_post(watch->watcher->reactor, &watch->gone);
}

static void take_orders(struct watcher *w)
{
	struct list all;
	struct order *o;
	eventfd_t count;

	eventfd_read(w->wake, &count);
	list_init(&all);
	inbox_take(&w->orders, &all);
	while ((o = list_first(&all, struct order, node))) {
		struct watch *watch = o->watch;

		list_del(&o->node);
		if (o->stop) {
			end_watch(watch);
			continue;
		}
		atomic_store(&watch->ordered, false);
		if (!watch->stopped && watch->parked && !is_full(watch))
			look(watch);
	}
}

static void *watch_files(void *arg)
{
	struct watcher *w = arg;
	struct epoll_event e[32];

	while (!w->ends) {
		int n = epoll_wait(w->epoll, e, ARRAY_SIZE(e), -1);
		bool orders = false;

		for (int i = 0; i < n; i++)
			if (e[i].data.ptr)
				look(e[i].data.ptr);
			else
				orders = true;
		/* last, because an order may end a watch of this turn */
		if (orders)
			take_orders(w);
	}
	return NULL;
}

/* --- the watcher's calls ------------------------------------------------ */

int watcher_open(struct watcher *w, struct reactor *r)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };
	int error;

	w->reactor = r;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->epoll < 0 || w->wake < 0 ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &e) < 0)
		return -errno;
	error = pthread_create(&w->thread, NULL, watch_files, w);
	w->started = !error;
	return -error;
}

void watcher_close(struct watcher *w)
{
	w->ends = true;
	if (w->started) {
		eventfd_write(w->wake, 1);
		pthread_join(w->thread, NULL);
	}
	fd_close(&w->epoll);
	fd_close(&w->wake);
}

int watch_new(struct watcher *w, int fd, const struct watch_ops *ops, void *arg,
	      struct watch **ret)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT,
				 .data.ptr = watch };

	if (!watch) {
		close(fd);
		return -ENOMEM;
	}
	watch->watcher = w;
	watch->ops = ops;
	watch->arg = arg;
	watch->fd = fd;
	watch->line.cap = WATCH_LINE_MAX;
	watch->go.watch = watch->stop.watch = watch;
	watch->stop.stop = true;
	*ret = watch;
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		int r = -errno;

		close(fd);
		free(watch);
		return r;
	}
	return 0;
}
