/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that serves a spool. One loop: it advances claims, claims entries while
 * there is room in the window, and waits for events, ends of jobs and signals. All claims
 * that wait for the disk share one syncfs(2), which takes about as long as one fsync(2):
 * ends that come during a sync share the next one.
 *
 * Backpressure: DIR/new is the queue. When the mount or DIR takes nothing more, no entry
 * is claimed for 1 to 30 seconds.
 */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fsd/client/figures.h"
#include "fsd/client/where.h"
#include "fsd/client/run_say.h"
#include "spool_int.h"
#include "vm/os/loop.h"

#define CLAIMS_MOST 32 /* a round */
#define PAUSE_LEAST NS_PER_S
#define PAUSE_MOST (30 * NS_PER_S)
#define MOUNT_PAUSE_MS 500
#define WINDOW_DEFAULT 8 /* used if the mount does not report how many machines it has */
#define FILES_EACH 2     /* descriptors of a claim */
#define FILES_OTHER 64

bool spool_is_ending(struct spool *s)
{
	if (client_signal(&s->signals))
		s->ending = true;
	return s->ending;
}

/* --- backpressure --------------------------------------------------------- */

void spool_block(struct spool *s, enum block why, const char *text)
{
	if (s->said != why)
		client_complain(0, "no entry is taken for a while: %s: %s", block_names[why], text);
	s->said = s->block = why;
	s->block_pause_ns = MIN(MAX(s->block_pause_ns * 2, PAUSE_LEAST), PAUSE_MOST);
	s->block_until_ns = now_ns() + s->block_pause_ns;
}

void spool_unblock(struct spool *s)
{
	if (s->said)
		client_complain(0, "entries are taken");
	s->said = s->block = BLOCK_NONE;
	s->block_pause_ns = s->block_until_ns = 0;
}

/* True while no entry is claimed. The next failure blocks again, and for longer. */
static bool is_blocked(struct spool *s)
{
	if (s->block && now_ns() >= s->block_until_ns)
		s->block = BLOCK_NONE;
	if (!s->block && place_is_low(&s->place))
		spool_block(s, BLOCK_DISK, "less than 64 MiB are free");
	return s->block;
}

/* --- a round -------------------------------------------------------------- */

static int advance_all(struct spool *s)
{
	list_for_each(node, next, &s->claims)
		if (claim_advance(s, list_entry(node, struct claim, node)) < 0)
			return -1;
	return 0;
}

static int claim_some(struct spool *s)
{
	for (int i = 0; i < CLAIMS_MOST && s->count < s->window && !s->ending; i++) {
		char name[NAME_MAX + 1];
		const char *next;

		if (is_blocked(s))
			return 0;
		next = entries_next(s->entries, (int64_t)(now_ns() / NS_PER_MS));
		if (!next)
			return 0;
		snprintf(name, sizeof(name), "%s", next);
		if (claim_entry(s, name) < 0)
			return -1;
	}
	return 0;
}

/* Syncs the claims that need it. Return: whether there was one. */
static bool sync_all(struct spool *s)
{
	bool any = false;

	list_for_each(node, next, &s->claims)
		any = any || list_entry(node, struct claim, node)->unsynced;
	if (!any)
		return false;
	if (syncfs(s->place.dir) < 0) {
		spool_block(s, BLOCK_DISK, strerror(errno));
		return false;
	}
	list_for_each(node, next, &s->claims)
		list_entry(node, struct claim, node)->unsynced = false;
	return true;
}

static int round_of(struct spool *s)
{
	struct err err = { 0 };

	if (entries_update(s->entries, (int64_t)(now_ns() / NS_PER_MS), &err) < 0)
		spool_block(s, BLOCK_DISK, err.text);
	if (advance_all(s) < 0 || claim_some(s) < 0)
		return -1;
	return sync_all(s) ? advance_all(s) : 0;
}

/* --- waiting -------------------------------------------------------------- */

/* Return: until when a claim needs no work. UINT64_MAX: until an event. */
static uint64_t due_of(const struct spool *s, const struct claim *c)
{
	if (c->wait >= 0 && !c->ended)
		return UINT64_MAX;
	return c->unsynced ? s->block_until_ns : c->due_ns; /* a sync has failed */
}

static int timeout_ms(struct spool *s)
{
	uint64_t now = now_ns(), due = MIN(s->status_ns, clean_due_ns(s));
	struct entries_counts count;
	int ms;

	list_for_each(node, next, &s->claims)
		due = MIN(due, due_of(s, list_entry(node, struct claim, node)));
	entries_count(s->entries, (int64_t)(now / NS_PER_MS), &count);
	if (count.complete && s->count < s->window)
		due = MIN(due, s->block ? s->block_until_ns : now);
	ms = due <= now ? 0 : (int)MIN((due - now) / NS_PER_MS + 1, 60000u);
	return MIN(ms, entries_timeout_ms(s->entries, (int64_t)(now / NS_PER_MS)));
}

