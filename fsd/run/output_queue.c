/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run's output to the disk: streams and the output tree, in the order in which
 * the machine sent them. Output that comes during a write is collected and written next.
 * If a machine is faster than the disk, reading from it stops for a while, which bounds
 * the memory. Readers are notified when output is stored, so they never see a size that
 * they cannot read.
 *
 * The functions that take data run on the loop. on_flow() is a fiber, one for each run
 * that has output; do_write() runs on a thread for the disk.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fsd/jobs/event_log.h"
#include "fsd/jobs/job_watch.h"
#include "fsd/base/fiber.h"
#include "run_int.h"

#define OUTPUT_QUEUE_MOST (256u << 10) /* bytes of one run that wait: reading stops */
#define OUTPUT_QUEUE_LESS (64u << 10) /* reading continues */

/* The kinds of items after those of enum vm_stream. */
enum flow_kind {
	OUTPUT_QUEUE_STREAM_LAST = VM_STREAM_MAX - 1,
	OUTPUT_QUEUE_FILE,
	OUTPUT_QUEUE_DATA,
	OUTPUT_QUEUE_END
};

struct flow_item {
	unsigned kind; /* enum vm_stream or enum flow_kind */
	uint32_t len; /* bytes of the data behind the item: output, or a path and a link's
		       * target, each with its NUL */
	uint32_t file_kind, mode;
	uint64_t size;
	struct wire_time mtime; /* for OUTPUT_QUEUE_END: the file's mtime */
};

static const struct flow_item *item_at(const struct buf *b, size_t at,
				       struct flow_item *room)
{
	if (at >= b->len)
		return NULL;
	memcpy(room, b->data + at, sizeof(*room));
	return room;
}

static size_t item_size(const struct flow_item *item)
{
	return sizeof(*item) + item->len;
}

/* --- in ------------------------------------------------------------------- */

static void on_flow(void *arg);

static void hold_back(struct run *run, bool hold)
{
	if (run->output_queue.held == hold || !run->lease)
		return;
	run->output_queue.held = hold;
	vm_hold(run->lease, hold);
}

/* Appends output to the last item, if that is of the same stream. Return: true if so. */
static bool extend(struct buf *in, size_t last, const struct flow_item *item,
		   const void *data)
{
	struct flow_item old;

	if (item->kind > OUTPUT_QUEUE_STREAM_LAST || in->len > OUTPUT_QUEUE_MOST / 2 ||
	    !item_at(in, last, &old) || old.kind != item->kind ||
	    buf_add(in, data, item->len) < 0)
		return false;
	old.len += item->len;
	memcpy(in->data + last, &old, sizeof(old));
	return true;
}

/* Appends an item and its data, whole or not at all, and starts the queue's fiber. */
static int put(struct run *run, const struct flow_item *item, const void *data)
{
	struct buf *in = &run->output_queue.in;
	size_t before = in->len;
	int r;

	if (extend(in, run->output_queue.last, item, data))
		return 0;
	run->output_queue.last = in->len;
	r = buf_add(in, item, sizeof(*item));

	if (r == 0)
		r = buf_add(in, data, item->len);
	if (r < 0) {
		in->len = before;
		return r;
	}
	if (in->len + run->output_queue.now.len > OUTPUT_QUEUE_MOST)
		hold_back(run, true);
	if (!run->output_queue.busy) {
		run->output_queue.busy = true;
		run_hold(run);
		fiber_run(on_flow, run);
	}
	return 0;
}

