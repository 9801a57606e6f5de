/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of one lane, from its fork to its end. It starts as a copy of init, so it
 * first gives up what belongs to init or to other lanes. It takes over the runner that
 * has waited, if there is one, and then takes turns of agent.c.
 */
#include "lane_agent.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest/run/lane.h"
#include "layout/base/cleanup.h"
#include "guest/os/share.h"

/*
 * Moves the waiting runner to the lane's group. Its memory stays charged to the
 * group in which it was allocated, so it does not count for the job; in a
 * machine of its own it does not count either.
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

/* Gives up everything of init's that the lane does not need. */
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

/* Serves the lane. Return: why it ends; -EPIPE: init has closed the lane's
 * socket. */
static int serve(struct agent *a, struct err *err)
{
	int r = port_flush(&a->port);

	while (!r)
		r = agent_turn(a, UINT64_MAX, err);
	if (!err->code)
		err_sys(err, r, "the port");
	return r;
}

_Noreturn void lane_live(struct agent *a, struct lane_end *end)
{
	struct err err = {0};
	int r = become(a, end, &err);

	if (!r)
		r = serve(a, &err);
	if (r != -EPIPE) {
		port_send_text(&a->port, WIRE_FAILED, WIRE_FAILED_JOB, err.text);
		port_drain(&a->port, true);
	}
	lane_remove(&a->job);
	_exit(1);
}
