/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the jailer process, sends it requests and passes its answers to each machine. A
 * struct jail owns the socket, the child and the list of machines (struct jailed).
 *
 * All functions run on the loop's thread. jail_open() and jail_close() block, up to 30 s
 * and 3 s: they run at a server's start and end. A jail from jail_adopt() belongs to a
 * jailer that an earlier server started.
 */
#include "jail.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "jailer.h"
#include "vm/os/spawn.h"
#include "vm/os/uids.h"

/* how long jail_open() waits for the jailer's first message */
#define OPEN_WAIT_MS 30000
#define SEND_WAIT_S 2

struct jail {
	struct loop *loop;
	struct child child;
	int sock;
	struct loop_fd says;
	struct list machines; /* list of struct jailed, by jailed.node */
	uint32_t last_id;
	bool adopted; /* the jailer belongs to an earlier server */
	bool unheard; /* the first message was not read yet */
	struct walls *walls; /* borrowed: gets the findings of that message */
	bool strict;
	void (*gone)(void *arg);
	void *arg;
};

/* The jailer's first message: its findings, or an error. */
union jail_found {
	struct walls walls;
	struct err err;
};

/* --- machines ----------------------------------------------------------- */

static void forget(struct jailed *m)
{
	list_del(&m->node);
	m->jail = NULL;
}

static void tell_ended(struct jail *j, const struct jail_answer *a)
{
	struct err err = { 0 };

	if (a->code < 0)
		err_sys(&err, a->code, "QEMU cannot be started: %s",
			a->step < JAIL_STEPS ? jail_step_names[a->step] : "?");
	list_for_each(pos, tmp, &j->machines) {
		struct jailed *m = list_entry(pos, struct jailed, node);

		if (m->id != a->id)
			continue;
		forget(m);
		m->ended(m, a->code < 0 ? 0 : a->code, &err);
		return;
	}
}

static void tell_cost(struct jail *j, const struct jail_answer *a)
{
	uint64_t bytes = (uint64_t)MAX(a->code, 0) << 10;

	list_for_each (pos, tmp, &j->machines) {
		struct jailed *m = list_entry(pos, struct jailed, node);

		if (m->id != a->id)
			continue;
		if (m->cost)
			m->cost(m, bytes);
		return;
	}
}

static void jailer_gone(struct jail *j)
{
	struct err err;
	struct jailed *m;

	if (!j->adopted)
		log_error("the jailer has ended: no machine can be started any "
			  "more");
	loop_fd_del(&j->says);
	fd_close(&j->sock);
	err_set(&err, -EPIPE, "the jailer has ended");
	if (j->gone) /* first, so that the owner does not blame the machines */
		j->gone(j->arg);
	while ((m = list_first(&j->machines, struct jailed, node))) {
		forget(m);
		m->ended(m, 0, &err);
	}
}

static int judge(const struct walls *w, struct err *err);

/* Reads the jailer's first message if jail_open() did not wait for it. Return:
 * false: end this jailer. */
