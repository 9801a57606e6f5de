/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for files of a session's machine or of a shared one: a queue of
 * requests to put, a queue of those in flight, and the timeout for the answers.
 * The guest answers in order, and an answer must fit its request.
 *
 * Owns fs_waiting and fs_flight of the channel. All functions run on the loop.
 */
#include "channel_int.h"

#include <errno.h>
#include <string.h>


#define WAITING_MAX 512 /* requests in both queues */
#define FLIGHT_MAX 16 /* requests in flight; `out` has room for their frames */
#define FS_WAIT_NS (WAIT_JOB_S * NS_PER_S)

struct asked {
	struct list node;     /* link in fs_waiting, later in fs_flight */
	/* only the fields that wire_fs_reply_check() reads */
	struct wire_fs fs;
	vm_fs_done *done;
	void *arg;
	size_t size;
	uint8_t payload[];
};

static bool has_files(const struct channel *ch)
{
	return (ch->shared || wire_mode_is_step(ch->job_mode)) &&
	       ch->phase >= PHASE_IDLE && ch->phase < PHASE_DONE;
}

int channel_fs(struct channel *ch, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg)
{
	struct wire_fs numbered = *fs;
	struct wire_writer w = { .p = NULL };
	struct asked *a;

	if (!has_files(ch))
		return -ESTALE;
	if (ch->fs_count >= WAITING_MAX)
		return -EBUSY;
	numbered.id = ch->fs_epoch | (ch->fs_next++ & FS_NUMBER_MAX);
	wire_fs_put(&w, &numbered);
	if (w.used > WIRE_FS_REQUEST_MAX)
		return -EINVAL;
	a = malloc(sizeof(*a) + w.used);
	if (!a)
		return -ENOMEM;
	*a = (struct asked){
		.fs = { .id = numbered.id, .op = fs->op, .length = fs->length,
			.size = fs->size },
		.done = done, .arg = arg, .size = w.used,
	};
	w = (struct wire_writer){ .p = a->payload, .size = w.used };
	wire_fs_put(&w, &numbered);
	ch->fs_count++;
	list_add_tail(&ch->fs_waiting, &a->node);
	channel_wake(ch);
	return 0;
}

void channel_fs_progress(struct channel *ch)
{
	ch->fs_lost_ns = loop_lost_ns(ch->loop);
	if (list_empty(&ch->fs_flight) || ch->hold || ch->stalled)
		loop_timer_del(&ch->fs_deadline);
	else
		loop_timer_set(ch->loop, &ch->fs_deadline,
			       FS_WAIT_NS * ch->scale);
}

void channel_fs_silence(struct loop_timer *t)
{
	struct channel *ch = t->arg;
	uint64_t lost = loop_lost_ns(ch->loop) - ch->fs_lost_ns;

	ch->fs_lost_ns += lost;
	/* this process did not read in that time, so wait as long again */
	if (lost)
		loop_timer_set(ch->loop, t, MIN(lost, FS_WAIT_NS * ch->scale));
	else
		channel_break(ch, "the machine was silent for %u s while asked "
				  "for a file", WAIT_JOB_S * ch->scale);
}

bool channel_fs_put(struct channel *ch)
{
	struct asked *a = list_first(&ch->fs_waiting, struct asked, node);

	/* Not before the first JOB: only then does the guest know of the
	 * session. */
	if (!a || ch->fs_in_flight >= FLIGHT_MAX ||
	    !(ch->job_put || ch->shared))
		return false;
	channel_put(ch, WIRE_FS, 0, a->payload, a->size);
	if (ch->phase == PHASE_DONE)
		return false; /* the channel broke and freed a */
	list_del(&a->node);
	list_add_tail(&ch->fs_flight, &a->node);
	if (!ch->fs_in_flight++)
		channel_fs_progress(ch);
	return true;
}

static void answer(struct channel *ch, struct asked *a, int r,
		   const uint8_t *data, size_t size)
{
	list_del(&a->node);
	ch->fs_count--;
	a->done(a->arg, r, data, size);
	free(a);
}

int channel_fs_reply(struct channel *ch, const uint8_t *payload, size_t length)
{
	struct asked *a = list_first(&ch->fs_flight, struct asked, node);
	const uint8_t *data;
	uint32_t id, error;
	size_t size;

	if (wire_fs_reply_get(payload, length, &id, &error, &data, &size) < 0)
		return -EPROTO;
	/* An answer to a request of the dead process, whose epoch was lower: ignore it. */
	if ((int32_t)((id & ~FS_NUMBER_MAX) - ch->fs_epoch) < 0)
		return 0;
	if (!a || id != a->fs.id ||
	    (!error && wire_fs_reply_check(&a->fs, data, size) < 0))
		return -EPROTO;
	ch->fs_in_flight--;
	answer(ch, a, -(int)error, data, size);
	if (ch->phase != PHASE_DONE) {
		channel_fs_progress(ch);
		if (!list_empty(&ch->fs_waiting))
			channel_wake(ch);
	}
	return 0;
}

void channel_fs_end(struct channel *ch)
{
	struct asked *a;

	loop_timer_del(&ch->fs_deadline);
	ch->fs_in_flight = 0;
	while ((a = list_first(&ch->fs_flight, struct asked, node)) ||
	       (a = list_first(&ch->fs_waiting, struct asked, node)))
		answer(ch, a, -EIO, NULL, 0);
}