int output_queue_output(struct run *run, enum vm_stream stream, const void *data,
			size_t len)
{
	struct run_stream *s = &run->stream[stream];
	struct flow_item item = {
		.kind = stream,
	};
	struct file_owner *owner;
	uint64_t room = s->limit - MIN(s->taken, s->limit);
	int r;

	if (run->output_queue.failed)
		return 0; /* flow_failed() ends the run */
	owner = &run->job->file_owner;
	if (s->skip) {
		size_t again = (size_t)MIN(len, s->skip);

		s->skip -= again;
		s->taken += again;
		room -= again;
		data = (const char *)data + again;
		len -= again;
	}
	if (MIN(len, room) > quota_run_room(owner)) {
		run_over_quota(run);
		s->unpaid += MIN(len, room) - quota_run_room(owner);
		room = quota_run_room(owner);
	}
	item.len = (uint32_t)MIN(len, room);
	s->dropped += len - item.len;
	s->taken += item.len;
	quota_run_add(owner, item.len);
	r = item.len ? put(run, &item, data) : 0;
	if (r < 0) {
		s->taken -= item.len;
		quota_run_sub(owner, item.len);
	}
	return r;
}

static void keep_value(struct run *run, const char *data, size_t len)
{
	if (run->value.overflow)
		return;
	if (len > quota_run_room(&run->job->file_owner)) {
		run_over_quota(run);
		run->value.overflow = true;
	} else if (buf_add(&run->value.json, data, len) < 0) {
		run->value.overflow = true;
	} else {
		quota_run_add(&run->job->file_owner, len);
	}
}

/* Return: how many of the bytes belong to a shown line; 0: the value begins. */
static size_t shown_part(struct run *run, const char *data, size_t len)
{
	const char *end;

	if (!run->value.in_shown && *data != WIRE_SHOWN)
		return 0;
	end = memchr(data, '\n', len);
	run->value.in_shown = !end;
	return end ? (size_t)(end - data) + 1 : len;
}

/* Splits VM_RESULT into shown lines and the value, which comes last. */
int output_queue_result(struct run *run, const char *data, size_t len)
{
	int r = 0;

	while (len && r == 0) {
		bool has_value = run->value.json.len || run->value.overflow;
		size_t n = has_value ? 0 : shown_part(run, data, len);

		if (n) {
			r = output_queue_output(run, VM_RESULT, data, n);
		} else {
			keep_value(run, data, len);
			n = len;
		}
		data += n;
		len -= n;
	}
	return r;
}

int output_queue_file(struct run *run, uint32_t kind, uint32_t mode, uint64_t size,
		      const char *path, const char *target)
{
	auto_buf struct buf both = { 0 };
	struct flow_item item = {
		.kind = OUTPUT_QUEUE_FILE,
		.file_kind = kind,
		.mode = mode,
		.size = size,
	};

	run->output_queue.announced_left += kind == WIRE_FILE_OMITTED;
	buf_add(&both, path, strlen(path) + 1);
	if (target)
		buf_add(&both, target, strlen(target) + 1);
	item.len = (uint32_t)both.len;
	return both.failed ? both.failed : put(run, &item, both.data);
}

int output_queue_data(struct run *run, const void *data, size_t len)
{
	struct flow_item item = {.kind = OUTPUT_QUEUE_DATA, .len = (uint32_t)len};

	return put(run, &item, data);
}

void output_queue_time(struct run *run, struct wire_time mtime)
{
	run->output_queue.mtime = mtime;
}

int output_queue_end(struct run *run)
{
	struct flow_item item = {.kind = OUTPUT_QUEUE_END, .mtime = run->output_queue.mtime};

	run->output_queue.mtime = (struct wire_time){ 0 };
	return put(run, &item, "");
}

/* --- out: streams ----------------------------------------------------------
 */

/* The argument of do_write(): the items from `from` to `to` are all of streams. */
struct flow_write {
	struct store *store;
	uint64_t no;
	unsigned number;
	const struct buf *items;
	size_t from, to;
	int fd[VM_STREAM_MAX];
	uint64_t wrote[VM_STREAM_MAX];
};

static int stream_fd(struct flow_write *w, enum vm_stream stream)
{
	if (w->fd[stream] < 0)
		w->fd[stream] = store_stream_open(w->store, w->no, w->number,
						  run_stream_names[stream]);
	return w->fd[stream];
}

