/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the requests for environments, and talks to the program that builds
 * them (`fsd env build --serve`, fsd/env/serve.py) over a socket. A packet to
 * the program has the words of one request; the program answers with any number
 * of "step TEXT", then "ok" or "failed TEXT". TEXT comes from other programs
 * and is shown to people only. All functions run on the loop.
 */
#include "builds.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fsd/jobs/environments.h"
#include "vm/environment/environment.h"
#include "vm/os/spawn.h"
#include "fsd/users/users.h"

#define AGAIN_NS (600 * NS_PER_S)
#define PACKET_MAX 4096
#define FAILURES_MAX 64
#define FAULT "config.json: \"packages\": the environment cannot be built: %s"

/* A user who has asked for builds, or has built environments. Never freed
 * before the end: there are only as many as users. */
struct owner {
	struct list node;
	uid_t uid;
	/* bytes of all built environments, as the quota counts them */
	uint64_t bytes;
	uint64_t found; /* the new sum of `bytes`, during a count */
	uint64_t begun_ns; /* when the newest build for this user began */
};

/* An environment that jobs wait for, or one whose build failed. */
struct build {
	struct list node;
	struct owner *owner;
	char *words; /* owned: arguments for fsd env build */
	/* owned: the newest step that the program has reported, or NULL */
	char *step;
	/* of struct build_wait; empty: no job waits for it any more */
	struct list waits;
	unsigned packages; /* number of packages that were asked for */
	/* after a failure: no new attempt before this time */
	uint64_t until_ns;
	char why[400]; /* the sentence of the failure */
};

struct builds {
	struct fsd *d;
	/* the socket of the program that builds; owned; -1: that program has ended */
	struct loop_fd sock;
	struct child child;
	struct list owners;
	struct list waiting;   /* list of struct build, oldest first */
	/* the element of `waiting` that is being built, or NULL */
	struct build *current;
	struct list failed;    /* list of struct build, oldest first */
};

static void build_free(struct build *b)
{
	list_del(&b->node);
	free(b->step);
	free(b->words);
	free(b);
}

/* Finds a build by its words. These begin with a name that contains the user's
 * number. */
static struct build *find(struct list *list, const char *words)
{
	list_for_each(pos, tmp, list) {
		struct build *b = list_entry(pos, struct build, node);

		if (!strcmp(b->words, words))
			return b;
	}
	return NULL;
}

static struct build *failure(struct builds *bs, const char *words)
{
	struct build *b = find(&bs->failed, words);

	if (b && b->until_ns <= now_ns()) {
		build_free(b);
		b = NULL;
	}
	return b;
}

/* --- the bytes of each user --------------------------------------------- */

/* Returns the owner of uid, or makes it. NULL without memory. */
static struct owner *owner_of(struct builds *bs, uid_t uid)
{
	struct owner *o;

	list_for_each(pos, tmp, &bs->owners) {
		o = list_entry(pos, struct owner, node);
		if (o->uid == uid)
			return o;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->uid = uid;
	list_add_tail(&bs->owners, &o->node);
	return o;
}

static void add_found(struct builds *bs, const struct environment_name *n)
{
	struct environment *e = NULL;
	struct owner *o;
	uid_t uid;

	if (!environment_name_owner(n->name, &uid) || !n->id[0] ||
	    environment_open_id(environments_places(bs->d->environments), n->id,
				&e, NULL) < 0)
		return;
	o = owner_of(bs, uid);
	if (o)
		/* the layers of parents do not count */
		o->found += e->layers[0].size;
	environment_unref(e);
}

/* Counts the bytes of all users' environments, since fsd env also adds and
 * removes some. If they cannot be listed the old figures stay. */
static void count(struct builds *bs)
{
	struct quota *q = users_quota(bs->d->users);
	struct environment_names names;

	if (!quota_counts_bytes(q) ||
	    environment_names(environments_places(bs->d->environments), &names,
			      NULL) < 0)
		return;
	for (size_t i = 0; i < names.count; i++)
		add_found(bs, &names.name[i]);
	environment_names_done(&names);
	list_for_each(pos, tmp, &bs->owners) {
		struct owner *o = list_entry(pos, struct owner, node);

		quota_count_bytes(quota_user(q, o->uid), o->found - o->bytes);
		o->bytes = o->found;
		o->found = 0;
	}
}

/* --- building, one after the other -------------------------------------- */

/* Returns the first waiting build of the user whose newest build began the
 * longest ago. */
static struct build *choose(struct builds *bs)
{
	struct build *best = NULL;

