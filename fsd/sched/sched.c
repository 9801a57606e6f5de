/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants runs: checks the limits for one run, chooses the next one, and accepts or
 * refuses new ones. Users, levels and sums are in the other files of this folder.
 *
 * on_look() grants all that fit; it runs as a deferred call, so an owner's callback
 * never runs inside the owner's own call. A slot belongs to its owner from sched_enter()
 * to sched_leave(). All functions run on the loop; none blocks.
 */
#include "sched_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fsd/users/quota.h"

#define LOOK_NS NS_PER_S         /* between checks: no event tells of free memory */
#define FRESH_NS (5 * NS_PER_MS) /* how long a reading of the memory is used */
#define PASS_NS (10 * NS_PER_S)  /* how long other runs may pass the next run */

/* --- fitting ------------------------------------------------------------ */

void sched_read_memory(struct sched *s, bool now)
{
	uint64_t at = s->host.now(), high;

	if (!now && s->memory_ns && at - s->memory_ns < FRESH_NS)
		return;
	s->memory_ns = at;
	s->host.memory(s->host.arg, &s->memory);
	high = s->memory.available;
	if (!add_checked(&high, s->has.memory))
		high = UINT64_MAX;
	s->capacity = MIN(MAX(s->capacity, s->memory.available), high);
}

/* Returns how many bytes may still be promised. */
static uint64_t left(const struct sched *s)
{
	uint64_t taken = s->has.memory + s->limits.reserve;
	uint64_t by_promise = s->capacity - MIN(taken, s->capacity);
	uint64_t by_now = s->memory.available -
			  MIN(s->limits.reserve, s->memory.available);

	return MIN(by_promise, by_now);
}

static bool has_memory(struct sched *s, uint64_t need)
{
	sched_read_memory(s, false);
	if (need <= left(s))
		return true;
	sched_read_memory(s, true);
	return need <= left(s);
}

static const char *is_sick(const struct sched *s)
{
	return s->host.sick(s->host.arg, NULL);
}

static const char *is_barred(const struct sched *s)
{
	return s->host.barred ? s->host.barred(s->host.arg) : NULL;
}

/* Return: processors of machines that end with their run. Kept machines are not counted:
 * while they are idle they use none. */
static uint64_t working_cpus(const struct sched *s)
{
	return s->has.cpus - s->kept.cpus;
}

enum why sched_fits(struct sched *s, struct sched_slot *slot)
{
	bool hopeless = false;

	if (!quota_may_run(slot->user->quota))
		return WHY_QUOTA;
	if (is_barred(s))
		return WHY_BARRED;
	if (s->has.machines >= s->limits.machines)
		return WHY_MACHINES;
	if (s->has.machines > s->kept.machines &&
	    working_cpus(s) + slot->cpus > s->limits.cpus)
		return WHY_CPUS;
	if (s->host.sick(s->host.arg, &hopeless) && (s->has.machines || hopeless))
		return WHY_SICK;
	return has_memory(s, sched_need(slot->memory)) ? FITS : WHY_MEMORY;
}

#define MIB_OF(bytes) ((uint64_t)(bytes) >> 20)

/* Return: the end of a sentence that counts the machines of sessions and sandboxes, which
 * no run's end frees; "": there are none. */
static const char *kept_of(const struct sched *s, char *room, size_t size)
{
	room[0] = '\0';
	if (s->kept.machines)
		snprintf(room, size, "; sessions and sandboxes keep %u",
			 (unsigned)s->kept.machines);
	return room;
}

