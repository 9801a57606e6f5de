/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the files `events` of all jobs that the gateway waits for, on one thread,
 * and hands whole lines to the loop. A client that does not read stops its stream
 * there: then the file is not read, and the program behind it waits in the end.
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

#define WATCH_WAITING_MAX (256u << 10) /* bytes of one file that wait */
#define WATCH_LINE_MAX (EVENT_SHOWN_MAX + 65536u) /* of a job's events */

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
	/* Both on the loop. A line without its newline; it may be changed. */
	void (*line)(void *arg, char *line, size_t len);
	/* The file has ended (0), or cannot be read (negative errno). Comes once,
	 * unless watch_stop() came before. */
	void (*end)(void *arg, int error);
	/* After watch_stop(): nothing more comes, arg may go. */
	void (*gone)(void *arg);
};

/* Return: 0 or negative errno. */
int watcher_open(struct watcher *w, struct reactor *r);
void watcher_close(struct watcher *w);

/* Takes fd, of a file opened with O_NONBLOCK, even when it fails. On a worker. ops may
 * be called before it returns; *ret is set before. Return: 0 or negative errno. */
int watch_new(struct watcher *w, int fd, const struct watch_ops *ops, void *arg,
	      struct watch **ret);
/* On the loop: so many bytes of its lines are still with a client. */
void watch_waiting(struct watch *watch, size_t bytes);
/* On the loop, once. */
void watch_stop(struct watch *watch);

#endif