static bool hear_late(struct jail *j)
{
	union jail_found said;
	struct err err = { 0 };
	ssize_t n = recv(j->sock, &said, sizeof(said), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	j->unheard = false;
	if (n == (ssize_t)sizeof(said.walls)) {
		*j->walls = said.walls;
		if (!j->strict || judge(&said.walls, &err) == 0)
			return true;
	} else if (n == (ssize_t)sizeof(said.err)) {
		err = said.err;
	}
	if (err.code)
		log_error("%s", err.text);
	return false;
}

static void on_says(struct loop_fd *src, uint32_t events)
{
	struct jail *j = src->arg;
	struct jail_answer a;
	ssize_t n;

	(void)events;
	if (j->unheard) {
		if (!hear_late(j))
			jailer_gone(j);
		return;
	}
	while (j->sock >= 0) {
		n = recv(j->sock, &a, sizeof(a), MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == (ssize_t)sizeof(struct walls) && j->adopted)
			/* the jailer's first message, which the dead server did not
			 * read: ignore it */
			continue;
		if (n == (ssize_t)sizeof(a) && a.version == JAIL_VERSION &&
		    a.said == JAIL_ENDED)
			tell_ended(j, &a);
		else if (n == (ssize_t)sizeof(a) && a.version == JAIL_VERSION &&
			 a.said == JAIL_COSTS)
			tell_cost(j, &a);
		else
			jailer_gone(j);
	}
}

static int say(struct jail *j, const struct jail_request *q, const int *fds,
	       unsigned count)
{
	ssize_t n = fdpass_send(j->sock, q, sizeof(*q), fds, count, 0);

	return n < 0 ? (int)n : 0;
}

/* Sends a short order. If that fails the jailer has ended, and its machines
 * too. */
static void order(struct jail *j, enum jail_op op, uint32_t id)
{
	struct jail_request q = {
		.version = JAIL_VERSION, .op = op, .id = id,
	};
	int r = j->sock < 0 ? 0 : say(j, &q, NULL, 0);

	if (r < 0)
		log_warn("the jailer does not take an order: %s",
			 strerror(-r));
}

int jail_start(struct jail *j, const struct jail_request *what, const int *fds,
	       struct jailed *m, struct err *err)
{
	struct jail_request q = *what;
	int r;

	q.version = JAIL_VERSION;
	q.op = JAIL_START;
	q.id = ++j->last_id;
	r = j->sock < 0 ? -EPIPE : say(j, &q, fds, jail_fd_count(&q));
	if (r < 0)
		return err_sys(err, r, "the jailer");
	m->jail = j;
	m->id = q.id;
	list_add_tail(&j->machines, &m->node);
	return 0;
}

int jailed_teach(struct jailed *m, uint32_t zygote)
{
	struct jail_request q = {
		.version = JAIL_VERSION, .op = JAIL_TEACH, .id = m->id,
		.zygote = zygote,
	};

	return m->jail && m->jail->sock >= 0 ? say(m->jail, &q, NULL, 0) :
					       -EPIPE;
}

void jailed_ask_cost(struct jailed *m)
{
	if (m->jail)
		order(m->jail, JAIL_COST, m->id);
}

void jailed_kill(struct jailed *m)
{
	/* without a jailer the process has ended already */
	if (m->jail)
		order(m->jail, JAIL_KILL, m->id);
}

void jailed_drop(struct jailed *m)
{
	if (!m->jail)
		return;
	jailed_kill(m);
	forget(m);
}

/* --- the jailer ---------------------------------------------------------------- */

int jail_socket(const struct jail *j)
{
	return j->sock;
}

bool jail_is_empty(const struct jail *j)
{
	return list_empty(&j->machines);
}

static struct jail *new_jail(struct loop *loop, int sock)
{
	struct timeval limit = { .tv_sec = SEND_WAIT_S };
	struct jail *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->loop = loop;
	j->sock = sock;
	j->child = (struct child){ .pidfd = -1, .stderr_fd = -1 };
	list_init(&j->machines);
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return j;
}

static int listen_to(struct jail *j)
{
	j->says = (struct loop_fd){
		.fd = j->sock, .events = EPOLLIN, .fn = on_says, .arg = j,
	};
	return loop_fd_add(j->loop, &j->says);
}

int jail_adopt(struct loop *loop, int sock, struct jail **ret)
{
	struct jail *j = new_jail(loop, sock);
	int r;

	if (!j) {
		close(sock);
		return -ENOMEM;
	}
	r = listen_to(j);
	if (r < 0) {
		jail_close(j);
		return r;
	}
	j->adopted = true;
	order(j, JAIL_ADOPT, 0);
	*ret = j;
	return 0;
}

void jail_keep(struct jail *j, uint32_t id, struct jailed *m)
{
	m->jail = j;
	m->id = id;
	list_add_tail(&j->machines, &m->node);
	order(j, JAIL_KEEP, id);
}

void jail_sweep(struct jail *j)
{
	order(j, JAIL_SWEEP, 0);
}

static int start_jailer(struct jail *j, const struct jail_options *o,
			int theirs, struct err *err)
{
	char first[16], count[16], most[16];
	const char *argv[] = { "/proc/self/exe", JAILER_COMMAND, o->qemu,
			       o->image_dir, first, count,
			       o->kvm ? "kvm" : "tcg", most, NULL };
	struct spawn s = {
		.argv = argv, .fds = (int[]){ theirs, o->kernel, o->initrd },
		.fd_count = 3, .outlives = true,
	};
	snprintf(first, sizeof(first), "%u",
		 o->uid_count ? o->uid_first : UIDS_FIRST);
	snprintf(count, sizeof(count), "%u",
		 o->uid_count ? o->uid_count : UIDS_COUNT);
	snprintf(most, sizeof(most), "%u", o->most);
	return spawn(&s, &j->child, err);
}

/* Waits for the jailer's first message: its findings, or an error. */
static int hear_walls(struct jail *j, struct walls *ret, struct err *err)
{
	struct pollfd p = { .fd = j->sock, .events = POLLIN };
	union jail_found said;
	ssize_t n;

	if (poll(&p, 1, OPEN_WAIT_MS) <= 0)
		return err_set(err, -ETIMEDOUT, "the jailer does not answer");
	n = recv(j->sock, &said, sizeof(said), 0);
	if (n == (ssize_t)sizeof(said.walls)) {
		*ret = said.walls;
		return 0;
	}
	if (n == (ssize_t)sizeof(said.err)) {
		*err = said.err;
		return err->code;
	}
	return err_set(err, -EPIPE, "the jailer has ended");
}

static int judge(const struct walls *w, struct err *err)
{
	for (unsigned i = 0; i < WALLS; i++) {
		const struct wall_info *info = &wall_infos[i];

		if (wall_is_missing(w, i))
			return err_set(err, -EPERM, "the wall %s is missing "
				       "(%s): %s; or accept it with --policy "
				       "permissive", info->name,
				       w->wall[i].detail, info->remedy);
	}
	return 0;
}

int jail_open(struct loop *loop, const struct jail_options *o,
	      struct jail **ret, struct walls *ret_walls, struct err *err)
{
	struct jail *j;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "the jailer");
	j = new_jail(loop, pair[0]);
	if (!j) {
		close(pair[0]);
		close(pair[1]);
		return err_sys(err, -ENOMEM, "the jailer");
	}
	r = start_jailer(j, o, pair[1], err);
	close(pair[1]);
	j->strict = o->strict;
	j->unheard = o->known;
	j->walls = ret_walls;
	if (r == 0 && o->known) {
		*ret_walls = *o->known;
		walls_bound(ret_walls);
	} else if (r == 0) {
		r = hear_walls(j, ret_walls, err);
	}
	if (r == 0 && o->strict)
		r = judge(ret_walls, err);
	if (r == 0) {
		r = listen_to(j);
		j->gone = o->gone;
		j->arg = o->arg;
	}
	if (r < 0) {
		jail_close(j);
		return r;
	}
	*ret = j;
	return 0;
}

/* Waits for the jailer's end: once its socket is closed it ends its machines, then
 * itself. */
static void wait_for_end(struct jail *j)
{
	struct pollfd p = { .fd = j->child.pidfd, .events = POLLIN };
	struct jail_answer a;

	if (j->child.pidfd >= 0)
		poll(&p, 1, OPEN_WAIT_MS / 10);
	/* Not our child: wait until it closes its end of the socket. */
	p.fd = j->adopted ? j->sock : -1;
	while (p.fd >= 0 && poll(&p, 1, OPEN_WAIT_MS / 10) > 0 &&
	       recv(j->sock, &a, sizeof(a), MSG_DONTWAIT) > 0)
		;
	child_end(&j->child);
}

static void leave(struct jail *j, bool wait)
{
	struct jailed *m;

	loop_fd_del(&j->says);
	while ((m = list_first(&j->machines, struct jailed, node)))
		forget(m);
	if (j->sock >= 0)
		shutdown(j->sock, SHUT_WR);
	if (wait)
		wait_for_end(j);
	fd_close(&j->sock);
	free(j);
}

void jail_close(struct jail *j)
{
	if (j)
		leave(j, true);
}

void jail_leave(struct jail *j)
{
	leave(j, false);
}
