/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the machines of sessions (`single`) adoptable, and adopts those of a dead server.
 * While a step runs, its replay buffer has the keys of the machine's sockets. Between two
 * steps the seat has a replay buffer of its own, without a job (seat->rest). The new
 * buffer becomes valid before the old one becomes invalid. While a step is being sent,
 * both are invalid: a new server queues that step again, and begins the session again.
 *
 * seat_rest() runs on the loop; the functions that adopt run before the loop runs.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/run/run_network.h"

/* --- for the next server ----------------------------------------------------------- */

/* Finds or makes the seat's replay buffer. NULL: the table is full, and the machine ends
 * with this server. */
static struct vm_replay *replay_of(struct seat *t)
{
	struct handover *in = t->sandbox->d->handover;
	uint32_t place;

	if (t->rest || !t->kept)
		return t->rest;
	t->rest = handover_add(in, &replay_records, &place);
	if (!t->rest)
		return NULL;
	t->rest->sandbox = t->sandbox->no;
	t->rest->seat = t->no;
	handover_publish(&t->rest->live);
	return t->rest;
}

void seat_rest(struct seat *t, struct vm_replay *of)
{
	if (!replay_of(t))
		return;
	vm_rest(t->lease, t->rest);
	if (of)
		replay_invalidate(of);
}

void seat_forget_rest(struct seat *t)
{
	if (t->rest)
		handover_del(t->sandbox->d->handover, &replay_records, t->rest);
	t->rest = NULL;
}

/* --- from the previous server --------------------------------------------- */

/* Adopts the session's memory at the scheduler, and its environment. Return: 0 or
 * negative errno. */
static int take_place(struct sandbox *s)
{
	int r = s->hold.sched ? 0 : sandbox_find_environment(s, s->kept);

	if (r < 0 || s->hold.sched)
		return r;
	sandbox_fill_slot(s, s->memory);
	r = sched_adopt(s->d->sched, &s->slot);
	if (r < 0)
		return r;
	sched_join(&s->slot, &s->hold);
	sched_leave(&s->slot);
	return 0;
}

static void lives(struct seat *t, struct vm_lease *lease)
{
	struct sandbox *s = t->sandbox;

	t->lease = s->lease = lease;
	t->granted = true;
	s->stage = STAGE_LIVES;
	s->why[0] = '\0';
	sandbox_keep(s);
	sandbox_network_adopt(s);
	log_info("session %s of user %u: another server goes on with it", s->name,
		 s->uid);
}

/* Adopts a machine that waits for the next step. Return: NULL, or why this failed. */
static const char *take_idle(struct seat *t)
{
	struct sandbox *s = t->sandbox;
	struct vm_sockets sockets;
	struct vm_lease *lease;

	if (replay_recover(t->rest) < 0)
		return "what its machine has said is not kept whole, since its server "
		       "was killed";
	if (take_place(s) < 0)
		return "its server was killed, and there is no memory, or its "
		       "environment cannot be read";
	sockets = run_fetch_sockets(s->d, &t->rest->reach.keys);
	lease = vm_adopt_idle(s->d->vm, &sockets, t->rest, &seat_events, t);
	if (!lease)
		return "its machine has died, with its server";
	lives(t, lease);
	return NULL;
}

/* Finds the seat's replay buffer. Return: true if a step of the session has a replay
 * buffer, too. The step may have ended already: the server may have died before it wrote
 * the record of that end. */
static bool is_on_replay(const struct sandbox *s, struct seat *t)
{
	struct handover *in = s->d->handover;
	struct vm_replay *replay;
	bool found = false;

	for (uint32_t i = 0; (replay = handover_next(in, &replay_records, &i)); ) {
		if (replay->sandbox != s->no)
			continue;
		if (replay->job)
			found |= replay->sent != 0;
		else if (!t->rest)
			t->rest = replay;
	}
	return found;
}

static void set_why(struct sandbox *s, const char *why)
{
	log_warn("session %s of user %u: lost: %s", s->name, s->uid, why);
	snprintf(s->why, sizeof(s->why), "%s", why);
}

void single_adopt(struct sandbox *s)
{
	struct seat *t = sandbox_seat(s);
	const char *why = NULL;

	if (!t) { /* the server was killed while it made the session */
		sandbox_drop(s);
		return;
	}
	if (is_on_replay(s, t))
		s->stage = STAGE_LIVES; /* for now: single_adopted() resets the stage if no
					 * step is adopted */
	if (t->rest && t->rest->sent)
		why = take_idle(t);
	if (why)
		set_why(s, why);
}

int single_take_run(struct sandbox *s, struct run *run, struct vm_replay *replay)
{
	struct seat *t = sandbox_seat(s);
	struct vm_sockets sockets;
	struct vm_lease *lease;

	if (!t || t->lease || !replay->sent || s->uid != run->job->meta.uid ||
	    take_place(s) < 0)
		return -ESRCH;
	sockets = run_fetch_sockets(s->d, &replay->reach.keys);
	lease = vm_adopt(s->d->vm, &sockets, &run->vm_job, &run_events, run);
	if (!lease)
		return -ESRCH;
	lives(t, lease);
	t->current = run;
	run->lease = lease;
	run->living.seat = t;
	list_add_tail(&s->runs, &run->living.in_sandbox);
	run_network_join(run, &run_network_hooks, sandbox_network_of(s));
	return 0;
}

void single_adopted(struct sandbox *s)
{
	struct seat *t = sandbox_seat(s);

	if (!s->lease && t->lease_steps && !s->why[0])
		set_why(s, "its machine has died, with its server");
	if (!s->lease)
		sandbox_restart(s);
	sandbox_used(s); /* starts the idle time, unless there are runs */
	sandbox_keep(s);
	s->told_state = sandbox_state_no(s);
}

void singles_drop_replays(struct fsd *d)
{
	struct vm_replay *replay;

	for (uint32_t i = 0; (replay = handover_next(d->handover, &replay_records, &i)); ) {
		const struct seat *t = replay->job
					 ? NULL : sandbox_session_by_no(d, replay->seat);

		if (!replay->job && (!t || t->rest != replay))
			replay->live = 0;
	}
}