static void say(struct sched *s, struct sched_slot *slot, enum why why)
{
	char text[400], room[64];

	if (slot->told & 1u << why)
		return;
	slot->told |= 1u << why;
	switch (why) {
	case FITS:
		return;
	case WHY_TURN:
		snprintf(text, sizeof(text), "waits for its turn");
		break;
	case WHY_QUOTA:
		snprintf(text, sizeof(text),
			 "waits for another run of user %u to end: at most "
			 "%" PRIu64 " at a time (--quota-running)",
			 slot->uid, quota_running(slot->user->quota));
		break;
	case WHY_MACHINES:
		snprintf(text, sizeof(text),
			 "waits for a machine: all %u are in use "
			 "(--max-machines)%s",
			 s->limits.machines, kept_of(s, room, sizeof(room)));
		break;
	case WHY_CPUS:
		snprintf(text, sizeof(text),
			 "waits for processors: machines have %u of the %u "
			 "that they may have together, and this one wants %u",
			 (unsigned)working_cpus(s), s->limits.cpus, slot->cpus);
		break;
	case WHY_MEMORY:
		snprintf(text, sizeof(text),
			 "waits for memory: its machine may come to %" PRIu64
			 " MiB, and %" PRIu64 " MiB can be promised now%s",
			 MIB_OF(sched_need(slot->memory)), MIB_OF(left(s)),
			 kept_of(s, room, sizeof(room)));
		break;
	case WHY_SICK:
		snprintf(text, sizeof(text),
			 "waits until machines can be had "
			 "again: %.300s",
			 is_sick(s));
		break;
	case WHY_BARRED:
		snprintf(text, sizeof(text), "waits: %.300s", is_barred(s));
		break;
	}
	slot->ops->tell(slot, text);
}

/* --- choosing ----------------------------------------------------------- */

static struct sched_user *least_served(struct sched *s)
{
	struct sched_user *least = NULL;
	uint64_t now = s->host.now();

	list_for_each (pos, tmp, &s->users) {
		struct sched_user *u = list_entry(pos, struct sched_user, node);

		if (u->skipped != s->round && !list_empty(&u->levels) &&
		    (!least ||
		     sched_account(u, now) < sched_account(least, now)))
			least = u;
	}
	return least;
}

bool sched_runs_have_it(const struct sched *s, const struct sched_slot *slot,
			enum why why)
{
	uint64_t need = sched_need(slot->memory);

	if (why == WHY_CPUS)
		return true; /* a run alone may have all processors that it wants */
	return add_checked(&need, s->limits.reserve) &&
	       add_checked(&need, s->kept.memory) && need <= s->capacity;
}

/* Called for a slot that does not fit: the next run, or s->blocked. Return: true if other
 * runs may pass it. */
static bool may_pass(struct sched *s, struct sched_slot *slot, enum why why)
{
	if (why == WHY_MEMORY) {
		s->short_of_memory = true;
		s->host.give_way(s->host.arg);
	}
	if (!sched_runs_have_it(s, slot, why)) { /* ended runs would not make it fit, so
						  * do not wait for them */
		if (s->blocked == slot)
			s->blocked = NULL;
		return true;
	}
	if (!s->blocked) {
		s->blocked = slot;
		s->blocked_ns = s->host.now();
	}
	return s->host.now() - s->blocked_ns < PASS_NS;
}

/* Return: the user's run behind slot, in all levels; slot NULL: the first one. NULL:
 * none. */
static struct sched_slot *slot_after(const struct sched_user *u,
				     const struct sched_slot *slot)
{
	struct list *at;

	if (slot && slot->node.next != &slot->level->slots)
		return list_entry(slot->node.next, struct sched_slot, node);
	at = slot ? slot->level->node.next : u->levels.next;
	return at == &u->levels
		       ? NULL
		       : list_first(&list_entry(at, struct sched_level,
						node)->slots,
				    struct sched_slot, node);
}

struct sched_slot *sched_head(const struct sched_user *u)
{
	return slot_after(u, NULL);
}

#define PASSERS 16 /* runs that are checked: a user may have many more */

/* Return: the first run of the user that fits; NULL: none of the first PASSERS does. */
static struct sched_slot *passer(struct sched *s, const struct sched_user *u)
{
	struct sched_slot *slot = NULL;
	unsigned left = PASSERS;

	while ((slot = slot_after(u, slot))) {
		if (!left--)
			return NULL;
		if (sched_fits(s, slot) == FITS)
			return slot;
	}
	return NULL;
}

/* Return: the next slot that fits, or NULL. */
static struct sched_slot *next(struct sched *s)
{
	struct sched_slot *slot;
	struct sched_user *u;
	enum why why;

