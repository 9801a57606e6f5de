/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door's users and jobs, and the messages on their sockets. Owns both tables, the
 * questions that are under way, and the records that the server has not taken yet.
 *
 * A process that does not read or that asks too much holds up itself only: a job has at
 * most DOOR_ASKS open questions, a user at most a quarter of all sockets, look-ups and
 * connects, and while the server does not take records no question is read.
 */
#include "door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"

/* --- places -------------------------------------------------------------- */

static const unsigned most_of[DOOR_KINDS] = {
	[DOOR_LOOKUP] = DOOR_LOOKUPS, [DOOR_CONNECTING] = DOOR_CONNECTS,
};

static bool is_free(const struct door_user *u, enum door_kind kind)
{
	return u->used[kind] < most_of[kind] / DOOR_PART &&
	       u->door->used[kind] < most_of[kind];
}

static void take_place(struct door_turn *t)
{
	list_del(&t->node);
	t->user->used[t->kind]++;
	t->user->door->used[t->kind]++;
	t->has_place = true;
	t->go(t);
}

bool door_has_socket(const struct door_user *u)
{
	return u->sockets < MAX(u->door->most_sockets / DOOR_PART, 1u) &&
	       u->door->sockets < u->door->most_sockets;
}

void door_count_sockets(struct door_user *u, int n)
{
	u->sockets += (unsigned)n;
	u->door->sockets += (unsigned)n;
}

void door_turn_ask(struct door_user *u, struct door_turn *t)
{
	t->user = u;
	if (list_empty(&u->waiting[t->kind]) && is_free(u, t->kind))
		take_place(t);
	else
		list_add_tail(&u->waiting[t->kind], &t->node);
}

void door_turn_end(struct door_turn *t)
{
	struct door_user *u = t->user;

	if (!u)
		return;
	t->user = NULL;
	list_del(&t->node);
	if (!t->has_place)
		return;
	t->has_place = false;
	u->used[t->kind]--;
	u->door->used[t->kind]--;
	loop_defer(u->door->loop, &u->door->serve);
}

/* Gives one free place to the user who has waited longest for one. Return: whether there
 * was one to give. */
static bool serve_one(struct door *d, enum door_kind kind)
{
	list_for_each(node, next, &d->users) {
		struct door_user *u = list_entry(node, struct door_user, node);
		struct door_turn *t = list_first(&u->waiting[kind], struct door_turn,
						 node);

		if (!t || !is_free(u, kind))
			continue;
		list_del(&u->node);
		list_add_tail(&d->users, &u->node);
		take_place(t);
		return true;
	}
	return false;
}

static void on_serve(struct loop_call *c)
{
	struct door *d = container_of(c, struct door, serve);

	for (enum door_kind kind = 0; kind < DOOR_KINDS; kind++)
		while (serve_one(d, kind))
			;
}

/* --- users --------------------------------------------------------------- */

static struct door_user *user_of(struct door *d, uint32_t uid)
{
	struct door_user *u;

