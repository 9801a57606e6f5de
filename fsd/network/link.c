/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door's process, as the server sees it: starts it, takes its policy, sends it orders
 * and reads its records. Owns the door's socket and the orders that the door has not taken
 * yet. All functions run on the loop. The supervisor has the door's socket, too: so what
 * the door has told a server that is killed waits there for the next one.
 *
 * A door that ends is replaced after a pause that doubles. A door becomes the one in use
 * only when its policy was taken, so a policy that is wrong changes nothing.
 */
#include "network_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/handover/fdstore.h"
#include "ports.h"
#include "vm/os/fdpass.h"

#define POLICY_S 5 /* most time until a door has sent its policy */
#define RESTART_NS (500 * NS_PER_MS) /* pause before another door; doubles */
#define RESTART_MAX_NS (16 * NS_PER_S)
#define STEADY_NS (10 * NS_PER_S) /* a door that has lived this long resets the pause */
#define CA_MOST (64u << 10)
#define RECORDS 64 /* most that are read in one turn */

/* --- a door's first message ---------------------------------------------- */

/* Reads a sealed file whole. Return: its bytes, with a NUL behind them, or NULL. */
static char *read_memory(int fd, size_t most, size_t *ret_len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    (uint64_t)st.st_size > most)
		return NULL;
	*ret_len = (size_t)st.st_size;
	text = malloc(*ret_len + 1);
	if (!text)
		return NULL;
	text[*ret_len] = '\0';
	if (pread(fd, text, *ret_len, 0) == (ssize_t)*ret_len)
		return text;
	free(text);
	return NULL;
}

static int wrong_policy(struct err *err)
{
	return err_set(err, -EPROTO, "the network's helper has sent a wrong policy");
}

/* Reads the policy from the sealed files that the door has sent: fds[0] has the rules and
 * the users' ids, fds[1] the certificates, if there are any. */
static int take_rules(const struct door_policy *p, const int *fds,
		      struct network_rules *ret, struct err *err)
{
	size_t len = 0, ca_len = 0, count;
	auto_free char *text = read_memory(fds[0], NET_POLICY_BYTES +
					   NET_POLICY_USERS * sizeof(uint32_t), &len);
	auto_free char *ca = p->has_ca ? read_memory(fds[1], CA_MOST, &ca_len) : NULL;
	auto_free uint32_t *ids = NULL;
	int r;

	if (!text || len < p->policy_size || (len - p->policy_size) % sizeof(*ids) ||
	    (p->has_ca && (!ca || strlen(ca) != ca_len)))
		return wrong_policy(err);
	count = (len - p->policy_size) / sizeof(*ids);
	ids = calloc(count + 1, sizeof(*ids));
	if (!ids)
		return err_sys(err, -ENOMEM, "the network's policy");
	memcpy(ids, text + p->policy_size, count * sizeof(*ids));
	r = network_rules_read(text, p->policy_size, ids, count, ret, err);
	if (r < 0)
		return r;
	ret->ca = take_ptr(ca);
	ret->ca_len = ca_len;
	return 0;
}

/* Reads POLICY, which has come. */
static int read_policy(int sock, struct network_rules *ret, uint32_t *ret_walls,
		       struct err *err)
{
	char bytes[sizeof(struct door_policy) + 1];
	int fds[DOOR_FDS_MAX] = { -1, -1 }, r;
	unsigned count = 0;
	struct door_policy p;
	ssize_t n = fdpass_receive(sock, bytes, sizeof(bytes), fds, DOOR_FDS_MAX, &count,
				   0);

	if (n <= 0)
		return err_set(err, -EPIPE, n == -EAGAIN ?
			       "the network's helper (fsd-door) does not answer" :
			       "the network's helper (fsd-door) has ended");
	r = door_policy_check(bytes, (size_t)n, count, &p, err);
	*ret_walls = p.walls;
	if (r == 0 && p.code < 0)
		r = err_set(err, p.code, "%s", p.text);
	else if (r == 0)
		r = take_rules(&p, fds, ret, err);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	return r;
}

/* --- waiting for it ------------------------------------------------------ */