	s->round++;
	s->short_of_memory = false;
	if (s->has.machines >= s->limits.machines ||
	    working_cpus(s) >= s->limits.cpus)
		return NULL; /* usual when many runs wait: no search of the users */
	/* After PASS_NS no other slot goes first, not even one of a user with less
	 * service. */
	slot = s->blocked;
	if (slot) {
		why = sched_fits(s, slot);
		if (why == FITS)
			return slot;
		if (why != WHY_MEMORY && why != WHY_CPUS)
			s->blocked = NULL; /* running runs do not delay it */
		else if (!may_pass(s, slot, why))
			return NULL;
	}
	while ((u = least_served(s))) {
		u->skipped = s->round;
		slot = sched_head(u);
		if (!slot)
			continue;
		why = sched_fits(s, slot);
		if (why == FITS)
			return slot;
		if (slot->told)
			say(s, slot, why);
		if (why != WHY_MEMORY && why != WHY_CPUS)
			continue;
		if (!may_pass(s, slot, why))
			return NULL;
		slot = passer(s, u);
		if (slot)
			return slot;
	}
	return NULL;
}

static void grant(struct sched *s, struct sched_slot *slot)
{
	struct sched_user *u = slot->user;
	uint64_t served = sched_served(u, s->host.now());
	uint64_t least = s->floor_ns - MIN(DEBT_NS, s->floor_ns);

	sched_wait_out(s, slot);
	slot->granted = true;
	quota_count_running(u->quota, 1);
	/* The user may have waited long for a resource that was not there, or had fewer
	 * runs under way than others. At most DEBT_NS of that is made up for. */
	u->served_ns += least - MIN(served, least);
	s->floor_ns = MAX(s->floor_ns, served);
	sched_promise(s, u, slot->memory, slot->cpus, &slot->hold);
}

static void on_look(struct loop_call *call)
{
	struct sched *s = call->arg;
	struct sched_slot *slot;

	while ((slot = next(s))) {
		grant(s, slot);
		slot->ops->ready(slot);
	}
	if (s->waiting)
		sched_take_turns(s);
	/* No event tells of these: free memory, a machine that works, a machine that is
	 * idle for long. */
	if (s->waiting && (s->short_of_memory || is_sick(s) || s->kept.machines))
		loop_timer_set(s->loop, &s->again, LOOK_NS);
	else
		loop_timer_del(&s->again);
}

static void on_again(struct loop_timer *t)
{
	sched_kick(t->arg);
}

void sched_kick(struct sched *s)
{
	if (s->waiting)
		loop_defer(s->loop, &s->look);
}

/* --- entering and leaving ----------------------------------------------- */

int sched_check(struct sched *s, uid_t uid, uint64_t memory, bool force,
		struct err *err)
{
	uint64_t need = sched_need(memory), most, waiting;
	const struct sched_user *u;

	sched_read_memory(s, false);
	most = s->memory.total - MIN(s->limits.reserve, s->memory.total);
	if (need > most)
		return err_set(err, -EINVAL,
			       "a machine for this job may come to %" PRIu64
			       " MiB, and this host never has more than "
			       "%" PRIu64 " MiB for machines (%" PRIu64 " less "
			       "the reserve); ask for less memory_mb, or give "
			       "fsd more memory (--mem of Slurm, MemoryMax= of "
			       "its unit)",
			       MIB_OF(need), MIB_OF(most),
			       MIB_OF(s->memory.total));
	if (force)
		return 0;
	waiting = s->waiting + s->coming;
	if (s->limits.queued && waiting >= s->limits.queued)
		return err_set(err, -EAGAIN,
			       "the queue is full: %" PRIu64 " jobs wait, as "
			       "many as --max-queued allows; when some have "
			       "ended, write start to ctl, or config.json "
			       "again",
			       waiting);
	u = s->limits.user_queued ? sched_user_of(s, uid) : NULL;
	waiting = u ? u->waiting + u->coming : 0;
	if (u && waiting >= s->limits.user_queued)
		return err_set(err, -EAGAIN,
			       "your part of the queue is full: %" PRIu64
			       " jobs of user %u wait, as many as "
			       "--quota-queued allows; when some have ended, "
			       "write start to ctl, or config.json again",
			       waiting, uid);
	return 0;
}

