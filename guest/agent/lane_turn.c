/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a turn that only a lane's agent has: it hears from init which processes
 * ended, reads pipes that their job has finished with, closes the lane. After the last
 * frame it keeps the processes that the lane has left running.
 */
#include "lane_turn.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "guest/run/lane.h"
#include "layout/base/cleanup.h"
#include "reap.h"

/* Returns the lane's runner, or NULL: none was started. */
static struct runner *lane_runner(struct agent *a)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (a->runners[i].cgroup.fd[CGROUP_PROCS] >= 0)
			return &a->runners[i];
	return NULL;
}

int lane_poll(const struct agent *a, struct pollfd *p)
{
	const struct lane_end *end = a->end;
	int n = drain_poll(&a->job.drain, p);
	struct runner *r = lane_runner((struct agent *)(uintptr_t)a);

	p[n++] = (struct pollfd){.fd = end->told, .events = POLLIN};
	if (end->closing && r)
		p[n++] = (struct pollfd){.fd = r->cgroup.fd[CGROUP_EVENTS],
					 .events = POLLPRI};
	return n;
}

void lane_hear(struct agent *a)
{
	struct lane_told told;

	drain_read(&a->job.drain);
	while (a->end->told >= 0 &&
	       read(a->end->told, &told, sizeof(told)) == sizeof(told))
		agent_ended(a, told.pid, told.status);
}

void lane_close(struct agent *a, uint8_t how)
{
	a->end->closing = true;
	a->end->killing = how == WIRE_CLOSE_KILL;
}

/* Reaps the processes that the lane has left running, until the last one has
 * ended. */
_Noreturn static void keep(struct agent *a, struct runner *r)
{
	struct pollfd p[DRAIN_MAX + 2];

	fd_close(&a->port.fd);
	fd_close(&a->end->told);
	while (r && !cgroup_is_empty(&r->cgroup)) {
		int n = drain_poll(&a->job.drain, p);

		p[n++] = (struct pollfd){.fd = a->children, .events = POLLIN};
		p[n++] = (struct pollfd){.fd = r->cgroup.fd[CGROUP_EVENTS],
					 .events = POLLPRI};
		if (poll(p, (nfds_t)n, -1) < 0 && errno != EINTR)
			break;
		drain_read(&a->job.drain);
		agent_reap(a);
	}
	_exit(0);
}

int lane_progress(struct agent *a)
{
	struct lane_end *end = a->end;
	struct runner *r = lane_runner(a);
	int e;

	if (!end->closing)
		return 0;
	if (end->killing && r && !end->killed)
		cgroup_kill(&r->cgroup, SIGKILL);
	end->killed = true;
	if (end->killing && r && !cgroup_is_empty(&r->cgroup))
		return 0;
	if (r)
		/* a living interpreter ends when this closes */
		fd_close(&r->control);
	lane_clean(&a->job);
	lane_remove(&a->job);
	port_send(&a->port, WIRE_CLOSED, 0, NULL, 0);
	e = port_drain(&a->port, true);
	if (e)
		return e;
	keep(a, r);
}
