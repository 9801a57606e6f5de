/* SPDX-License-Identifier: Apache-2.0 */
/* Promises machines memory and processors, and charges their users. A machine belongs to one
 * run or outlives its runs. */
#include "sched_int.h"

uint64_t sched_need(uint64_t memory)
{
	return add_checked(&memory, VM_MACHINE_BYTES) ? memory : UINT64_MAX;
}

static void add(struct sched_use *use, const struct sched_reservation *hold, int more)
{
	use->machines += (uint64_t)more;
	use->cpus += (uint64_t)more * hold->cpus;
	use->memory += (uint64_t)more * hold->memory;
}

void sched_promise(struct sched *s, struct sched_user *u, uint64_t memory,
		   unsigned cpus, struct sched_reservation *hold)
{
	*hold = (struct sched_reservation){
		.sched = s,
		.user = u,
		.memory = sched_need(memory),
		.cpus = cpus,
		.since_ns = s->host.now(),
	};
	add(&s->has, hold, 1);
	if (!u)
		return; /* out of memory: no user is charged */
	add(&u->has, hold, 1);
	u->since_sum += hold->since_ns;
}

static void stays(struct sched_reservation *hold)
{
	struct sched *s = hold->sched;

	hold->is_kept = true;
	if (hold->user)
		add(&hold->user->kept, hold, 1);
	add(&s->kept, hold, 1);
}

void sched_join(struct sched_slot *slot, struct sched_reservation *kept)
{
	if (!slot->hold.sched)
		return;
	*kept = slot->hold;
	slot->hold = (struct sched_reservation){0};
	stays(kept);
}

void sched_release(struct sched_reservation *hold)
{
	struct sched *s = hold->sched;
	struct sched_user *u = hold->user;

	if (!s)
		return;
	add(&s->has, hold, -1);
	if (hold->is_kept)
		add(&s->kept, hold, -1);
	if (u) {
		add(&u->has, hold, -1);
		if (hold->is_kept)
			add(&u->kept, hold, -1);
		u->since_sum -= hold->since_ns;
		u->served_ns += s->host.now() - hold->since_ns;
	}
	*hold = (struct sched_reservation){0};
	sched_kick(s);
}
