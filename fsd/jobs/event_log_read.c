/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the lines of `events` for a reader, which has a position: in the records, in each
 * stream, and in the text made so far. A read at that position continues there; a read at
 * an earlier one starts again.
 */
#include "event_log_int.h"
#include "jobs_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


#define WORK_NS NS_PER_MS /* time for one answer */

enum phase {
	PHASE_UNBOUND, /* the reader is not bound to a run yet */
	PHASE_RECORDS,
	PHASE_STDOUT,  /* output without a record: the host crashed before the record
		        * was stored */
	PHASE_STDERR,
	PHASE_RESULT,
	PHASE_END,
};

struct events_reader {
	enum phase phase;
	unsigned run;        /* number of the run that this reader follows */
	bool refusal;        /* bound to a refusal instead; its text is in line */
	struct buf line;     /* the text that was made last */
	uint64_t line_start; /* offset of line in the file */
	uint64_t order_at;   /* bytes of records used */
	uint64_t time_ms;    /* time of the last used record */
	/* Bytes of each stream. came: in the records that were used; told: in the lines
	 * that were made. The bytes between them wait until a character, or a shown line,
	 * is complete. */
	uint64_t came[ORDER_MAX], told[ORDER_MAX];
};

/* A stored file of the run, of which one piece at a time is in memory. The memory is
 * shared by all readers: no piece is used after the call of events_read(). */
struct piece {
	const char *name;
	int fd;          /* -1: not open yet */
	uint64_t offset;
	size_t len;
	char *room;
	size_t size;
};

struct sources {
	struct job *job;
	unsigned run;
	struct piece file[ORDER_MAX]; /* the streams, and at ORDER_SOURCE the stored
				       * order: states have no file of their own */
};

#define ORDER_SOURCE ORDER_STATE

struct events_reader *events_reader_new(const struct job *job)
{
	struct events_reader *r = calloc(1, sizeof(*r));

	if (r && job->run) {
		r->run = job->meta.run;
		r->phase = PHASE_RECORDS;
	}
	return r;
}

void events_reader_free(struct events_reader *r)
{
	if (!r)
		return;
	buf_done(&r->line);
	free(r);
}

/* --- the store ---------------------------------------------------------- */

static void sources_init(struct sources *s, struct job *job, unsigned run)
{
	struct events_room *room = &job->d->jobs->events_room;

	*s = (struct sources){ .job = job, .run = run, .file = {
		{ .name = "stdout", .fd = -1, .room = room->out,
		  .size = sizeof(room->out) },
		{ .name = "stderr", .fd = -1, .room = room->err,
		  .size = sizeof(room->err) },
		{ .name = ORDER_FILE, .fd = -1, .room = room->order,
		  .size = sizeof(room->order) },
		{ .name = "shown", .fd = -1,
		  .room = room->shown, .size = sizeof(room->shown) },
	} };
}

static void sources_done(struct sources *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->file); i++)
		fd_close(&s->file[i].fd);
}

static int piece_open(struct sources *s, struct piece *p)
{
	if (p->fd < 0)
		p->fd = store_run_open(s->job->d->store, s->job->meta.no,
				       s->run, p->name);
	return MIN(p->fd, 0);
}

/* Return: bytes at offset in *ret, up to want or the end; negative errno. */
static ssize_t piece_get(struct sources *s, struct piece *p, uint64_t offset,
			 size_t want, const char **ret)
{
	ssize_t n;
	int r;

	if (offset < p->offset || offset + want > p->offset + p->len) {
		r = piece_open(s, p);
		if (r < 0)
			return r;
		n = job_pread(s->job, p->fd, p->room, p->size, offset);
		p->len = 0;
		if (n < 0)
			return n;
		p->offset = offset;
		p->len = (size_t)n;
	}
	*ret = p->room + (offset - p->offset);
	return (ssize_t)MIN(want, p->len - (size_t)(offset - p->offset));
}

/* --- records ------------------------------------------------------------ */

static bool is_over(const struct sources *s)
{
	return !s->job->run;
}

