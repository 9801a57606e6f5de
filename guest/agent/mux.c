/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a shared machine in PID 1: opens a lane at its first JOB, moves frames
 * between the host and the agents of the lanes, reaps. It owns the lanes, the serial
 * numbers of their control groups, and the runners that still wait. In the file:
 * a lane's life, frames from the host, frames to the host, processes.
 */
#include "mux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/os/clone.h"
#include "guest/files/fs.h"
#include "guest/run/lane.h"
#include "guest/run/runner_kind.h"
#include "lane_agent.h"
#include "reap.h"
#include "layout/base/cleanup.h"
#include "guest/os/mounts.h"
#include "guest/os/processes.h"
#include "guest/os/share.h"
#include "guest/os/sys.h"

#define LANE_IN (2 * (WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX))

struct lane {
	bool open;
	bool dead;         /* the lane's agent has ended without CLOSED */
	unsigned serial;
	pid_t warm; /* pid of its runner if that is init's child, else 0 */
	bool own_task;     /* the lane's runner has a thread of its own */
	int tell; /* owned; init sends struct lane_told there */
	struct port port; /* owned; only its incoming half is used */
	/* owned; a frame that the agent has not taken completely */
	uint8_t *rest;
	size_t rest_at, rest_end;
};

struct mux {
	struct wire_share share;
	int root;          /* owned; "/" */
	/* indexed by lane number; entry 0 is not used */
	struct lane lanes[WIRE_LANE_MAX + 1];
	unsigned first; /* lane whose frame is moved next */
	unsigned serial; /* serial number of the last lane that was opened */
	unsigned *groups; /* owned; serials of groups that may still exist */
	size_t group_count, group_room;
	bool waits[WIRE_RUN_MAX]; /* a runner of that kind is ready */
};

/* yes: makes a waiting runner the first victim of the OOM killer; false: undoes that. */
static void make_sacrifice(const struct runner *r, bool yes)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)r->pid);
	sys_write(path, yes ? "1000" : "0");
}

/*
 * Notes the runners that wait, for lanes to use, and makes them the first victims of
 * the OOM killer. Kills the shell's, which no lane uses: see lane_kind().
 */
static void rate_runners(struct agent *a)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		struct runner *r = &a->runners[i];

		if (!r->pid)
			continue;
		if (runner_kinds[i].own_home)
			cgroup_abandon(&r->cgroup);
		else
			make_sacrifice(r, true);
		a->mux->waits[i] = true;
	}
}

int mux_open(struct agent *a, const struct frame *frame, struct err *err)
{
	struct mux *m = calloc(1, sizeof(*m));
	uint64_t now = sys_now();
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "no memory for lanes");
	a->mux = m;
	m->first = 1;
	r = wire_share_get(frame->payload, frame->header.length, &m->share);
	if (r)
		return err_set(err, r, "a SHARE that cannot be read");
	m->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->root < 0)
		return err_sys(err, -errno, "cannot open /");
	r = clone_set_time(m->share.realtime_ns, now, err);
	if (!r)
		r = mounts_share(m->share.memory_bytes, err);
	if (!r)
		r = share_open(&m->share, err);
	if (!r)
		r = lane_mount(err);
	if (!r)
		rate_runners(a);
	return r;
}

/* --- a lane's life ------------------------------------------------------- */

/*
 * Closes everything that belongs to other lanes. Runs in the agent's process.
 */
static void forget_others(struct agent *a)
{
	struct mux *m = a->mux;

	fd_close(&a->port.fd);
	fd_close(&m->root);
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		if (m->lanes[i].open) {
			fd_close(&m->lanes[i].port.fd);
			fd_close(&m->lanes[i].tell);
		}
}

static void allow_tasks(struct mux *m)
{
	unsigned own = 0;

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		own += m->lanes[i].open && m->lanes[i].own_task;
	share_allow(&m->share, own);
}

/* Removes those of m->groups that are empty now. */
static void remove_groups(struct mux *m)
{
	for (size_t i = 0; i < m->group_count;)
		if (share_remove(m->groups[i]))
			m->groups[i] = m->groups[--m->group_count];
		else
			i++;
}

static int remember_group(struct mux *m, unsigned serial)
{
	if (m->group_count == m->group_room) {
		size_t room = m->group_room ? 2 * m->group_room : 32;
		void *list = realloc(m->groups, room * sizeof(*m->groups));

		if (!list)
			return -ENOMEM;
		m->groups = list;
		m->group_room = room;
	}
	m->groups[m->group_count++] = serial;
	return 0;
}