	list_for_each(pos, tmp, &bs->waiting) {
		struct build *b = list_entry(pos, struct build, node);

		if (!best || b->owner->begun_ns < best->owner->begun_ns)
			best = b;
	}
	return best;
}

/* Sends the words of a build, and the most bytes that its layer may have. */
static int send_words(struct builds *bs, const struct build *b)
{
	uint64_t left = quota_left(quota_user(users_quota(bs->d->users),
					      b->owner->uid));
	auto_buf struct buf words = { 0 };

	buf_str(&words, b->words);
	if (left != UINT64_MAX)
		buf_fmt(&words, " --most %" PRIu64, left);
	if (words.failed)
		return -ENOMEM;
	return send(bs->sock.fd, words.data, words.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)words.len
		       ? 0 : -errno;
}

static void next(struct builds *bs)
{
	struct build *b = choose(bs);
	int r;

	if (!b || bs->current || bs->sock.fd < 0)
		return;
	r = send_words(bs, b);
	if (r < 0) {
		log_warn("an environment is not built: %s", strerror(-r));
		return;
	}
	bs->current = b;
	b->owner->begun_ns = now_ns();
}

static void release(struct build *b, const char *why)
{
	struct build_wait *w;

	while ((w = list_first(&b->waits, struct build_wait, node))) {
		builds_leave(w);
		w->ops->done(w, why);
	}
}

static void forget_oldest(struct builds *bs)
{
	unsigned failures = 0;

	list_for_each(pos, tmp, &bs->failed)
		failures++;
	if (failures > FAILURES_MAX)
		build_free(list_first(&bs->failed, struct build, node));
}

/* Ends the current build. why NULL: it has succeeded. */
static void ended(struct builds *bs, const char *why)
{
	struct build *b = bs->current;
	char text[sizeof(b->why) + sizeof(FAULT)];

	list_del(&b->node); /* no job can join the build from here on */
	if (!why) {
		count(bs);
		release(b, NULL);
		build_free(b);
	} else {
		snprintf(b->why, sizeof(b->why), "%s", why);
		b->until_ns = now_ns() + AGAIN_NS;
		list_add_tail(&bs->failed, &b->node);
		snprintf(text, sizeof(text), FAULT, b->why);
		log_warn("the environment %s cannot be built: %s", b->words,
			 b->why);
		release(b, text);
		forget_oldest(bs);
	}
	bs->current = NULL;
	next(bs);
}

static void tell_step(struct build_wait *w, const char *step)
{
	char text[PACKET_MAX + 40];

	snprintf(text, sizeof(text), "builds its environment: %s", step);
	w->ops->tell(w, text);
}

/* Passes a step to all that wait. Jobs that join later get the newest step as
 * well; without memory they get the next one. */
static void tell(struct build *b, const char *step)
{
	free(b->step);
	b->step = strdup(step);
	list_for_each(pos, tmp, &b->waits)
		tell_step(list_entry(pos, struct build_wait, node), step);
}

/* Fails all builds, since the program has ended. Only another server starts it
 * again. */
static void gone(struct builds *bs)
{
	static const char why[] = "the program that builds environments has "
				  "ended; see the server's log";
	int status;

	loop_fd_del(&bs->sock);
	fd_close(&bs->sock.fd);
	child_reap(&bs->child, &status);
	log_error("%s", why);
	while (!list_empty(&bs->waiting)) {
		bs->current = list_first(&bs->waiting, struct build, node);
		ended(bs, why);
	}
}

static void on_packet(struct loop_fd *src, uint32_t events)
{
	struct builds *bs = src->arg;
	char text[PACKET_MAX + 1];
	ssize_t n = recv(src->fd, text, PACKET_MAX, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		gone(bs);
		return;
	}
	text[n] = '\0';
	utf8_make_plain(text);
	if (!bs->current)
		return;
	if (!strcmp(text, "ok"))
		ended(bs, NULL);
	else if (!strncmp(text, "failed ", 7))
		ended(bs, text + 7);
	else if (!strncmp(text, "step ", 5))
		tell(bs->current, text + 5);
}

/* --- jobs that wait ----------------------------------------------------- */

static struct build *ask(struct builds *bs, uid_t uid, const char *words,
			 unsigned packages)
{
	struct owner *owner = owner_of(bs, uid);
	struct build *b = owner ? calloc(1, sizeof(*b)) : NULL;

	if (b)
		b->words = strdup(words);
	if (!b || !b->words) {
		free(b);
		return NULL;
	}
	list_init(&b->waits);
	b->owner = owner;
	b->packages = packages;
	list_add_tail(&bs->waiting, &b->node);
	next(bs);
	return b;
}

/* Returns how many builds come before b. Users take turns, so another user's builds count
 * only up to the number of this user's builds before b, plus one. */
static unsigned ahead_of(struct builds *bs, const struct build *b)
{
	unsigned own = 0, ahead;

	list_for_each(pos, tmp, &bs->waiting) {
		if (pos == &b->node)
			break;
		own += list_entry(pos, struct build, node)->owner == b->owner;
	}
	ahead = own;
	list_for_each(at, then, &bs->owners) {
		const struct owner *o = list_entry(at, struct owner, node);
		unsigned theirs = 0;

		list_for_each(pos, tmp, &bs->waiting)
			theirs += list_entry(pos, struct build, node)->owner == o;
		if (o != b->owner)
			ahead += MIN(theirs, own + 1);
	}
	return ahead;
}

void builds_tell(struct builds *bs, struct build_wait *w)
{
	const struct build *b = w->build;
	char text[100];

	if (!b)
		return;
	snprintf(text, sizeof(text),
		 "builds an environment for %u package%s (%u ahead)",
		 b->packages, b->packages == 1 ? "" : "s", ahead_of(bs, b));
	w->ops->tell(w, text);
	if (b->step)
		tell_step(w, b->step);
}

void builds_join(struct builds *bs, struct build *b, struct build_wait *w,
		 uid_t uid)
{
	w->build = b;
	w->builds = bs;
	list_add_tail(&b->waits, &w->node);
	sched_keep_place(bs->d->sched, uid, &w->place);
}

/* Returns 0, or -EDQUOT with a sentence: the user's quota has no bytes left. */
static int check_room(struct builds *bs, uid_t uid, struct err *err)
{
	count(bs);
	return quota_check_bytes(quota_user(users_quota(bs->d->users), uid), 1,
				 err);
}

int builds_take(struct builds *bs, uid_t uid, const struct job_config *c,
		struct build_wait *w, struct err *err)
{
	auto_buf struct buf words = { 0 };
	struct err why;
	struct build *b;