static void on_policy(struct loop_fd *src, uint32_t events)
{
	struct network *n = src->arg;

	(void)events;
	loop_fd_del(src);
	loop_timer_del(&n->wait_late);
	fiber_wake(take_ptr(n->waits));
}

static void on_wait_late(struct loop_timer *t)
{
	struct network *n = t->arg;

	loop_fd_del(&n->wait);
	fiber_wake(take_ptr(n->waits));
}

/* Waits until the socket has a message, or not: read_policy() finds out. */
static void wait_for_policy(struct network *n, int sock)
{
	struct timeval limit = { .tv_sec = POLICY_S };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!fiber_self())
		return; /* the read itself waits */
	n->wait = (struct loop_fd){ .fd = sock, .events = EPOLLIN, .fn = on_policy,
				    .arg = n };
	if (loop_fd_add(n->use.loop, &n->wait) < 0)
		return;
	n->waits = fiber_self();
	n->wait_late = (struct loop_timer){ .fn = on_wait_late, .arg = n };
	loop_timer_set(n->use.loop, &n->wait_late, POLICY_S * NS_PER_S);
	fiber_pause();
	limit = (struct timeval){ .tv_usec = 1 }; /* it is there, or does not come */
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

bool network_drain(struct network *n)
{
	if (!n || !n->waits)
		return false;
	loop_fd_del(&n->wait);
	loop_timer_del(&n->wait_late);
	fiber_wake(take_ptr(n->waits));
	return true;
}

/* --- orders -------------------------------------------------------------- */

static void watch_door(struct network *n)
{
	if (n->src.loop)
		loop_fd_mod(&n->src, EPOLLIN | (list_empty(&n->orders) ? 0 : EPOLLOUT));
}

static void free_order(struct network_order *o)
{
	list_del(&o->node);
	fd_close(&o->fd);
	free(o);
}

static void send_orders(struct network *n)
{
	struct network_order *o;

	while ((o = list_first(&n->orders, struct network_order, node))) {
		ssize_t sent = fdpass_send(n->door.sock, o->bytes, o->size, &o->fd,
					   o->fd >= 0, MSG_DONTWAIT);

		if (sent == -EAGAIN || sent == -EINTR)
			break;
		free_order(o); /* the end of the door is noticed by its event */
	}
	watch_door(n);
}

int network_order(struct network *n, const struct door_order *order, const char *wish,
		  int fd)
{
	size_t size = sizeof(*order) + order->wish_size;
	struct network_order *o;

	if (n->door.sock < 0)
		return -EPIPE;
	o = malloc(sizeof(*o) + size);
	if (!o)
		return -ENOMEM;
	*o = (struct network_order){ .fd = fd, .size = size };
	memcpy(o->bytes, order, sizeof(*order));
	if (order->wish_size)
		memcpy(o->bytes + sizeof(*order), wish, order->wish_size);
	list_add_tail(&n->orders, &o->node);
	send_orders(n);
	return 0;
}

/* --- its life ------------------------------------------------------------ */

static void on_restart(struct loop_timer *t);

void network_door_drop(struct network *n)
{
	struct network_order *o;

	loop_fd_del(&n->src);
	if (n->door.sock >= 0)
		fdstore_drop(n->fdstore, FDSTORE_DOOR, 0);
	fd_close(&n->door.sock);
	n->door.pid = 0;
	while ((o = list_first(&n->orders, struct network_order, node)))
		free_order(o);
}

static void restart_later(struct network *n)
{
	n->restart = (struct loop_timer){ .fn = on_restart, .arg = n };
	loop_timer_set(n->use.loop, &n->restart, n->pause_ns);
	n->pause_ns = MIN(n->pause_ns * 2, (uint64_t)RESTART_MAX_NS);
}

/* Reads one record. Return: 1; 0: there is none; negative: the door has ended, or has to
 * be ended. */
static int read_record(struct network *n, int sock)
{
	struct door_record record;
	char bytes[sizeof(record) + 1];
	unsigned count = 0;
	int fd = -1;
	ssize_t size = fdpass_receive(sock, bytes, sizeof(bytes), &fd, 1, &count,
				      MSG_DONTWAIT);

	if (count)
		close(fd);
	if (size == -EAGAIN || size == -EINTR)
		return 0;
	if (size <= 0 ||
	    door_record_check(bytes, (size_t)size, count, &record, NULL) < 0)
		return -EPIPE;
	network_job_record(n, &record);
	return 1;
}