static void lane_forget(struct mux *m, struct lane *lane)
{
	fd_close(&lane->port.fd);
	fd_close(&lane->tell);
	free(lane->port.in);
	free(lane->rest);
	remember_group(m, lane->serial);
	*lane = (struct lane){.tell = -1, .port.fd = -1};
	allow_tasks(m);
	remove_groups(m);
}

/* Starts a runner that waits for the next lane, with the lowest priority. */
static void start_spare(struct agent *a, enum wire_runner kind)
{
	struct runner *r = &a->runners[kind];
	char group[32];

	a->mux->waits[kind] = false;
	snprintf(group, sizeof(group), "job-%s", runner_name(kind));
	if (runner_start(r, kind, group, NULL)) {
		runner_close(r);
		runner_clear(r, kind);
		return;
	}
	make_sacrifice(r, true);
	cgroup_rest(&r->cgroup);
}

/* Hands the waiting runner to the lane's agent; starts a replacement if there is one. */
static void hand_over(struct agent *a, struct lane *lane, enum wire_runner kind)
{
	struct runner *r = &a->runners[kind];

	lane->warm = r->pid;
	runner_close(r);
	runner_clear(r, kind);
	a->mux->waits[kind] = false;
	if (runner_kinds[kind].spare)
		start_spare(a, kind);
}

static int make_ends(int *ret_mine, int *ret_tell, struct lane_end *end)
{
	int pair[2], told[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       pair))
		return -errno;
	if (pipe2(told, O_NONBLOCK | O_CLOEXEC)) {
		close(pair[0]);
		close(pair[1]);
		return -errno;
	}
	*ret_mine = pair[0];
	end->port = pair[1];
	*ret_tell = told[1];
	end->told = told[0];
	return 0;
}

static int start_agent(struct agent *a, unsigned number, enum wire_runner kind,
		       struct err *err)
{
	struct mux *m = a->mux;
	struct lane *lane = &m->lanes[number];
	struct lane_end end = {.lane = number, .serial = ++m->serial,
			       .kind = kind, .waits = m->waits[kind]};
	int r = make_ends(&lane->port.fd, &lane->tell, &end);
	pid_t pid;

	if (r)
		return err_sys(err, r, "cannot open a lane");
	if (end.waits)
		make_sacrifice(&a->runners[kind], false);
	pid = fork();
	if (pid == 0) {
		close(lane->port.fd);
		close(lane->tell);
		forget_others(a);
		lane_live(a, &end);
	}
	r = pid < 0 ? -errno : 0;
	close(end.port);
	close(end.told);
	lane->port.in = malloc(LANE_IN);
	lane->port.in_size = LANE_IN;
	if (pid > 0 && !lane->port.in)
		r = -ENOMEM;
	if (r)
		return err_sys(err, r, "cannot start a lane's agent");
	lane->open = true;
	lane->serial = end.serial;
	lane->own_task = runner_kinds[kind].own_task;
	if (end.waits)
		hand_over(a, lane, kind);
	allow_tasks(m);
	return 0;
}

/* Notes which replacements (start_spare()) have become ready. */
static void hear_runners(struct agent *a)
{
	auto_buf struct buf cold = {.cap = WIRE_COLD_MAX};

	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (a->runners[i].pid && !a->mux->waits[i])
			a->mux->waits[i] = !runner_wait_ready(
				a->runners[i].control, 0, &cold);
}

/* Opens a lane. f: the first frame on it, which must be a JOB. */
static int lane_begin_life(struct agent *a, unsigned number,
			   const struct frame *f, struct err *err)
{
	struct wire_job spec;
	int r = f->header.type == WIRE_JOB
			? wire_job_get(f->payload, f->header.length, &spec)
			: -EPROTO;

	if (r)
		return err_set(err, r, "lane %u does not begin with a JOB",
			       number);
	hear_runners(a);
	r = start_agent(a, number, lane_kind(&spec, a->mux->waits), err);
	wire_job_done(&spec);
	return r;
}

/* --- from the host ------------------------------------------------------- */

/*
 * Sends the rest of a frame to the lane's agent. Return: 0, also if bytes are left; a
 * negative errno: the agent has gone.
 */