	if (!bs || !environments_lack(bs->d, uid, c, &words))
		return 0;
	b = failure(bs, words.data);
	if (b)
		return err_set(err, -EINVAL, FAULT, b->why);
	if (bs->sock.fd < 0)
		/* as without --build-packages: no environment has these packages */
		return 0;
	b = find(&bs->waiting, words.data);
	if (!b && check_room(bs, uid, &why) < 0)
		return err_set(err, -EINVAL, FAULT, why.text);
	if (!b)
		b = ask(bs, uid, words.data, (unsigned)c->packages.count);
	if (!b)
		return err_sys(err, -ENOMEM, "an environment cannot be built");
	builds_join(bs, b, w, uid);
	return 1;
}

/* Ends the wait. A build that has begun continues, since its environment may serve later
 * jobs. One that has not begun is freed with the last job that waits for it. */
void builds_leave(struct build_wait *w)
{
	struct build *b = take_ptr(w->build);

	if (!b)
		return;
	list_del(&w->node);
	sched_give_place(&w->place);
	if (list_empty(&b->waits) && b != w->builds->current)
		build_free(b);
}

struct build_wait *builds_find(struct builds *bs,
			       bool (*fn)(struct build_wait *w,
					  const void *arg),
			       const void *arg)
{
	list_for_each(pos, tmp, &bs->waiting) {
		struct build *b = list_entry(pos, struct build, node);

		list_for_each(at, then, &b->waits) {
			struct build_wait *w =
				list_entry(at, struct build_wait, node);

			if (fn(w, arg))
				return w;
		}
	}
	return NULL;
}

/* --- start and end ------------------------------------------------------ */

static int start(struct builds *bs, const struct builds_options *o, int sock,
		 struct err *err)
{
	const char *argv[12] = { "fsd-builder", "env", "build", "--serve" };
	unsigned n = 4;
	const struct spawn s = {
		.argv = argv, .program = "/proc/self/exe",
		.fds = &sock, .fd_count = 1, .error_fd = STDERR_FILENO,
		.may_gain = true, .outlives = true,
	};

	argv[n++] = "--image";
	argv[n++] = o->image_dir;
	if (o->environments_dir) {
		argv[n++] = "--environments";
		argv[n++] = o->environments_dir;
	}
	if (o->sources) {
		argv[n++] = "--sources";
		argv[n++] = o->sources;
	}
	argv[n] = NULL;
	return spawn(&s, &bs->child, err);
}

int builds_open(struct fsd *d, const struct builds_options *options,
		struct err *err)
{
	struct builds *bs = calloc(1, sizeof(*bs));
	int sock[2], r;

	if (!bs || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0) {
		free(bs);
		return err_sys(err, -ENOMEM, "the program that builds");
	}
	bs->d = d;
	list_init(&bs->owners);
	list_init(&bs->waiting);
	list_init(&bs->failed);
	bs->sock = (struct loop_fd){
		.fd = sock[0], .events = EPOLLIN, .fn = on_packet, .arg = bs,
	};
	d->builds = bs;
	count(bs);
	r = start(bs, options, sock[1], err);
	close(sock[1]);
	if (r == 0)
		r = loop_fd_add(d->loop, &bs->sock);
	return r;
}

static void free_all(struct list *list)
{
	while (!list_empty(list))
		build_free(list_first(list, struct build, node));
}

void builds_close(struct fsd *d)
{
	struct builds *bs = take_ptr(d->builds);

	if (!bs)
		return;
	loop_fd_del(&bs->sock);
	/* the program ends when this is closed, and its build too */
	fd_close(&bs->sock.fd);
	fd_close(&bs->child.pidfd);
	fd_close(&bs->child.stderr_fd);
	free_all(&bs->waiting);
	free_all(&bs->failed);
	list_for_each(pos, tmp, &bs->owners)
		free(list_entry(pos, struct owner, node));
	free(bs);
}
