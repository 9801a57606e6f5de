/* SPDX-License-Identifier: Apache-2.0 */
/* Counts waiting runs by reason, for .fsd/stats. On the loop's thread; changes nothing. */
#include "sched_int.h"

#include "fsd/users/quota.h"

const char *const sched_reason_names[SCHED_REASONS] = {
	[SCHED_MACHINE] = "machine", [SCHED_CPUS] = "cpus",
	[SCHED_MEMORY] = "memory",   [SCHED_QUOTA] = "quota",
	[SCHED_DISK] = "disk",
};

static enum sched_reason reason_of(struct sched *s, struct sched_slot *slot)
{
	switch (sched_fits(s, slot)) {
	case WHY_QUOTA:
		return SCHED_QUOTA;
	case WHY_CPUS:
		return SCHED_CPUS;
	case WHY_MEMORY:
		return SCHED_MEMORY;
	case WHY_BARRED:
		return SCHED_DISK;
	default: /* FITS, too: the next check grants it a machine */
		return SCHED_MACHINE;
	}
}

static void older(uint64_t *oldest, const struct sched_slot *slot)
{
	if (!*oldest || slot->since_ns < *oldest)
		*oldest = slot->since_ns;
}

/* Finds the user's next run, and the oldest one. Only the first run of each level is
 * checked: later ones are younger, except for runs that an earlier server accepted. */
static struct sched_slot *look(const struct sched_user *u, uint64_t *oldest)
{
	struct sched_slot *head = NULL;

	list_for_each (pos, tmp, &u->levels) {
		struct sched_level *l = list_entry(pos, struct sched_level,
						   node);
		struct sched_slot *slot =
			list_first(&l->slots, struct sched_slot, node);

		older(oldest, slot);
		head = head ? head : slot;
	}
	return head;
}

uint64_t sched_waits(struct sched *s, uint64_t ret[SCHED_REASONS])
{
	uint64_t oldest = 0;

	for (int i = 0; i < SCHED_REASONS; i++)
		ret[i] = 0;
	list_for_each (pos, tmp, &s->users) {
		struct sched_user *u = list_entry(pos, struct sched_user, node);
		struct sched_slot *head = look(u, &oldest);

		if (head)
			ret[reason_of(s, head)] += u->waiting;
	}
	return oldest;
}