static int push_rest(struct lane *lane)
{
	while (lane->rest_at < lane->rest_end) {
		ssize_t n = send(lane->port.fd, lane->rest + lane->rest_at,
				 lane->rest_end - lane->rest_at, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		lane->rest_at += (size_t)n;
	}
	free(lane->rest);
	lane->rest = NULL;
	lane->rest_at = lane->rest_end = 0;
	return 0;
}

static int give(struct lane *lane, const struct frame *f, struct err *err)
{
	size_t size = WIRE_HEADER_SIZE + f->header.length;

	lane->rest = malloc(size);
	if (!lane->rest)
		return err_set(err, -ENOMEM, "no memory for a frame");
	wire_header_put(lane->rest, f->header.length, f->header.type,
			f->header.arg);
	if (f->header.length)
		memcpy(lane->rest + WIRE_HEADER_SIZE, f->payload,
		       f->header.length);
	lane->rest_end = size;
	/* if the send fails, the agent has ended: to_host() finds the socket's end */
	if (push_rest(lane)) {
		free(lane->rest);
		lane->rest = NULL;
		lane->rest_at = lane->rest_end = 0;
	}
	return 0;
}

static int to_lane(struct agent *a, unsigned number, const struct frame *f,
		   struct err *err)
{
	struct lane *lane = &a->mux->lanes[number];
	bool close_it = f->header.type == WIRE_CLOSE;
	int r = 0;

	if (number > WIRE_LANE_MAX)
		return err_set(err, -EPROTO, "a frame on lane %u", number);
	if (close_it && (!lane->open || lane->dead)) {
		port_room(&a->port);
		port_commit_lane(&a->port, (uint8_t)number, WIRE_CLOSED, 0, 0);
		if (lane->open)
			lane_forget(a->mux, lane);
		return 0;
	}
	if (lane->dead)
		return 0; /* the frame was on its way when the agent ended */
	/* Kill the lane's group even if its agent is waiting for its runner. */
	if (close_it && f->header.arg == WIRE_CLOSE_KILL)
		share_kill(lane->serial);
	if (!lane->open)
		r = lane_begin_life(a, number, f, err);
	return r ? r : give(lane, f, err);
}

static int put_processes(void *arg, struct wire_writer *out)
{
	struct mux *m = arg;
	unsigned serials[WIRE_LANE_MAX + 1] = {0};

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		serials[i] = m->lanes[i].open ? m->lanes[i].serial : 0;
	return processes_put(out, serials, WIRE_LANE_MAX + 1);
}

static int to_machine(struct agent *a, const struct frame *f, struct err *err)
{
	struct fs_trees trees = {
		.home = a->job.files.home, .root = a->mux->root,
		.processes = put_processes, .arg = a->mux,
	};

	switch (f->header.type) {
	case WIRE_PING:
		return clone_answer_ping(&a->port, f, err);
	case WIRE_FS:
		return fs_answer(&trees, &a->port, f, err);
	case WIRE_NETWORK:
		return agent_on_network(a, f, err);
	default:
		return err_set(err, -EPROTO, "the host sent %s to a shared "
			       "machine", wire_type_name(f->header.type));
	}
}

static bool is_blocked(const struct mux *m)
{
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		if (m->lanes[i].rest)
			return true;
	return false;
}

/* Handles whole frames until a lane takes none or there is no room for answers. */
static int from_host(struct agent *a, struct err *err)
{
	while (port_can_answer(&a->port) && !is_blocked(a->mux)) {
		struct frame f;
		uint8_t lane;
		int r = port_next_lane(&a->port, &f, &lane);

		if (r <= 0)
			return r ? err_set(err, r, "no frame of this protocol")
				 : 0;
		r = lane ? to_lane(a, lane, &f, err) : to_machine(a, &f, err);
		if (r)
			return r;
	}
	return 0;
}

/* --- to the host --------------------------------------------------------- */

/* Sends FAILED for a lane whose agent has ended, and kills the lane's processes. */
static void lane_died(struct agent *a, unsigned number)
{
	static const char said[] = "what serves the job in the machine has ended";
	struct lane *lane = &a->mux->lanes[number];
	struct wire_writer w = {port_room(&a->port), WIRE_PAYLOAD_MAX, 0};

	lane->dead = true;
	fd_close(&lane->port.fd);
	free(lane->rest);
	lane->rest = NULL;
	share_kill(lane->serial);
	wire_put_str(&w, said);
	port_commit_lane(&a->port, (uint8_t)number, WIRE_FAILED,
			 WIRE_FAILED_JOB, w.used);
}

/*
 * Moves one frame. Return: 1, 0: there is none, or -EPROTO: the agent is dead.
 */
static int move_one(struct agent *a, unsigned number)
{
	struct lane *lane = &a->mux->lanes[number];
	struct frame f;
	int r = port_next(&lane->port, &f);

	if (r <= 0)
		return r;
	uint8_t *room = port_room(&a->port);

	if (f.header.length)
		memcpy(room, f.payload, f.header.length);
	port_commit_lane(&a->port, (uint8_t)number, f.header.type, f.header.arg,
			 f.header.length);
	if (f.header.type == WIRE_CLOSED)
		lane_forget(a->mux, lane);
	return 1;
}

/* Moves one frame of each lane in turn. Return: whether there was any. */
static bool move_round(struct agent *a)
{
	struct mux *m = a->mux;
	bool moved = false;

	for (unsigned i = 0; i < WIRE_LANE_MAX; i++) {
		unsigned n = 1 + (m->first - 1 + i) % WIRE_LANE_MAX;
		struct lane *lane = &m->lanes[n];
		int r = 0;

		if (!lane->open || lane->dead)
			continue;
		if (!port_has_room(&a->port)) {
			m->first = n; /* this lane is first when there is space again */
			return moved;
		}
		r = port_fill(&lane->port);
		switch (move_one(a, n)) {
		case 0:
			if (r)
				lane_died(a, n);
			break;
		case 1:
			moved = true;
			break;
		default:
			lane_died(a, n);
		}
	}
	m->first = 1 + m->first % WIRE_LANE_MAX;
	return moved;
}

static int to_host(struct agent *a, struct err *err)
{
	bool moved;
	int r;

	do {
		moved = move_round(a);
		r = port_flush(&a->port);
	} while (!r && moved);
	return r ? err_sys(err, r, "the port") : 0;
}

/* --- processes ----------------------------------------------------------- */

static void tell(struct mux *m, pid_t pid, int status)
{
	struct lane_told told = {pid, status};

	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		if (m->lanes[i].open && m->lanes[i].warm == pid) {
			m->lanes[i].warm = 0;
			if (write(m->lanes[i].tell, &told, sizeof(told)) < 0)
				return; /* the agent has ended, too */
		}
}

static void reap(struct agent *a)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(a->children, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < WIRE_RUN_MAX; i++)
			if (a->runners[i].pid == pid) {
				runner_close(&a->runners[i]);
				runner_clear(&a->runners[i],
					     (enum wire_runner)i);
				a->mux->waits[i] = false;
			}
		if (!agent_net_ended(a, pid))
			tell(a->mux, pid, status);
	}
	remove_groups(a->mux);
}

