/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases on the lanes of a shared machine. The machine itself has a lease too, of
 * another owner. Leases on lanes come and go while the machine lives. If it ends,
 * they fail, with one exception: if it has not sent a single frame, another machine
 * replaces it, and each lease gets a lane of that one.
 *
 * All functions run on the loop.
 */
#include "pool_shared.h"

#include <errno.h>

/* --- events of a lane's channel ----------------------------------------- */

static void on_finished(void *arg)
{
	(void)arg; /* the lane stays open until vm_end() */
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	(void)eof;
	lease_fail(arg, why, sentence);
}

static const struct channel_events lane_events = {
	.finished = on_finished,
	.broken = on_broken,
};

/* --- lanes ---------------------------------------------------------------------- */

/* Opens the lease's lane. Return: 0, or negative errno: the lease has no lane then. */
static int open_lane(struct vm_lease *l)
{
	return lanes_open(l->of->machine->lanes, &lane_events, l, &l->lane);
}

void pool_run_lane(struct vm_lease *l)
{
	struct vm_replay *t = l->job->replay;

	if (!l->lane)
		return;
	if (t) {
		t->lane = lane_number(l->lane);
		pool_sign(l, &t->origin);
	}
	channel_job(lane_channel(l->lane), l->job, l->events, l->arg);
}

/* Forgets the lanes, which the machine's end has freed. */
void pool_lose_lanes(struct vm_lease *l)
{
	list_for_each(pos, tmp, &l->joined)
		list_entry(pos, struct vm_lease, node)->lane = NULL;
}

void pool_fail_lanes(struct vm_lease *l, const char *sentence)
{
	list_for_each(pos, tmp, &l->joined) {
		struct vm_lease *j = list_entry(pos, struct vm_lease, node);

		j->lane = NULL;
		lease_fail(j, VM_FAILED_LOST, sentence);
	}
}

void pool_orphan_lanes(struct vm_lease *l)
{
	pool_fail_lanes(l, "its machine was ended");
	list_for_each(pos, tmp, &l->joined) {
		struct vm_lease *j = list_entry(pos, struct vm_lease, node);

		list_del(&j->node);
		j->of = NULL;
	}
}

void pool_part(struct vm_lease *l)
{
	if (l->lane)
		lane_close(l->lane);
	l->lane = NULL;
	list_del(&l->node);
}

/* --- sharing ----------------------------------------------------------------------- */

void pool_share(struct vm_lease *l)
{
	int r;

	if (l->share.mux)
		pool_sign(l, &l->share.mux->origin);
	r = machine_share(l->machine, &l->share, l->again >= AGAIN_MAX);

	list_for_each(pos, tmp, &l->joined) {
		struct vm_lease *j = list_entry(pos, struct vm_lease, node);

		if (r == 0 && !j->failed)
			r = open_lane(j);
		if (r == 0 && j->job)
			pool_run_lane(j);
	}
	if (r == 0)
		return;
	/* no memory, for the machine or for a lane: end the machine, fail its leases */
	machine_end(l->machine);
	l->machine = NULL;
	pool_fail_lanes(l, "no memory for its machine");
	lease_fail(l, VM_FAILED_LOST, "no memory for its machine");
}

static void join(struct vm_lease *machine, struct vm_lease *l)
{
	l->of = machine;
	l->cls = machine->cls;
	l->need = machine->need;
	l->info = machine->info;
	l->info.granted_ns = now_ns();
	l->granted = true;
	list_add_tail(&machine->joined, &l->node);
}

int pool_join(struct vm_lease *machine, struct vm_lease *l)
{
	int r = 0;

	if (!machine->shared || machine->failed)
		return -ESTALE;
	l->of = machine;
	if (machine->machine) /* otherwise the machine is being replaced */
		r = open_lane(l);
	if (r < 0)
		return r;
	join(machine, l);
	pool_defer(l);
	return 0;
}

int pool_rejoin(struct vm_lease *machine, unsigned number, bool aborts,
		struct vm_lease *l)
{
	struct lanes *ls = machine->machine ? machine->machine->lanes : NULL;
	int r = !ls || !machine->shared || machine->failed
			? -ESRCH
			: lanes_claim(ls, number, l->job, l->events, l->arg,
				      aborts, &lane_events, l, &l->lane);

	if (r < 0)
		return r;
	join(machine, l);
	l->runs = 1;
	return 0;
}