	list_for_each(node, next, &d->users) {
		u = list_entry(node, struct door_user, node);
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->door = d;
	u->uid = uid;
	u->share = net_policy_share(&d->policy, NULL, uid);
	for (enum door_kind kind = 0; kind < DOOR_KINDS; kind++)
		list_init(&u->waiting[kind]);
	list_init(&u->names);
	list_add_tail(&d->users, &u->node);
	return u;
}

void door_user_put(struct door_user *u)
{
	if (u->jobs || u->queries)
		return;
	lookups_free(u);
	list_del(&u->node);
	free(u);
}

/* --- records ------------------------------------------------------------- */

static void watch_jobs(struct door *d);

static void watch_server(struct door *d)
{
	uint32_t events = EPOLLIN | (list_empty(&d->records) ? 0 : EPOLLOUT);

	if (d->server.loop && d->server.events != events)
		loop_fd_mod(&d->server, events);
}

static void send_records(struct door *d)
{
	bool stalled = d->record_count >= DOOR_RECORDS;
	struct door_unsent *u;

	while ((u = list_first(&d->records, struct door_unsent, node))) {
		ssize_t n = send(d->server.fd, &u->record, sizeof(u->record),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		list_del(&u->node); /* an end of the server is noticed by its event */
		free(u);
		d->record_count--;
	}
	watch_server(d);
	if (stalled && d->record_count < DOOR_RECORDS)
		watch_jobs(d);
}

/* The relay itself reports the end of an open stream that the new rules refuse. */
void door_tell(struct door_ask *a, enum net_told told, const struct net_address *address,
	       const char *why)
{
	struct door *d = a->job->user->door;
	struct door_unsent *u;
	struct door_record *r;

	if (a->q.op == DOOR_CHECK)
		return;
	u = calloc(1, sizeof(*u));
	if (!u)
		return;
	r = &u->record;
	*r = (struct door_record){
		.version = DOOR_VERSION, .op = DOOR_RECORD, .job = a->job->no,
		.stream = a->q.op == DOOR_RESOLVE ? 0 : a->q.id, .told = told,
		.port = a->q.port, .has_address = address != NULL, .at_ns = now_ns(),
	};
	if (address)
		r->address = *address;
	snprintf(r->name, sizeof(r->name), "%s", a->name[0] ? a->name : a->q.name);
	snprintf(r->why, sizeof(r->why), "%s", why ? why : "");
	list_add_tail(&d->records, &u->node);
	d->record_count++;
	send_records(d);
}

/* --- jobs ---------------------------------------------------------------- */

static void watch_job(struct door_job *j)
{
	bool reads = j->ask_count < DOOR_ASKS &&
		     j->user->door->record_count < DOOR_RECORDS;
	uint32_t events = (reads ? EPOLLIN : 0) |
			  (list_empty(&j->answers) ? 0 : EPOLLOUT);

	if (j->src.loop && j->src.events != events)
		loop_fd_mod(&j->src, events);
}

static void watch_jobs(struct door *d)
{
	list_for_each(node, next, &d->jobs)
		watch_job(list_entry(node, struct door_job, node));
}

static void free_asks(struct list *asks)
{
	struct door_ask *a;

	while ((a = list_first(asks, struct door_ask, node)))
		door_ask_free(a);
}

static void free_job(struct door_job *j)
{
	struct door_user *u = j->user;

	free_asks(&j->asks);
	free_asks(&j->answers);
	loop_fd_del(&j->src);
	fd_close(&j->src.fd);
	door_count_sockets(u, -1);
	net_wish_done(&j->wish);
	list_del(&j->node);
	free(j);
	u->jobs--;
	door_user_put(u);
}

static void send_answers(struct door_job *j)
{
	struct door_ask *a;

	while ((a = list_first(&j->answers, struct door_ask, node))) {
		ssize_t n = fdpass_send(j->src.fd, &a->answer, sizeof(a->answer), &a->fd,
					a->fd >= 0, MSG_DONTWAIT);

		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n == -ETOOMANYREFS) { /* too many are on their way */
			ask_drop_socket(a);
			continue;
		}
		door_ask_free(a); /* an end of the relay is noticed by its event */
	}
	watch_job(j);
}

void door_answer_ask(struct door_ask *a)
{
	struct door_job *j = a->job;

	loop_timer_del(&a->late);
	lookup_leave(a);
	race_free(a);
	door_turn_end(&a->turn);
	list_del(&a->node);
	list_add_tail(&j->answers, &a->node);
	send_answers(j);
}

/* Reads one question. Return: 1; 0: there is none; negative: the job's socket has to be
 * closed. */
static int read_question(struct door_job *j)
{
	struct door_question q;
	char bytes[sizeof(q) + 1];
	unsigned count = 0;
	int fd = -1;
	ssize_t n = fdpass_receive(j->src.fd, bytes, sizeof(bytes), &fd, 1, &count,
				   MSG_DONTWAIT);

	if (count)
		close(fd);
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0 || door_question_check(bytes, (size_t)n, count, &q, NULL) < 0)
		return -EPIPE;
	ask_begin(j, &q);
	return 1;
}