static int what_to_poll(struct agent *a, struct pollfd *p)
{
	struct mux *m = a->mux;
	bool room = port_has_room(&a->port);
	int n = 2;

	p[0] = (struct pollfd){.fd = a->port.fd};
	if (port_can_answer(&a->port) && !is_blocked(m))
		p[0].events |= POLLIN;
	if (port_is_pending(&a->port))
		p[0].events |= POLLOUT;
	p[1] = (struct pollfd){.fd = a->children, .events = POLLIN};
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++) {
		const struct lane *lane = &m->lanes[i];

		if (!lane->open || lane->dead || (!room && !lane->rest))
			continue;
		p[n++] = (struct pollfd){
			.fd = lane->port.fd,
			.events = (short)((room ? POLLIN : 0) |
					  (lane->rest ? POLLOUT : 0)),
		};
	}
	return n;
}

int mux_turn(struct agent *a, struct err *err)
{
	struct pollfd p[2 + WIRE_LANE_MAX];
	struct mux *m = a->mux;
	int r = from_host(a, err);

	if (!r)
		r = to_host(a, err);
	if (r)
		return r;
	int n = what_to_poll(a, p);

	if (poll(p, (nfds_t)n, -1) < 0 && errno != EINTR)
		return err_sys(err, -errno, "poll");
	if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return err_set(err, -EPIPE, "the host has gone");
	for (unsigned i = 1; i <= WIRE_LANE_MAX; i++)
		if (m->lanes[i].rest && push_rest(&m->lanes[i])) {
			free(m->lanes[i].rest);
			m->lanes[i].rest = NULL;
		}
	if (p[1].revents)
		reap(a);
	if (p[0].revents & POLLIN) {
		r = port_fill(&a->port);
		if (r)
			return err_sys(err, r, "the port");
	}
	return 0;
}
