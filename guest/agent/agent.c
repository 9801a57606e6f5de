/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of the frame loop: polls the port, the children and the job, then does what
 * has come and what is due by time. PID 1 takes turns for the machine's job, the agent of
 * a lane for the jobs of its lane, heat.c for the warmup program. All state is in struct
 * agent.
 */
#include "agent.h"

#include <errno.h>

#include "guest/os/clone.h"
#include "guest/files/fs.h"
#include "lane_turn.h"
#include "layout/base/num.h"
#include "reap.h"
#include "guest/os/sys.h"

static bool is_heating(const struct agent *a)
{
	return a->current != &a->job;
}

static int on_own(struct agent *a, const struct frame *f, struct err *err)
{
	if (f->header.length != WIRE_ENTROPY_SIZE || a->owned ||
	    a->job.phase != JOB_NONE)
		return err_set(err, -EPROTO, "an OWN that breaks the rules");
	a->owned = true;
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		a->runners[i].heats = 0;
	return clone_own(f->payload, err);
}

int agent_on_network(struct agent *a, const struct frame *f, struct err *err)
{
	struct wire_network net;
	int r = wire_network_get(f->payload, f->header.length, &net);

	if (r)
		return err_set(err, r, "a NET that cannot be read");
	r = net_apply(a->net, &net, err);
	wire_network_done(&net);
	return r;
}

/* Refuses NET once a job has come: a running program would get a network, or a
 * session's next step would have one that the first had not. */
static int on_network(struct agent *a, const struct frame *f, struct err *err)
{
	if (is_heating(a) || a->end || !a->owned || a->job.phase != JOB_NONE ||
	    a->job.again || a->net->on)
		return err_set(err, -EPROTO, "a NET that breaks the rules");
	return agent_on_network(a, f, err);
}

/* Refuses a JOB before OWN: a clone with the template's secrets may run no
 * program. */
static int on_job(struct agent *a, const struct frame *f, struct err *err)
{
	if (is_heating(a)) /* the warmup program may run before OWN */
		return job_begin(a->current, &a->port,
				 a->spends ? a->runners : a->warmup_program, f, err);
	if (!a->owned)
		return err_set(err, -EPROTO, "a JOB before OWN");
	return job_begin(&a->job, &a->port, a->runners, f, err);
}

/* Puts a HEAT or a SHARE into a->aside: it concerns the whole machine, so the caller of
 * agent_turn() handles it. */
static int set_aside(struct agent *a, const struct frame *f, struct err *err)
{
	if (is_heating(a) || a->end)
		return err_set(err, -EPROTO, "a %s that breaks the rules",
			       wire_type_name(f->header.type));
	a->aside = *f;
	return 0;
}

static int on_close(struct agent *a, const struct frame *f, struct err *err)
{
	if (!a->end || f->header.length || f->header.arg >= WIRE_CLOSE_MAX)
		return err_set(err, -EPROTO, "a CLOSE that breaks the rules");
	lane_close(a, f->header.arg);
	return 0;
}

/* Refuses FS unless the job is a session's step: only then do files outlive a
 * program. */
static int on_fs(struct agent *a, const struct frame *f, struct err *err)
{
	if (!a->job.again && !a->job.step.on)
		return err_set(err, -EPROTO, "an FS without a session");
	return fs_answer(&(struct fs_trees){.home = a->job.files.home,
					   .root = -1}, &a->port, f, err);
}

/*
 * Kills the runners of other languages, because this job can use their memory. Killing
 * costs time, so it is done only when the program has run for two seconds.
 */
static void abandon_others(struct agent *a)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		struct runner *r = &a->runners[i];

		if (r != a->job.runner && r->pid)
			cgroup_abandon(&r->cgroup);
	}
}

/* Kills the holders (runners/hold.h). A program that runs for longer may call exec(2):
 * memory that a holder still has would then count for the new program. */
static void release_memory(struct agent *a)
{
	(void)a;
	cgroup_kill_holders();
}

/* Work that would slow down short programs: done so many milliseconds after the
 * start, in this order. */
static const struct {
	unsigned ms;
	void (*fn)(struct agent *a);
} later[] = {
	{100, release_memory},
	{2000, abandon_others},
};

/* Returns milliseconds until the next such work is due; -1: never. */
static int later_in(const struct agent *a)
{
	uint64_t due, now;

	if (a->later == ARRAY_SIZE(later) || a->job.phase != JOB_RUNNING)
		return -1;
	due = a->job.started + later[a->later].ms * 1000000ull;
	now = sys_now();
	return now < due ? (int)((due - now) / 1000000u) + 1 : 0;
}

