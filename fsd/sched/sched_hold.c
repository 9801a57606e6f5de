/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised to machines, to runs and to sessions, and who is charged. */
#include "sched_int.h"

uint64_t sched_need(uint64_t memory)
{
	return add_checked(&memory, VM_MACHINE_BYTES) ? memory : UINT64_MAX;
}

static void add(struct sched_use *use, const struct sched_hold *hold, int more)
{
	use->machines += (uint64_t)more;
	use->cpus += (uint64_t)more * hold->cpus;
	use->memory += (uint64_t)more * hold->memory;
}

void sched_promise(struct sched *s, struct sched_user *u, uint64_t memory,
		   unsigned cpus, struct sched_hold *hold)
{
	*hold = (struct sched_hold){
		.sched = s,
		.user = u,
		.memory = sched_need(memory),
		.cpus = cpus,
		.since_ns = s->host.now(),
	};
	add(&s->has, hold, 1);
	if (!u)
		return; /* without memory nobody is charged */
	add(&u->has, hold, 1);
	u->since_sum += hold->since_ns;
}

static void stays(struct sched_hold *hold)
{
	struct sched *s = hold->sched;

	hold->is_session = true;
	if (hold->user)
		add(&hold->user->kept, hold, 1);
	add(&s->kept, hold, 1);
}

void sched_begun(struct sched_slot *slot)
{
	if (!slot->begins)
		return;
	slot->begins = false;
	slot->user->begins--;
	slot->sched->begins--;
}

/* Those that wait behind it in its session may come, perhaps all. */
static void look_behind(struct sched_slot *slot)
{
	struct sched_slot *next =
		slot->line ? list_first(&slot->line->waiting,
					struct sched_slot, in_line)
			   : NULL;

	if (!next)
		return;
	sched_line_look(next);
	sched_look(slot->sched);
}

void sched_join(struct sched_slot *slot, struct sched_hold *session)
{
	struct sched_line *line = slot->line;

	sched_begun(slot);
	if (slot->hold.sched && !session->sched) {
		*session = slot->hold;
		slot->hold = (struct sched_hold){0};
		stays(session);
	}
	sched_release(&slot->hold);
	if (!line || line->coming != slot)
		return;
	line->coming = NULL;
	look_behind(slot);
}

void sched_hold(struct sched_slot *slot, uint64_t memory, unsigned cpus,
		struct sched_hold *session)
{
	if (session->sched)
		return;
	sched_promise(slot->sched, slot->user, memory, cpus, session);
	stays(session);
	look_behind(slot);
}

void sched_release(struct sched_hold *hold)
{
	struct sched *s = hold->sched;
	struct sched_user *u = hold->user;

	if (!s)
		return;
	add(&s->has, hold, -1);
	if (hold->is_session)
		add(&s->kept, hold, -1);
	if (u) {
		add(&u->has, hold, -1);
		if (hold->is_session)
			add(&u->kept, hold, -1);
		u->since_sum -= hold->since_ns;
		u->served_ns += s->host.now() - hold->since_ns;
	}
	*hold = (struct sched_hold){0};
	sched_look(s);
}