/*
 * The next server must make the same lines, so that a reader can continue: a record is
 * stored before a reader gets its line. The first record is the exception: the run has no
 * directory yet, and a server makes that line again from a job record that says queued.
 * Return: bytes of *ret; 0: no record; -EAGAIN: it is being stored.
 */
static ssize_t unsynced(struct events *e, const struct events_reader *r,
			struct job *job, const char **ret)
{
	if (e->lost || (!e->order.len && !e->has_last))
		return 0;
	if (e->stored || job->meta.state != JOB_QUEUED) {
		e->wanted = true;
		job_log_begin(job);
		return -EAGAIN;
	}
	e->seen = true;
	events_seal(e);
	if (r->order_at >= e->order.len)
		return 0;
	*ret = e->order.data + r->order_at;
	return (ssize_t)(e->order.len - r->order_at);
}

/* Reads the next record. Return: its bytes; 0: there is none yet, or the end; -EPROTO:
 * the bytes are no record; another negative errno: they cannot be read now. */
static int next_record(struct events_reader *r, struct sources *s,
		       struct order_record *ret)
{
	struct events *e = s->job->events;
	uint64_t left = ORDER_RECORD_MAX;
	const char *data = NULL;
	ssize_t n;

	if (e && e->run != s->run)
		e = NULL;
	if (e && r->order_at < e->stored)
		left = MIN(left, e->stored - r->order_at);
	n = e && r->order_at >= e->stored
		    ? unsynced(e, r, s->job, &data)
		    : piece_get(s, &s->file[ORDER_SOURCE], r->order_at,
				(size_t)left, &data);
	if (n <= 0)
		return n == -ENOENT ? 0 : (int)n;
	return order_get((const uint8_t *)data, (size_t)n, r->time_ms, ret);
}

/*
 * Makes the line for count more bytes of a stream. last: no bytes are held back for a
 * later line. Return: 0; -EPROTO: the stream does not have these bytes; another negative
 * errno. With an error no line was made.
 */
static int put_data(struct events_reader *r, struct sources *s,
		    enum order_kind stream, uint32_t count, bool last)
{
	size_t want = (size_t)(r->came[stream] - r->told[stream]) + count;
	const char *data = NULL;
	ssize_t n = piece_get(s, &s->file[stream], r->told[stream], want,
			      &data);
	size_t len;
	int ret = 0;

	if (n < 0 && n != -ENOENT)
		return (int)n;
	if (n < 0 || (size_t)n < want)
		return -EPROTO;
	len = last ? want : event_whole(data, want);
	if (len)
		ret = event_data(&r->line, r->time_ms, stream, data, len);
	if (ret == 0) {
		r->came[stream] += count;
		r->told[stream] += len;
	}
	return ret;
}

/* Appends the bytes of `shown` from told up to `to`. Return: as put_data(). */
static int get_shown(const struct events_reader *r, struct sources *s,
		     uint64_t to, struct buf *ret)
{
	struct piece *p = &s->file[ORDER_SHOWN];

	for (uint64_t at = r->told[ORDER_SHOWN]; at < to;) {
		const char *data = NULL;
		ssize_t n = piece_get(s, p, at,
				      (size_t)MIN(to - at, (uint64_t)p->size),
				      &data);

		if (n <= 0)
			return n < 0 ? (int)n : -EPROTO;
		if (buf_add(ret, data, (size_t)n) < 0)
			return -ENOMEM;
		at += (uint64_t)n;
	}
	return 0;
}

/* Makes a line for each complete line of text. The first may lack its beginning, which
 * was over a limit; then it does not begin with WIRE_SHOWN, and is skipped. */
static int put_lines(struct events_reader *r, const struct buf *text)
{
	const char *at = text->data, *end = at + text->len, *stop;
	int ret = 0;

	for (; ret == 0 && at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (*at == WIRE_SHOWN)
			ret = event_shown(&r->line, r->time_ms, at + 1,
					  (size_t)(stop - at) - 1);
	}
	return ret;
}

/* Makes the lines of count more bytes of `shown`, of which only complete lines are used.
 * Return: as put_data(). */