/* Return: 0 or -ENOMEM. */
static int wait_for_more(struct spool *s)
{
	auto_free struct pollfd *p = NULL;
	nfds_t n = 2;

	list_for_each(node, next, &s->claims)
		n++;
	p = calloc(n, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p[0] = (struct pollfd){ .fd = s->signals.fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = entries_fd(s->entries), .events = POLLIN };
	n = 2;
	list_for_each(node, next, &s->claims) {
		const struct claim *c = list_entry(node, struct claim, node);

		p[n++] = (struct pollfd){ .fd = c->ended ? -1 : c->wait, .events = POLLIN };
	}
	if (poll(p, n, timeout_ms(s)) < 0)
		return errno == EINTR ? 0 : -errno;
	n = 2;
	list_for_each(node, next, &s->claims) {
		struct claim *c = list_entry(node, struct claim, node);

		c->ended = c->ended || p[n].revents;
		n++;
	}
	spool_is_ending(s);
	return 0;
}

/* Return: 0: a signal came; -1: the mount is dead. */
static int loop(struct spool *s)
{
	while (!s->ending) {
		if (now_ns() >= s->status_ns && claims_find(s) < 0)
			spool_block(s, BLOCK_DISK, "run cannot be read");
		if (round_of(s) < 0)
			return -1;
		status_write(s);
		clean_round(s);
		if (wait_for_more(s) < 0)
			spool_block(s, BLOCK_MOUNT, "out of memory");
	}
	status_write(s);
	return 0;
}

/* --- the beginning -------------------------------------------------------- */

static unsigned find_window(const struct spool *s)
{
	unsigned machines;

	if (s->o->window)
		return s->o->window;
	machines = figures_machines(s->mnt);
	return machines ? MIN(machines * 2, (unsigned)SPOOL_WINDOW_MOST) : WINDOW_DEFAULT;
}

static void raise_files(unsigned window)
{
	rlim_t most = (rlim_t)window * FILES_EACH + FILES_OTHER;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= most)
		return;
	limit.rlim_cur = MIN(MAX(limit.rlim_cur, most), limit.rlim_max);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Opens the mount. patient: the mount was there before, so wait for it to come back.
 * Return: 0 or an exit code. */
static int open_mount(struct spool *s, bool patient)
{
	struct err err = { 0 };

	while (where_mount(s->o->mount, s->mnt, &err) < 0) {
		struct pollfd p = { .fd = s->signals.fd, .events = POLLIN };

		if (!patient) {
			client_complain(0, "%s", err.text);
			return 1;
		}
		if (!s->block)
			spool_block(s, BLOCK_MOUNT, err.text);
		status_write(s);
		if (poll(&p, 1, MOUNT_PAUSE_MS) > 0 && spool_is_ending(s))
			return 0;
	}
	s->mount.mnt = s->mnt;
	s->mount.root = open(s->mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->mount.root >= 0)
		return 0;
	client_complain(0, "%s: %s", s->mnt, strerror(errno));
	return patient ? SERVE_AGAIN : 1;
}

static int open_entries(struct spool *s)
{
	const struct entries_options options = {
		.settle_ms = s->o->settle_ms, .poll_ms = s->o->poll_ms,
		.ready = s->o->ready, .poll_only = s->o->poll_only,
		.any_directory = s->o->program != NULL,
	};
	struct err err = { 0 };

	s->entries = entries_new(s->place.new, &options, (int64_t)(now_ns() / NS_PER_MS),
				 &err);
	if (s->entries)
		return 0;
	client_complain(0, "%s", err.text);
	return 1;
}

static int prepare(struct spool *s, bool again)
{
	struct err err = { 0 };
	int r;

	if (place_open(&s->place, s->o, &err) < 0 || place_lock(&s->place, &err) < 0) {
		client_complain(0, "%s", err.text);
		return err.code == -EINVAL ? 2 : 1;
	}
	r = open_mount(s, again);
	if (r || s->ending)
		return r;
	s->window = find_window(s);
	raise_files(s->window);
	r = open_entries(s);
	if (r)
		return r;
	if (claims_find(s) < 0) {
		client_complain(0, "%s/run/%s: %s", s->place.path, s->place.instance, strerror(errno));
		return 1;
	}
	claims_drop_orphans(s);
	clean_leftovers(s);
	if (spool_restrain(s, &err) == 0)
		return 0;
	client_complain(0, "%s", err.text);
	return 1;
}

static void finish(struct spool *s)
{
	list_for_each(node, next, &s->claims)
		claim_free(list_entry(node, struct claim, node));
	entries_free(s->entries);
	clean_end(s);
	buf_done(&s->status);
	place_close(&s->place);
	program_end(s);
	fd_close(&s->mount.root);
	fd_close(&s->signals.fd);
}

int spool_serve(const struct spool_options *o, bool again)
{
	struct spool s = { .o = o, .place = PLACE_NONE, .mount = CLIENT_MOUNT_NONE,
			   .signals = CLIENT_SIGNALS_NONE };
	int r = 0;

	list_init(&s.claims);
	client_signals_catch(&s.signals);
	if (o->program)
		r = program_begin(&s);
	if (r == 0)
		r = prepare(&s, again);
	if (r == 0 && !s.ending) {
		if (!again)
			client_complain(0, "serves %s as %s, through %s", o->dir, s.place.instance,
				  s.mnt);
		else
			spool_unblock(&s);
		if (loop(&s) < 0)
			r = SERVE_AGAIN;
	}
	finish(&s);
	return r;
}
