/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopts the machine of a dead process: the channel begins at the replay buffer's last
 * checkpoint, with a job or between two. channel_rest() begins the replay buffer of a
 * machine between two jobs, so that the next process can adopt it.
 */
#include "channel_int.h"

#include "ring.h"

void channel_rest(struct channel *ch, struct vm_replay *t)
{
	size_t from = ch->parsing ? ch->in_at : 0;

	if (ch->phase != PHASE_IDLE || ch->transport)
		return;
	replay_begin(t, &(struct vm_checkpoint){ .phase = PHASE_IDLE, .heats = ch->heats },
		     ch->in + from, ch->in_len - from);
	t->epoch = ch->fs_epoch >> FS_EPOCH_SHIFT;
	t->spoiled = 0;
	ch->replay = t;
	ch->replay_at = t->end;
	ring_in_order(); /* t->sent is valid only after all of the above */
	t->sent = channel_has_sent_all(ch);
}

int channel_adopt(struct loop *loop, int fd, unsigned scale,
		  const struct channel_events *ev, void *arg,
		  const struct vm_job *job, const struct vm_events *job_ev,
		  void *job_arg, struct channel **ret)
{
	int r = channel_new(loop, fd, PHASE_RUNNING, scale, ev, arg, ret);

	if (r < 0)
		return r;
	channel_take_up(*ret, job, job_ev, job_arg);
	(*ret)->fs_epoch = ++job->replay->epoch << FS_EPOCH_SHIFT;
	(*ret)->stdin_at = job->stdin_open ? job->replay->feed.put
					   : job->stdin_size;
	(*ret)->stdin_acked = MIN((*ret)->stdin_acked, (*ret)->stdin_at);
	return 0;
}

int channel_adopt_idle(struct loop *loop, int fd, unsigned scale,
		       const struct channel_events *ev, void *arg,
		       struct vm_replay *t, struct channel **ret)
{
	int r = channel_new(loop, fd, PHASE_IDLE, scale, ev, arg, ret);

	if (r < 0)
		return r;
	(*ret)->job_mode = WIRE_MODE_SESSION; /* its jobs are steps: has_files() is true */
	(*ret)->job_put = (*ret)->heard = true;
	(*ret)->heats = replay_checkpoint(t)->heats;
	(*ret)->fs_epoch = ++t->epoch << FS_EPOCH_SHIFT;
	(*ret)->replay = t;
	(*ret)->replay_at = replay_checkpoint(t)->at;
	channel_wake(*ret);
	return 0;
}