/* Returns milliseconds until any timed work is due; -1: never. */
static int due_in(const struct agent *a)
{
	int one = later_in(a), other = job_check_due(a->current);

	if (job_is_young(a->current))
		return JOB_YOUNG_MS;
	return one < 0 || (other >= 0 && other < one) ? other : one;
}

static int on_frame(struct agent *a, const struct frame *f, struct err *err)
{
	struct job *job = a->current;

	switch (f->header.type) {
	case WIRE_PING:
		return clone_answer_ping(&a->port, f, err);
	case WIRE_HEAT:
	case WIRE_SHARE:
		return set_aside(a, f, err);
	case WIRE_OWN:
		return on_own(a, f, err);
	case WIRE_NETWORK:
		return on_network(a, f, err);
	case WIRE_JOB:
		return on_job(a, f, err);
	case WIRE_FILE:
	case WIRE_FILE_DATA:
	case WIRE_FILE_END:
		return job_file(job, &a->port, f, err);
	case WIRE_RUN:
		return job_run(job, &a->port, f, err);
	case WIRE_STDIN:
	case WIRE_STDIN_END:
		return job_stdin(job, &a->port, f, err);
	case WIRE_KILL:
		return job_kill(job, &a->port, f, err);
	case WIRE_FS:
		return on_fs(a, f, err);
	case WIRE_CLOSE:
		return on_close(a, f, err);
	case WIRE_ABORT:
		return job_abort(job, err);
	default:
		return err_set(err, -EPROTO, "the host sent %s",
			       wire_type_name(f->header.type));
	}
}

/* Handles all whole frames that have come, while there is room for answers and a->aside is
 * empty. */
static int on_port(struct agent *a, struct err *err)
{
	int r = is_heating(a) ? 0 : port_fill(&a->port);

	if (r)
		return err_sys(err, r, "the port");
	while (port_can_answer(&a->port) && a->aside.header.type == WIRE_NONE) {
		struct frame f;

		r = port_next(&a->port, &f);
		if (r <= 0)
			return r ? err_set(err, r, "no frame of this protocol")
				 : 0;
		r = on_frame(a, &f, err);
		if (r)
			return r;
	}
	return 0;
}

/* Returns milliseconds until timed work is due or `end` has come; -1: never. */
static int wait_ms(const struct agent *a, uint64_t end)
{
	uint64_t now = sys_now();
	int due = due_in(a);

	if (a->starved && port_can_answer(&a->port))
		return 0;
	if (end == UINT64_MAX)
		return due;
	end = end > now ? (end - now) / 1000000u + 1 : 0;
	return due >= 0 && (uint64_t)due < end ? due : (int)end;
}

/* Fills in p. Return: how many entries. */
static int what_to_poll(struct agent *a, struct pollfd *p)
{
	struct job *job = a->current;
	int n = 2;

	p[0] = (struct pollfd){.fd = a->port.fd};
	if (!is_heating(a) && port_can_answer(&a->port))
		p[0].events |= POLLIN;
	if (!is_heating(a) && port_is_pending(&a->port) && !job_is_young(job))
		p[0].events |= POLLOUT;
	p[1] = (struct pollfd){.fd = a->children, .events = POLLIN};
	if (a->end)
		n += lane_poll(a, p + n);
	return n + job_poll(job, &a->port, p + n);
}

int agent_turn(struct agent *a, uint64_t end, struct err *err)
{
	struct job *job = a->current;
	struct pollfd p[2 + LANE_POLL_MAX + JOB_POLL_MAX];
	bool read_on = a->starved && port_can_answer(&a->port);
	int n = what_to_poll(a, p);
	int r = job_launch(job, &a->port, err);

	if (r)
		return r;
	n = poll(p, (nfds_t)n, wait_ms(a, end));
	if (n < 0 && errno != EINTR)
		return err_sys(err, -errno, "poll");
	if (n == 0 && sys_now() >= end)
		return -ETIMEDOUT;
	if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return err_set(err, -EPIPE, "the host has gone");
	if (p[0].revents & POLLIN || read_on)
		r = on_port(a, err);
	a->starved = !port_can_answer(&a->port);
	if (!r && p[1].revents)
		agent_reap(a);
	if (!r && a->end)
		lane_hear(a);
	while (!r && later_in(a) == 0)
		later[a->later++].fn(a);
	if (!r && job_check_due(job) == 0)
		job_check(job);
	if (!r)
		r = job_step(job, &a->port);
	if (is_heating(a))
		port_forget(&a->port);
	else if (!r && !job_is_young(job))
		r = port_flush(&a->port);
	return !r && a->end ? lane_progress(a) : r;
}
