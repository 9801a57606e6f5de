/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeouts for a silent guest: how long each wait may last, and what extends
 * it.
 *
 * A wait has two ends: the deadline, which every sign of progress restarts, and
 * wait_end_ns, which progress extends by what it was worth. All functions run
 * on the loop.
 */
#include "channel_int.h"

/* Extends the waits by the time in which the loop did not run (loop_lost_ns()):
 * no process read from the guest then. Return: that time in ns. */
static uint64_t forgive(struct channel *ch)
{
	uint64_t lost = loop_lost_ns(ch->loop), more = lost - ch->lost_ns;

	ch->lost_ns = lost;
	ch->wait_end_ns += more;
	return more;
}

void channel_silence(struct loop_timer *t)
{
	struct channel *ch = t->arg;
	uint64_t more = forgive(ch);

	if (more)
		loop_timer_set(ch->loop, t, MIN(more, ch->wait_ns));
	else if (now_ns() >= ch->wait_end_ns)
		channel_break(ch, "the machine was too slow while %s",
			      ch->waiting_for);
	else
		channel_break(ch, "the machine was silent for %u s while %s",
			      (unsigned)(ch->wait_ns / NS_PER_S),
			      ch->waiting_for);
}

void channel_watch(struct channel *ch)
{
	uint64_t now = now_ns(), left;

	forgive(ch);
	left = ch->wait_end_ns - now;
	if (!ch->waiting_for || ch->hold || ch->full || ch->stalled)
		loop_timer_del(&ch->deadline);
	else
		loop_timer_set(ch->loop, &ch->deadline,
			       now >= ch->wait_end_ns
				       ? 0 : MIN(ch->wait_ns, left));
}

void channel_watch_anew(struct channel *ch)
{
	forgive(ch); /* drop time that was lost before this wait */
	ch->wait_end_ns = now_ns() + WAIT_WHOLE * ch->wait_ns;
	channel_watch(ch);
}

void channel_wait(struct channel *ch, const char *what, unsigned seconds)
{
	ch->waiting_for = what;
	ch->wait_ns = (uint64_t)seconds * ch->scale * NS_PER_S;
	channel_watch_anew(ch);
}

uint64_t channel_worth(const struct channel *ch, size_t bytes)
{
	return bytes * ch->scale * (NS_PER_S / WAIT_BYTES_PER_S);
}

void channel_progress(struct channel *ch, uint64_t worth_ns)
{
	/* A killed program's frames do not extend its wait. */
	if (!ch->killed || ch->phase == PHASE_COLLECTING)
		ch->wait_end_ns += worth_ns;
	if (ch->waiting_for)
		channel_watch(ch);
	/*
	 * The guest answers requests for files beside all its other work, but
	 * not while it collects the output. So each frame of the output
	 * restarts their timeout too.
	 */
	if (ch->phase == PHASE_COLLECTING)
		channel_fs_progress(ch);
}