static void on_door(struct loop_fd *src, uint32_t events)
{
	static const char ended[] = "the host's network helper ended; another one is started";
	struct network *n = src->arg;
	int sock = src->fd, r = 1;

	if (events & EPOLLOUT)
		send_orders(n);
	/* A record may make the server leave this door. A relay that asks without end makes
	 * records without end: the loop serves others meanwhile. */
	for (int i = 0; i < RECORDS && r > 0 && n->door.sock == sock && src->loop; i++)
		r = read_record(n, sock);
	if (r >= 0)
		return;
	log_warn("%s", ended);
	if (now_ns() - n->began_ns > STEADY_NS)
		n->pause_ns = RESTART_NS;
	network_door_drop(n);
	restart_later(n);
	network_jobs_say(n, ended);
}

/* The door in use is this one from now on. */
static int use_door(struct network *n, struct network_door *door,
		    struct network_rules *rules, uint32_t walls)
{
	int size = DOOR_SEND_BUFFER;

	network_door_drop(n);
	loop_timer_del(&n->restart);
	network_rules_done(&n->rules);
	n->rules = *rules;
	n->door = *door;
	n->walls = walls;
	n->began_ns = now_ns();
	setsockopt(door->sock, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	n->src = (struct loop_fd){ .fd = door->sock, .events = EPOLLIN, .fn = on_door,
				   .arg = n };
	if (loop_fd_add(n->use.loop, &n->src) < 0) {
		network_door_drop(n);
		restart_later(n);
		return -ENOMEM;
	}
	fdstore_keep(n->fdstore, FDSTORE_DOOR, 0, door->sock);
	network_jobs_begin(n);
	return 0;
}

/* Starts a door and uses it, if its policy is right. */
static int bring(struct network *n, struct err *err)
{
	struct network_rules rules = { .set = false };
	struct network_door door = { .sock = -1 };
	uint32_t walls = 0;
	int r;

	if (n->brings)
		return err_set(err, -EBUSY, "the network's helper is being started");
	n->brings = true;
	r = n->use.start(n->use.arg, &door, err);
	if (r == 0) {
		wait_for_policy(n, door.sock);
		r = read_policy(door.sock, &rules, &walls, err);
	}
	n->brings = false;
	if (r < 0) {
		fd_close(&door.sock);
		return r;
	}
	r = use_door(n, &door, &rules, walls);
	return r < 0 ? err_sys(err, r, "the network's helper") : 0;
}

static void restart(void *arg)
{
	struct network *n = arg;
	struct err err = { 0 };

	if (n->door.sock >= 0 || bring(n, &err) == 0)
		return;
	log_error("the network's helper: %s", err.text);
	restart_later(n);
}

static void on_restart(struct loop_timer *t)
{
	fiber_run(restart, t->arg);
}

int network_open(struct network *n, const struct network_use *use, bool is_next,
		 struct err *err)
{
	int r;

	n->use = *use;
	n->pause_ns = RESTART_NS;
	n->former = fdstore_fetch(n->fdstore, FDSTORE_DOOR, 0);
	r = bring(n, err);
	if (r == 0 || !is_next)
		return r;
	log_error("the network: %s", err->text);
	*err = (struct err){ 0 };
	restart_later(n);
	return 0;
}

/* That door ends with its server, or has ended. */
void network_take_over(struct network *n)
{
	while (n->former >= 0 && read_record(n, n->former) > 0)
		;
	fd_close(&n->former);
	ports_taken_over(n->ports);
}

int network_reload(struct network *n, struct err *err)
{
	int r;

	if (!n->use.start)
		return err_set(err, -EINVAL, "reload-network: this mount has no network; "
			       "it is given one by fsd mount --network FILE");
	r = bring(n, err);
	if (r < 0)
		return err_wrap(err, "reload-network");
	n->pause_ns = RESTART_NS;
	log_info("the network's policy was read anew");
	return 0;
}