int sched_enter(struct sched *s, struct sched_slot *slot)
{
	int r;

	slot->sched = s;
	slot->no = ++s->entered;
	slot->user = sched_user_of(s, slot->uid);
	r = slot->user ? sched_wait_in(s, slot, false) : -ENOMEM;
	if (r < 0) {
		slot->user = NULL;
		return r;
	}
	if (next(s) == slot) {
		grant(s, slot);
		return 1;
	}
	sched_kick(s);
	return 0;
}

int sched_adopt(struct sched *s, struct sched_slot *slot)
{
	slot->sched = s;
	slot->no = ++s->entered;
	slot->user = sched_user_of(s, slot->uid);
	if (!slot->user)
		return -ENOMEM;
	slot->granted = true;
	quota_count_running(slot->user->quota, 1);
	sched_promise(s, slot->user, slot->memory, slot->cpus, &slot->hold);
	return 0;
}

void sched_tell(struct sched_slot *slot)
{
	struct sched *s = slot->user ? slot->sched : NULL;
	enum why why;

	if (!s || !slot->waits)
		return;
	why = sched_fits(s, slot);
	say(s, slot, why == FITS ? WHY_TURN : why);
}

int sched_grow(struct sched_slot *slot, uint64_t memory, struct err *err)
{
	struct sched_reservation *h = &slot->hold;
	struct sched *s = h->sched;
	uint64_t need = sched_need(memory), before = h->memory;
	int r;

	slot->memory = memory;
	if (!s || need <= before)
		return 0;
	r = sched_check(s, slot->uid, memory, true, err);
	if (r < 0)
		return -E2BIG;
	if (has_memory(s, need - before)) {
		h->memory = need;
		s->has.memory += need - before;
		if (h->user)
			h->user->has.memory += need - before;
		return 0;
	}
	r = sched_put_back(slot);
	return r < 0 ? r : -EAGAIN;
}

int sched_put_back(struct sched_slot *slot)
{
	struct sched *s = slot->sched;
	int r;

	sched_release(&slot->hold);
	slot->granted = false;
	quota_count_running(slot->user->quota, -1);
	r = sched_wait_in(s, slot, true);
	sched_kick(s);
	if (r == 0)
		sched_tell(slot);
	return r;
}

void sched_leave(struct sched_slot *slot)
{
	if (!slot->user)
		return;
	if (slot->waits)
		sched_wait_out(slot->sched, slot);
	if (slot->granted)
		quota_count_running(slot->user->quota, -1);
	slot->granted = false;
	slot->user = NULL;
	sched_release(&slot->hold);
	sched_kick(slot->sched);
}

bool sched_has_spare(struct sched *s)
{
	return !s->short_of_memory && has_memory(s, VM_MACHINE_BYTES);
}

void sched_stats(struct sched *s, struct sched_stats *ret)
{
	sched_read_memory(s, false);
	*ret = (struct sched_stats){
		.waiting = s->waiting,
		.machines = s->has.machines,
		.promised = s->has.memory,
		.room = left(s),
		.machines_most = s->limits.machines,
	};
}

unsigned sched_machines_most(const struct sched *s)
{
	return s->limits.machines;
}

int sched_new(struct loop *loop, const struct sched_limits *limits,
	      const struct sched_host *host, struct quota *quota,
	      struct sched **ret)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct sched){
		.loop = loop,
		.limits = *limits,
		.host = *host,
		.quota = quota,
		.look = {.fn = on_look, .arg = s},
		.again = {.fn = on_again, .arg = s},
	};
	list_init(&s->users);
	list_init(&s->every);
	*ret = s;
	return 0;
}

void sched_free(struct sched *s)
{
	struct hash_node *h;
	size_t from = 0;

	if (!s)
		return;
	if (s->coming)
		log_error("%" PRIu64 " places in the queue are kept for nobody",
			  s->coming);
	loop_call_del(&s->look);
	loop_timer_del(&s->again);
	while ((h = hash_any(&s->by_uid, &from))) {
		hash_del(&s->by_uid, h);
		free(container_of(h, struct sched_user, by_uid));
	}
	hash_done(&s->by_uid);
	free(s);
}