/* Writes the items of w to the streams' files. On a thread for the disk. */
static int do_write(void *arg)
{
	struct flow_write *w = arg;
	struct flow_item item;
	int fd;

	for (size_t at = w->from; at < w->to; at += item_size(&item)) {
		const char *data = w->items->data + at + sizeof(item);
		enum vm_stream s;
		size_t done = 0;

		item_at(w->items, at, &item);
		s = (enum vm_stream)item.kind;
		fd = stream_fd(w, s);
		if (fd < 0)
			return fd;
		while (done < item.len) {
			ssize_t n = write(fd, data + done, item.len - done);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -errno;
			done += (size_t)n;
			w->wrote[s] += (size_t)n;
		}
	}
	return 0;
}

static void tell_written(struct run *run, const struct flow_write *w)
{
	uint64_t left[VM_STREAM_MAX];
	struct flow_item item;

	memcpy(left, w->wrote, sizeof(left));
	for (size_t at = w->from; at < w->to; at += item_size(&item)) {
		enum vm_stream s;
		uint64_t n;

		item_at(w->items, at, &item);
		s = (enum vm_stream)item.kind;
		n = MIN(item.len, left[s]);
		left[s] -= n;
		run->stream[s].size += n;
		if (n)
			events_output(run->job, s, n);
	}
	if (!w->wrote[VM_OUT] && !w->wrote[VM_ERR] && !w->wrote[VM_RESULT])
		return;
	job_changed(run->job);
	for (int s = VM_OUT; s <= VM_ERR; s++)
		if (w->wrote[s])
			job_grew(run->job, s == VM_OUT ? JOB_VFILE_STDOUT
						       : JOB_VFILE_STDERR);
}

#define NOT_KEPT "the output could not be kept on the host"

static void flow_failed(struct run *run, int r)
{
	run->output_queue.failed = true;
	for (int s = 0; s < VM_STREAM_MAX; s++) {
		uint64_t lost = run->stream[s].taken - run->stream[s].size;

		/* While the program runs, the loss is unknown: further output will be
		 * dropped too, and is not counted. */
		run->stream[s].dropped = run_has_exit(run)
			? run->stream[s].dropped + lost : RESULT_UNKNOWN;
		quota_run_sub(&run->job->file_owner, lost);
	}
	job_log(run->job, "output cannot be stored: %s", strerror(-r));
	if (!run_is_ending(run))
		run_fail(run, VM_FAILED_LOST, NOT_KEPT);
}

/* Return: the offset of the next item; 0: stop, the write failed or the job is gone. */
static size_t write_streams(struct run *run, size_t at)
{
	struct flow_write w = {
		.store = run->d->store,
		.no = run->job->meta.no,
		.number = run->number,
		.items = &run->output_queue.now,
		.from = at,
		.to = at,
	};
	struct flow_item item;
	int r;

	for (int s = 0; s < VM_STREAM_MAX; s++)
		w.fd[s] = run->stream[s].fd;
	while (item_at(w.items, w.to, &item) && item.kind <= OUTPUT_QUEUE_STREAM_LAST)
		w.to += item_size(&item);
	r = store_do(run->d->store, do_write, &w);
	for (int s = 0; s < VM_STREAM_MAX; s++)
		run_stream_made(&run->stream[s], w.fd[s]);
	if (!run->job)
		return 0;
	tell_written(run, &w);
	if (r < 0)
		flow_failed(run, r);
	return r < 0 ? 0 : w.to;
}

/* --- out: the tree ---------------------------------------------------------
 */

/* Stores one item of the tree. The data of an entry that was left out is skipped. */
static void do_item(struct run *run, const struct flow_item *item,
		    const char *data)
{
	switch (item->kind) {
	case OUTPUT_QUEUE_FILE:
		run->output_queue.skip =
			run_output_file(run, item->file_kind, item->mode,
					item->size, data,
					item->file_kind == WIRE_FILE_LINK
						? data + strlen(data) + 1
						: NULL) < 0;
		return;
	case OUTPUT_QUEUE_DATA:
		if (!run->output_queue.skip)
			run->output_queue.skip =
				run_output_data(run, data, item->len) < 0;
		return;
	default:
		if (!run->output_queue.skip)
			run_output_end(run, item->mtime);
	}
}

