/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/run/lane.h"
#include "layout/base/cleanup.h"
#include "guest/os/share.h"

/* The runner that the lane has, or NULL: none was started. */
static struct runner *lane_runner(struct agent *a)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (a->runners[i].cgroup.fd[CGROUP_PROCS] >= 0)
			return &a->runners[i];
	return NULL;
}

/*
 * The runner that waited goes to the lane's group. Its memory stays charged to the
 * group where it was made, so it is the job's as little as in a machine of its own.
 */
static int take_runner(struct lane_end *end, struct runner *r, struct err *err)
{
	struct cgroup waited = r->cgroup;
	char group[SHARE_GROUP_ROOM];
	int e;

	share_group(end->serial, group);
	e = cgroup_open(&r->cgroup, group, waited.own_tasks, err);
	if (!e) {
		e = cgroup_take_back(&r->cgroup, r->pid);
		if (e)
			err_sys(err, e, "cannot move the %s runner",
				runner_name(r->kind));
	}
	cgroup_close(&waited);
	if (!e)
		cgroup_mark(&r->cgroup);
	return e;
}

/* Only what the lane needs of what init has. */
static int become(struct agent *a, struct lane_end *end, struct err *err)
{
	int r = 0;

	a->mux = NULL;
	a->end = end;
	a->later = 0;
	a->port.fd = end->port;
	a->port.in_at = a->port.in_end = 0;
	port_forget(&a->port);
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (i != (int)end->kind || !end->waits) {
			runner_close(&a->runners[i]);
			runner_clear(&a->runners[i], (enum wire_runner)i);
		}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return err_sys(err, -errno, "prctl");
	r = lane_open(&a->job, end->lane, end->serial, end->kind, err);
	if (!r && end->waits)
		r = take_runner(end, &a->runners[end->kind], err);
	return r;
}

_Noreturn void lane_live(struct agent *a, struct lane_end *end)
{
	struct err err = {0};
	int r = become(a, end, &err);

	if (!r)
		r = agent_serve(a, &err);
	if (r != -EPIPE) {
		port_send_text(&a->port, WIRE_FAILED, WIRE_FAILED_JOB, err.text);
		port_drain(&a->port, true);
	}
	lane_remove(&a->job);
	_exit(1);
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

/* Processes that the lane has left running go on, and are reaped here. */
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
		fd_close(&r->control); /* an interpreter that lives ends at that */
	lane_clean(&a->job);
	lane_remove(&a->job);
	port_send(&a->port, WIRE_CLOSED, 0, NULL, 0);
	e = port_drain(&a->port, true);
	if (e)
		return e;
	keep(a, r);
}