static int put_shown(struct events_reader *r, struct sources *s, uint32_t count)
{
	uint64_t came = r->came[ORDER_SHOWN];
	auto_buf struct buf text = { 0 };
	const char *data = NULL, *last;
	ssize_t n = piece_get(s, &s->file[ORDER_SHOWN], came, count, &data);
	int ret = 0;

	if (n < 0 && n != -ENOENT)
		return (int)n;
	if (n < (ssize_t)count)
		return -EPROTO;
	last = memrchr(data, '\n', count);
	if (last) {
		uint64_t to = came + (uint64_t)(last - data) + 1;

		/* A shown text that is too long is skipped. */
		if (to - r->told[ORDER_SHOWN] <= 2 * EVENT_SHOWN_MAX)
			ret = get_shown(r, s, to, &text);
		if (ret == 0)
			ret = put_lines(r, &text);
		if (ret == 0)
			r->told[ORDER_SHOWN] = to;
	}
	if (ret == 0)
		r->came[ORDER_SHOWN] += count;
	return ret;
}

/* Return: the number of the attempt that begins with this state; 0: none does. Each
 * attempt begins by being queued, and is a run of its own. */
static unsigned attempt_of(const struct sources *s, uint32_t state)
{
	return state == JOB_QUEUED ? s->job->meta.attempt : 0;
}

static int put_state(struct events_reader *r, const struct sources *s,
		     uint32_t count)
{
	uint32_t state = ORDER_STATE_OF(count);

	if (state >= JOB_STATE_MAX)
		return 0;
	return event_state(&r->line, r->time_ms,
			   state_name((enum job_state)state),
			   attempt_of(s, state), ORDER_PID_OF(count));
}

/* Makes the line of the next record, if it has one. Return: 0, perhaps with a line;
 * -EAGAIN; negative errno. */
static int use_record(struct events_reader *r, struct sources *s)
{
	struct order_record record = { 0 };
	uint64_t before = r->time_ms;
	int len = next_record(r, s, &record), ret = 0;

	if (len == 0 && !is_over(s))
		return -EAGAIN;
	if (len < 0 && len != -EPROTO)
		return len;
	if (len > 0) {
		r->time_ms = record.time_ms;
		if (record.kind == ORDER_SHOWN)
			ret = put_shown(r, s, record.count);
		else if (record.kind != ORDER_STATE)
			ret = put_data(r, s, record.kind, record.count, false);
		else
			ret = put_state(r, s, record.count);
	}
	/* A torn record ends the order; the rest of the streams follows without order. */
	if (len <= 0 || ret == -EPROTO) {
		r->phase = PHASE_STDOUT;
		len = ret = 0;
	}
	if (len == 0 || ret < 0)
		r->time_ms = before;
	else
		r->order_at += (uint64_t)len;
	return ret;
}

/* Finds the size of a stream; one without a file is empty. Return: 0 or negative
 * errno. */