/* Return: as write_streams(). */
static size_t write_entry(struct run *run, const struct flow_item *item,
			  size_t at)
{
	job_hold(run->job);
	if (run->job)
		do_item(run, item, run->output_queue.now.data + at + sizeof(*item));
	jobs_let_go();
	return run->job ? at + item_size(item) : 0;
}

static void write_now(struct run *run)
{
	struct flow_item item;
	size_t at = 0;

	do {
		if (!item_at(&run->output_queue.now, at, &item))
			return;
		at = item.kind <= OUTPUT_QUEUE_STREAM_LAST ? write_streams(run, at)
					   : write_entry(run, &item, at);
	} while (at);
}

/* Notes the present position in the replay buffer. When the output before it is stored,
 * settle() makes that position the checkpoint. After the first byte of a value no
 * checkpoint is made, since the value is in memory only. */
static void mark(struct run *run)
{
	struct vm_replay_flow f;

	if (run->value.json.len || run->value.overflow)
		return;
	for (int s = 0; s < 2; s++) {
		f.taken[s] = run->stream[s].taken;
		f.dropped[s] = run->stream[s].dropped;
	}
	if (run->lease)
		vm_mark(run->lease, &f);
}

static void settle(struct run *run)
{
	if (run->job && run->lease && !run->output_queue.failed)
		vm_commit_checkpoint(run->lease);
}

bool output_queue_checkpoint(struct run *run)
{
	if (run->output_queue.busy)
		return true;
	mark(run);
	settle(run);
	return false;
}

static void on_flow(void *arg)
{
	struct run *run = arg;
	struct output_queue *flow = &run->output_queue;

	if (fiber_self()) /* frames that arrived together are written together */
		fiber_breathe();
	while (run->job && !flow->failed && flow->in.len) {
		struct buf empty = flow->now;

		flow->now = flow->in;
		flow->in = empty;
		flow->last = 0;
		mark(run);
		write_now(run);
		settle(run);
		buf_clear(&flow->now);
		if (flow->in.len < OUTPUT_QUEUE_LESS)
			hold_back(run, false);
	}
	flow->busy = false;
	output_queue_checkpoint(run); /* a checkpoint for bytes that were only dropped
				       * meanwhile */
	if (flow->waiter)
		fiber_wake(take_ptr(flow->waiter));
	run_let_go(run);
}

void output_queue_wait(struct run *run)
{
	if (!run->output_queue.busy || !fiber_self())
		return;
	run->output_queue.waiter = fiber_self();
	fiber_pause();
}

void output_queue_done(struct run *run)
{
	buf_done(&run->output_queue.in);
	buf_done(&run->output_queue.now);
	buf_done(&run->value.json);
}

/* --- begin and end ---------------------------------------------------------- */

void output_queue_init(struct run *run)
{
	run->value.json.cap = LIMIT_VALUE_BYTES;
}

bool output_queue_take(struct run *run)
{
	const struct run_stream *s = &run->stream[VM_RESULT];
	auto_close int fd = -1;
	char last;

	if (!s->taken)
		return true;
	fd = store_run_open(run->d->store, run->job->meta.no, run->number,
			    run_stream_names[VM_RESULT]);
	if (fd < 0 || pread(fd, &last, 1, (off_t)s->taken - 1) != 1)
		return false;
	run->value.in_shown = last != '\n';
	return true;
}

/* Adds the bytes that the guest dropped to those that this server dropped. */
static void add_dropped(struct run_stream *s, uint64_t guests)
{
	bool known = s->dropped <= INT64_MAX &&
		     guests <= INT64_MAX - s->dropped;

	s->dropped = known ? s->dropped + guests : RESULT_UNKNOWN;
}

void output_queue_exited(struct run *run, const struct wire_exit *e)
{
	add_dropped(&run->stream[VM_OUT], e->stdout_dropped);
	add_dropped(&run->stream[VM_ERR], e->stderr_dropped);
}