static void on_job(struct loop_fd *src, uint32_t events)
{
	struct door_job *j = src->arg;
	int r = 1;

	if (events & EPOLLOUT)
		send_answers(j);
	/* a relay that asks without end gets its turns, as others do */
	for (int i = 0; i < DOOR_TURN && r > 0 && src->events & events & EPOLLIN; i++) {
		r = read_question(j);
		watch_job(j);
	}
	if (r < 0 || events & (EPOLLHUP | EPOLLERR))
		free_job(j);
}

/* --- the server ---------------------------------------------------------- */

static struct door_job *job_by_no(struct door *d, uint32_t no)
{
	list_for_each(node, next, &d->jobs) {
		struct door_job *j = list_entry(node, struct door_job, node);

		if (j->no == no)
			return j;
	}
	return NULL;
}

/* Takes fd on success. Return: 0 or negative errno. */
static int begin_job(struct door *d, const struct door_order *o, const char *wish,
		     int fd)
{
	struct door_user *u = user_of(d, o->uid);
	struct door_job *j = u ? calloc(1, sizeof(*j)) : NULL;
	int r = j ? net_wish_read(wish, o->wish_size, &j->wish, NULL) : -ENOMEM;

	if (r == 0 && !door_has_socket(u))
		r = -EMFILE;
	if (r == 0) {
		j->src = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .fn = on_job,
					   .arg = j };
		r = loop_fd_add(d->loop, &j->src);
	}
	if (r < 0) {
		if (j)
			net_wish_done(&j->wish);
		free(j);
		if (u)
			door_user_put(u);
		return r;
	}
	j->user = u;
	j->no = o->job;
	list_init(&j->asks);
	list_init(&j->answers);
	list_add_tail(&d->jobs, &j->node);
	u->jobs++;
	door_count_sockets(u, 1);
	return 0;
}

/* A job that cannot begin here has its socket closed: its relay waits for another. */
static int read_order(struct door *d)
{
	const size_t most = sizeof(struct door_order) + DOOR_WISH_MAX + 1;
	auto_free char *bytes = malloc(most);
	auto_close int fd = -1;
	unsigned count = 0;
	struct door_order o;
	struct door_job *j;
	const char *wish;
	ssize_t n = bytes ? fdpass_receive(d->server.fd, bytes, most, &fd, 1, &count,
					   MSG_DONTWAIT)
			  : -ENOMEM;

	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0)
		return (int)n - 1;
	if (door_order_check(bytes, (size_t)n, count, &o, &wish, NULL) < 0)
		return -EPROTO;
	j = job_by_no(d, o.job);
	if (o.op == DOOR_GONE && j)
		free_job(j);
	if (o.op == DOOR_NEW && !j && begin_job(d, &o, wish, fd) == 0)
		take_fd(&fd);
	return 1;
}

static void on_server(struct loop_fd *src, uint32_t events)
{
	struct door *d = src->arg;
	int r = 1;

	if (events & EPOLLOUT)
		send_records(d);
	while (r > 0)
		r = read_order(d);
	if (r < 0) {
		d->code = r == -1 ? 0 : 1; /* it has ended, or something is wrong */
		loop_quit(d->loop);
	}
}

int door_serve(struct door *d)
{
	struct door_unsent *u;
	struct door_job *j;
	int r;

	d->serve.fn = on_serve;
	d->server = (struct loop_fd){ .fd = SPAWN_FD_FIRST, .events = EPOLLIN,
				      .fn = on_server, .arg = d };
	r = loop_fd_add(d->loop, &d->server);
	if (r == 0)
		r = loop_run(d->loop);
	while ((j = list_first(&d->jobs, struct door_job, node)))
		free_job(j);
	while ((u = list_first(&d->records, struct door_unsent, node))) {
		list_del(&u->node);
		free(u);
	}
	return r < 0 ? 1 : d->code;
}
