/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes back idle machines of sessions and sandboxes when another user waits, as sched.h
 * describes, and reports which machines are kept. On the loop's thread.
 */
#include "sched_int.h"

#define LOOK_NS NS_PER_S
#define USUAL_MEMORY MIB(256) /* memory of a job without memory_mb */

/* Return: the bytes of use for WHY_MEMORY, else its machines. */
static uint64_t amount(enum why why, const struct sched_use *use)
{
	return why == WHY_MEMORY ? use->memory : use->machines;
}

static uint64_t amount_most(const struct sched *s, enum why why)
{
	return why == WHY_MEMORY
		       ? s->capacity - MIN(s->limits.reserve, s->capacity)
		       : s->limits.machines;
}

/* Return: an equal share for each user that has a machine or waits for one. */
static uint64_t share(const struct sched *s, enum why why)
{
	uint64_t users = 0;

	list_for_each(pos, tmp, &s->every) {
		const struct sched_user *u =
			list_entry(pos, struct sched_user, every);

		users += u->has.machines || u->waiting;
	}
	return MAX(amount_most(s, why) / MAX(users, 1u), 1u);
}

static bool gives(const struct sched_user *from, const struct sched_user *to,
		  enum why why)
{
	return from != to && amount(why, &from->kept) > amount(why, &to->has);
}

/* Return: true if the slot would fit with the machines that others would give to u, but
 * not without them, even when the machines that are ending now have ended. */
static bool would_help(const struct sched *s, const struct sched_user *u,
		       const struct sched_slot *slot, enum why why)
{
	uint64_t need = sched_need(slot->memory), taken = s->has.memory, kept = 0;

	list_for_each(pos, tmp, &s->every) {
		const struct sched_user *v =
			list_entry(pos, struct sched_user, every);

		kept += gives(v, u, why) ? amount(why, &v->kept) : 0;
	}
	if (why != WHY_MEMORY)
		return kept;
	return add_checked(&need, s->limits.reserve) &&
	       add_checked(&need, taken) && need > s->capacity &&
	       need - kept <= s->capacity;
}

/* Return: the user who keeps most, of those who give to `to` and were not asked in this
 * round; or NULL. */
static struct sched_user *greediest(struct sched *s, const struct sched_user *to,
				    enum why why)
{
	struct sched_user *most = NULL;

	list_for_each(pos, tmp, &s->every) {
		struct sched_user *u = list_entry(pos, struct sched_user, every);

		if (u->skipped != s->round && gives(u, to, why) &&
		    (!most || amount(why, &u->kept) > amount(why, &most->kept)))
			most = u;
	}
	return most;
}

/* Takes a machine back for slot, the next run of u, if slot lacks a machine or memory.
 * Return: true if a machine was taken back. */
static bool give_to(struct sched *s, const struct sched_user *u,
		    struct sched_slot *slot)
{
	enum why why = slot ? sched_fits(s, slot) : FITS;
	struct sched_user *from;

	if ((why != WHY_MACHINES && why != WHY_MEMORY) ||
	    !would_help(s, u, slot, why))
		return false;
	s->round++;
	while ((from = greediest(s, u, why))) {
		bool more = amount(why, &from->kept) > share(s, why);

		from->skipped = s->round;
		if (s->host.take_back(s->host.arg, from->uid,
				      more ? SCHED_SHARE_NS : SCHED_TURN_NS))
			return true;
	}
	return false;
}

void sched_take_turns(struct sched *s)
{
	uint64_t now = s->host.now();

	if (!s->host.take_back || !s->kept.machines || now - s->turn_ns < LOOK_NS)
		return;
	s->turn_ns = now;
	list_for_each(pos, tmp, &s->users) {
		const struct sched_user *u =
			list_entry(pos, struct sched_user, node);

		if (give_to(s, u, sched_head(u)))
			return;
	}
}

/* --- for files below .fsd --------------------------------------------------- */

/* Return: a copy of the user. An unknown uid is not added: reading a file must not make a
 * user. */
static struct sched_user look_up(const struct sched *s, uid_t uid)
{
	list_for_each(pos, tmp, &s->every) {
		const struct sched_user *u =
			list_entry(pos, struct sched_user, every);

		if (u->uid == uid)
			return *u;
	}
	return (struct sched_user){ .uid = uid };
}

static bool has_turn(const struct sched *s, const struct sched_user *to,
		     enum why why)
{
	list_for_each(pos, tmp, &s->every) {
		const struct sched_user *u =
			list_entry(pos, struct sched_user, every);

		if (u->uid != to->uid && gives(u, to, why))
			return true;
	}
	return false;
}

bool sched_has_turn(struct sched *s, uid_t uid)
{
	const struct sched_user u = look_up(s, uid);

	return has_turn(s, &u, WHY_MACHINES);
}

/* Return: what a job of usual size would lack even if all runs had ended; FITS:
 * nothing. */
static enum why kept_all(struct sched *s)
{
	const struct sched_slot usual = { .memory = USUAL_MEMORY };

	if (!s->kept.machines)
		return FITS;
	sched_read_memory(s, false);
	return s->kept.machines >= s->limits.machines ? WHY_MACHINES
	       : !sched_runs_have_it(s, &usual, WHY_MEMORY) ? WHY_MEMORY : FITS;
}

void sched_kept(struct sched *s, uid_t uid, struct sched_kept *ret)
{
	const struct sched_user u = look_up(s, uid);
	enum why why = kept_all(s);

	*ret = (struct sched_kept){
		.machines = (unsigned)s->kept.machines,
		.own = (unsigned)u.kept.machines,
		.all = why == WHY_MACHINES ? "machines"
		       : why == WHY_MEMORY ? "memory" : NULL,
		.turn = why != FITS && has_turn(s, &u, why),
	};
}