static int stream_size(struct sources *s, struct piece *p, uint64_t *ret_size)
{
	struct stat st = { 0 };
	int r = piece_open(s, p);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && fstat(p->fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static int use_rest(struct events_reader *r, struct sources *s,
		    enum order_kind stream)
{
	uint64_t size = 0, left;
	uint32_t count;
	int ret = is_over(s) ? stream_size(s, &s->file[stream], &size)
			     : -EAGAIN;

	if (ret < 0)
		return ret;
	if (r->told[stream] >= size) {
		r->phase++;
		return 0;
	}
	left = size - MIN(r->came[stream], size);
	count = (uint32_t)MIN(left, (uint64_t)EVENT_DATA_MAX);
	return put_data(r, s, stream, count, count == left);
}

static int use_result(struct events_reader *r, struct sources *s)
{
	struct events_room *room = &s->job->d->jobs->events_room;
	auto_close int fd = store_run_open(s->job->d->store, s->job->meta.no,
					   s->run, "result.json");
	struct stat st;
	struct event_end end = {
		.time_ms = s->job->meta.changed_ns / NS_PER_MS,
		.after_ms = r->time_ms,
		.exit_code = s->job->meta.exit_code, .error = job_error(s->job),
	};
	ssize_t n = fd < 0 ? 0 : job_pread(s->job, fd, room->result,
					       sizeof(room->result), 0);
	int ret;

	/* Without a result.json the line has the exit code and the error of the job. */
	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (n < 0)
		return (int)n;
	if (n > 0 && fstat(fd, &st) == 0) {
		end.result = room->result;
		end.len = (size_t)n;
		end.bytes = (uint64_t)st.st_size;
		end.time_ms = (uint64_t)st.st_mtim.tv_sec * 1000 +
			      (uint64_t)st.st_mtim.tv_nsec / NS_PER_MS;
	}
	ret = event_end(&r->line, &end);
	if (ret == 0)
		r->phase = PHASE_END;
	return ret;
}

/* --- reading ------------------------------------------------------------ */

static int bind(struct events_reader *r, struct job *job)
{
	uint64_t now = job->meta.changed_ns / NS_PER_MS;
	int ret;

	if (job->run || job->meta.state == JOB_DONE) {
		r->run = job->meta.run;
		r->phase = PHASE_RECORDS;
		return 0;
	}
	if (job->meta.state != JOB_REFUSED)
		return -EAGAIN;
	event_state(&r->line, now, state_name(JOB_REFUSED), 0, 0);
	ret = event_error(&r->line, now, job_error(job));
	if (ret < 0)
		return ret;
	r->refusal = true;
	r->phase = PHASE_END;
	return 0;
}

/* Makes the next line, or goes to the next phase. Return: 0, perhaps with a line;
 * -EAGAIN; negative errno. */
static int make_line(struct events_reader *r, struct sources *s)
{
	switch (r->phase) {
	case PHASE_UNBOUND:
		return bind(r, s->job);
	case PHASE_RECORDS:
		return use_record(r, s);
	case PHASE_STDOUT:
		return use_rest(r, s, ORDER_STDOUT);
	case PHASE_STDERR:
		return use_rest(r, s, ORDER_STDERR);
	case PHASE_RESULT:
		return use_result(r, s);
	default:
		return 0;
	}
}

static void rewind_to_start(struct events_reader *r)
{
	*r = (struct events_reader){
		.run = r->run, .line = r->line,
		.phase = r->run ? PHASE_RECORDS : PHASE_UNBOUND,
	};
	buf_clear(&r->line);
}

/* Drops made text before the offset. */
static void forget(struct events_reader *r, uint64_t offset)
{
	uint64_t end = r->line_start + r->line.len;

	if (r->refusal || offset < end)
		return;
	r->line_start = end;
	if (r->line.size > 4096) /* thousands of readers may wait, each with such a
				  * buffer */
		buf_done(&r->line);
	else
		buf_clear(&r->line);
}

static size_t copy(const struct events_reader *r, char *room, size_t size,
		   uint64_t offset)
{
	size_t from = (size_t)(offset - r->line_start);

	if (offset >= r->line_start + r->line.len)
		return 0;
	size = MIN(size, r->line.len - from);
	memcpy(room, r->line.data + from, size);
	return size;
}

/* True if the reader's run has no files any more. */
static bool is_gone(const struct job *job, const struct events_reader *r)
{
	return job->removed || (r->run && r->run != job->meta.run);
}

int events_read(struct job *job, struct events_reader *r, char *room,
		size_t size, uint64_t offset)
{
	uint64_t until = now_ns() + WORK_NS;
	struct sources s;
	size_t used = 0;
	int ret = 0;

	if (offset < r->line_start)
		rewind_to_start(r);
	sources_init(&s, job, r->run);
	while (used < size && ret == 0) {
		size_t n = copy(r, room + used, size - used, offset + used);

		used += n;
		if (n)
			continue;
		forget(r, offset + used);
		if (is_gone(job, r) || r->phase == PHASE_END)
			break;
		if (now_ns() >= until)
			ret = -EINPROGRESS;
		else
			ret = make_line(r, &s);
		s.run = r->run;
		if (ret < 0) /* do not return half of a line; the next call makes it */
			buf_clear(&r->line);
	}
	sources_done(&s);
	return used ? (int)used : ret;
}
