/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests for environments, and the socket to the program that builds them
 * (`fsd env build --serve`, fsd/env/serve.py). A packet there is the words of one
 * request; packets that come back are "step TEXT" any number of times, then "ok" or
 * "failed TEXT". TEXT is of others, for people.
 */
#include "builds.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fsd/jobs/environments.h"
#include "run_int.h"
#include "vm/os/spawn.h"

#define AGAIN_NS (600 * NS_PER_S)
#define PACKET_MAX 4096
#define FAILURES_MAX 64
#define FAULT "config.json: \"packages\": the environment cannot be built: %s"

/* An environment that runs wait for, or one that could not be built. */
struct build {
	struct list node;
	char *words;       /* owned: what fsd env build is given */
	struct list runs;  /* of struct run; empty: all have gone */
	unsigned packages; /* that were asked for */
	uint64_t until_ns; /* of a failure: not tried again before, */
	char why[400];     /* and its sentence */
};

struct builds {
	struct fsd *d;
	struct loop_fd sock;   /* its fd is owned; -1: the program has ended */
	struct child child;
	struct list waiting;   /* of struct build, oldest first */
	struct build *current; /* that of them which is being built, or NULL */
	struct list failed;    /* of struct build, oldest first */
};

static void build_free(struct build *b)
{
	list_del(&b->node);
	free(b->words);
	free(b);
}

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

/* --- one after the other -------------------------------------------------------- */

static void next(struct builds *bs)
{
	struct build *b = list_first(&bs->waiting, struct build, node);
	size_t len = b ? strlen(b->words) : 0;

	if (!b || bs->current || bs->sock.fd < 0)
		return;
	if (send(bs->sock.fd, b->words, len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)len)
		bs->current = b;
	else
		log_warn("an environment is not built: %s", strerror(errno));
}

/* Those that wait go on, or end with the sentence. */
static void release(struct build *b, const char *why)
{
	struct run *run;

	while ((run = list_first(&b->runs, struct run, in_build))) {
		list_del(&run->in_build);
		run->build = NULL;
		if (!why) {
			run->built = true;
			run_queue(run);
			continue;
		}
		run->final = true;
		run_no_machine(run, why);
	}
}

static void forget_oldest(struct builds *bs)
{
	unsigned count = 0;

	list_for_each(pos, tmp, &bs->failed)
		count++;
	if (count > FAILURES_MAX)
		build_free(list_first(&bs->failed, struct build, node));
}

/* why NULL: it is there. */
static void ended(struct builds *bs, const char *why)
{
	struct build *b = take_ptr(bs->current);
	char text[sizeof(b->why) + sizeof(FAULT)];

	list_del(&b->node);
	if (!why) {
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
	next(bs);
}

static void tell(struct build *b, const char *step)
{
	list_for_each(pos, tmp, &b->runs)
		job_log(list_entry(pos, struct run, in_build)->job,
			"builds its environment: %s", step);
}

/* No more can be built until there is another server. */
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

/* --- runs ------------------------------------------------------------------------ */

static struct build *ask(struct builds *bs, const char *words, unsigned packages)
{
	struct build *b = calloc(1, sizeof(*b));

	if (b)
		b->words = strdup(words);
	if (!b || !b->words) {
		free(b);
		return NULL;
	}
	list_init(&b->runs);
	b->packages = packages;
	list_add_tail(&bs->waiting, &b->node);
	next(bs);
	return b;
}

static void say_waits(struct builds *bs, const struct build *b, struct run *run)
{
	unsigned ahead = 0;

	list_for_each(pos, tmp, &bs->waiting) {
		if (pos == &b->node)
			break;
		ahead++;
	}
	job_log(run->job, "builds an environment for %u package%s (%u ahead)",
		b->packages, b->packages == 1 ? "" : "s", ahead);
}

int builds_take(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	struct builds *bs = run->d->builds;
	auto_buf struct buf words = { 0 };
	struct build *b;

	if (!bs || run->built || !environments_lack(run->d, c, &words))
		return 0;
	b = failure(bs, words.data);
	if (b) {
		run->final = true;
		return err_set(err, -EINVAL, FAULT, b->why);
	}
	if (bs->sock.fd < 0)
		return 0; /* as without it: there is none */
	b = find(&bs->waiting, words.data);
	if (!b)
		b = ask(bs, words.data, (unsigned)c->packages.count);
	if (!b)
		return err_sys(err, -ENOMEM, "an environment cannot be built");
	run->build = b;
	list_add_tail(&b->runs, &run->in_build);
	say_waits(bs, b, run);
	return 1;
}

/* What is being built goes on: others may ask for it. */
void builds_leave(struct run *run)
{
	struct builds *bs = run->d->builds;
	struct build *b = run->build;

	if (!b)
		return;
	list_del(&run->in_build);
	run->build = NULL;
	if (list_empty(&b->runs) && b != bs->current)
		build_free(b);
}

/* --- begin and end ---------------------------------------------------------------- */

static int start(struct builds *bs, int sock, struct err *err)
{
	const struct mount_options *o = bs->d->options;
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
	if (o->build_sources) {
		argv[n++] = "--sources";
		argv[n++] = o->build_sources;
	}
	argv[n] = NULL;
	return spawn(&s, &bs->child, err);
}

int builds_open(struct fsd *d, struct err *err)
{
	struct builds *bs;
	int sock[2], r;

	if (!d->options->build_packages)
		return 0;
	bs = calloc(1, sizeof(*bs));
	if (!bs || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0) {
		free(bs);
		return err_sys(err, -ENOMEM, "the program that builds");
	}
	bs->d = d;
	list_init(&bs->waiting);
	list_init(&bs->failed);
	bs->sock = (struct loop_fd){
		.fd = sock[0], .events = EPOLLIN, .fn = on_packet, .arg = bs,
	};
	d->builds = bs;
	r = start(bs, sock[1], err);
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
	fd_close(&bs->sock.fd); /* it ends by that, and with it its build */
	fd_close(&bs->child.pidfd);
	fd_close(&bs->child.stderr_fd);
	free_all(&bs->waiting);
	free_all(&bs->failed);
	free(bs);
}
