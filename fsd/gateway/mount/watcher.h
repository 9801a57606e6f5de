/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the files `events` of all jobs that the gateway waits for, on one
 * thread, and passes complete lines to the loop. If a client does not read, its
 * file is not read either; finally its program blocks.
 */
#ifndef GATEWAY_WATCHER_H
#define GATEWAY_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "fsd/gateway/base/reactor.h"
#include "layout/base/buf.h"
#include "layout/event_line.h"

#define WATCH_WAITING_MAX (256u << 10) /* most bytes of one file that wait */
#define WATCH_LINE_MAX (EVENT_SHOWN_MAX + 65536u) /* bytes of a line in a job's
						   * `events` */

struct watcher {
	struct reactor *reactor;
	pthread_t thread;
	bool started;
	int epoll, wake;
	struct inbox orders;
	atomic_bool ends;
};

struct watch;

struct watch_ops {
	/*
	 * All three are called on the loop. line() gets a line without its newline, and
	 * may change it.
	 */
	void (*line)(void *arg, char *line, size_t len);
	/* The file has ended (0), or cannot be read (negative errno). Called
	 * once, unless watch_stop() came before. */
	void (*end)(void *arg, int error);
	/* Called after watch_stop(): no event follows, arg may be freed. */
	void (*gone)(void *arg);
};

/* Return: 0 or negative errno. */
int watcher_open(struct watcher *w, struct reactor *r);
void watcher_close(struct watcher *w);

/*
 * Follows a file; on a worker. Takes fd, opened with O_NONBLOCK, also on
 * failure. ops may be called before it returns; *ret is set before. Return: 0
 * or negative errno.
 */
int watch_new(struct watcher *w, int fd, const struct watch_ops *ops, void *arg,
	      struct watch **ret);
/* Reports how many bytes, made from the file's lines, a client has not read. With too
 * many the file is not read. On the loop. */
void watch_waiting(struct watch *watch, size_t bytes);
/* Ends the watch; on the loop, once. */
void watch_stop(struct watch *watch);

#endif
