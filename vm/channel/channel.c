/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between a machine's socket and its channel: reads until a frame
 * is whole, writes while the socket takes bytes. It buffers the bytes of one largest
 * frame at most on the way in, and about OUT_CAP on the way out, so a channel's memory is
 * bounded whatever the guest or the job does.
 *
 * In order: the end, reading, writing, the replay buffer, the owner's calls.
 * Owns `in` and `out`. All functions run on the loop, in turns of TURN_NS,
 * except channel_drain().
 */
#include "channel_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"

#define OUT_CAP (2u << 20) /* holds a JOB and the frames put in one round */
#define OUT_ENOUGH (128u << 10)
#define WHOLE_MAX 4096u
/* reads in one turn, so that other channels get theirs */
#define READ_ROUNDS 16

void channel_leave(struct channel *ch)
{
	if (--ch->busy || !ch->closed)
		return;
	buf_done(&ch->out);
	free(ch->in);
	free(ch);
}

void channel_free(struct channel *ch)
{
	if (!ch || ch->closed)
		return;
	ch->busy++;
	ch->closed = true;
	ch->phase = PHASE_DONE;
	channel_fs_end(ch);
	loop_fd_del(&ch->sock);
	loop_fd_del(&ch->feed);
	loop_timer_del(&ch->deadline);
	loop_call_del(&ch->wake);
	fd_close(&ch->sock.fd);
	fd_close(&ch->input_fd);
	channel_leave(ch);
}

/* --- the end ------------------------------------------------------------- */

void channel_break_as(struct channel *ch, enum vm_failure why, bool eof,
		      const char *sentence)
{
	if (ch->phase == PHASE_DONE)
		return;
	ch->phase = PHASE_DONE;
	channel_wait(ch, NULL, 0);
	channel_send_end(ch);
	loop_fd_del(&ch->sock);
	ch->busy++;
	channel_fs_end(ch);
	ch->ev->broken(ch->arg, why, sentence, eof);
	channel_leave(ch);
}

static enum vm_failure why_now(const struct channel *ch)
{
	return ch->phase >= PHASE_STARTING ? VM_FAILED_LOST : VM_FAILED_START;
}

void channel_break(struct channel *ch, const char *fmt, ...)
{
	/* long enough to keep the guest's UTF-8 sentence whole */
	char text[64 + WIRE_SAID_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	channel_break_as(ch, why_now(ch), false, text);
}

/* --- bytes in ---------------------------------------------------------- */

/* Time of one turn of a channel. A guest that sends much, or small frames that
 * cost much, then waits for the other channels. */
#define TURN_NS (2 * NS_PER_MS)

/* Notes progress after a frame. took_ns: the host's own time for it, because
 * the host's disk may be slow. */
static void progress(struct channel *ch, const struct wire_header *h,
		     uint64_t took_ns)
{
	size_t bytes = WIRE_HEADER_SIZE + h->length;

	/* An answer about files does not show that the job makes progress. */
	if (!h->length || h->type == WIRE_FS_REPLY || ch->phase == PHASE_DONE)
		return;
	if (h->type == WIRE_FILE)
		bytes += WAIT_ENTRY_BYTES;
	channel_progress(ch, channel_worth(ch, bytes) + took_ns);
}

void channel_hear(struct channel *ch)
{
	if (!ch->job || ch->heard)
		return;
	ch->heard = true;
	if (ch->ev->heard)
		ch->ev->heard(ch->arg);
}

/* Between two jobs: sets a checkpoint behind the frames that were handled, so that the
 * next server does not read them again. */
static void forget_heard(struct channel *ch)
{
	if (ch->phase != PHASE_IDLE || !ch->replay)
		return;
	*replay_draft(ch->replay) = (struct vm_checkpoint){
		.at = ch->replay_at - ch->in_len, .phase = PHASE_IDLE,
		.heats = ch->heats,
	};
	replay_commit(ch->replay);
}

/* Delivers every whole frame that is buffered, until the owner calls channel_hold() or
 * `until` is past. */
static void parse(struct channel *ch, uint64_t until)
{
	size_t at = 0;

	ch->parsing = true;
	while (ch->phase != PHASE_DONE && !ch->hold &&
	       ch->in_len - at >= WIRE_HEADER_SIZE) {
		struct wire_header h;
		uint64_t began, now;
		size_t whole;

		if (wire_header_get(ch->in + at, &h) < 0 ||
		    h.length > WIRE_PAYLOAD_MAX) {
			channel_hear(ch);
			channel_break(ch, "the machine sent bytes that are no "
					  "frame");
			break;
		}
		whole = WIRE_HEADER_SIZE + h.length;
		if (ch->in_len - at < whole)
			break;
		began = now_ns();
		ch->in_at = at + whole;
		channel_frame(ch, &h, ch->in + at + WIRE_HEADER_SIZE);
		at += whole;
		now = now_ns();
		progress(ch, &h, now - began);
		if (now >= until) {
			channel_wake(ch);
			break;
		}
	}
	ch->in_len -= at;
	if (at && ch->in_len)
		memmove(ch->in, ch->in + at, ch->in_len);
	ch->parsing = false;
	forget_heard(ch);
}

static void on_eof(struct channel *ch)
{
	ch->eof = true;
	if (ch->phase != PHASE_DONE)
		channel_break_as(ch, why_now(ch), true,
				 "the machine closed its wire");
}

/* Drops the replay buffer: no other process can continue the job. */
static void give_replay_up(struct channel *ch)
{
	struct vm_replay *t = take_ptr(ch->replay);

	if (t) {
		t->spoiled = 1;
		replay_mark_begun(t);
	}
	ch->marked = ch->full = false;
}

/* Returns whether a replay buffer or lane may have bytes; no epoll event reports those. */
static bool may_have_more(const struct channel *ch)
{
	return ch->phase != PHASE_DONE && !ch->hold &&
	       (ch->transport || channel_is_replaying(ch));
}

/* Only while the program runs: frames after EXIT are kept in memory only, so no
 * checkpoint may stand behind EXIT. */
static bool may_mark(const struct channel *ch)
{
	return ch->replay && !ch->parsing && ch->phase == PHASE_RUNNING;
}

bool channel_make_room(struct channel *ch, size_t needed, bool last)
{
	ch->full = !last && may_mark(ch) && ch->job_ev->behind &&
		   ch->job_ev->behind(ch->job_arg);
	if (ch->phase == PHASE_DONE)
		return false; /* the owner has ended it in behind() */
	if (replay_left(ch->replay) >= needed)
		/* the owner has called vm_commit_checkpoint() in behind() */
		ch->full = false;
	else if (!ch->full)
		give_replay_up(ch);
	return !ch->full;
}

/* Reads bytes of the wire. Return: as recv(2), or a negative errno. */
static ssize_t take(struct channel *ch, uint8_t *data, size_t size, bool last)
{
	ssize_t n;

	if (ch->transport)
		return channel_transport_take(ch, data, size);
	while (ch->replay) {
		n = replay_take(ch->replay, &ch->replay_at, ch->sock.fd, data, size);
		if (n != -ENOBUFS)
			return n;
		if (!channel_make_room(ch, 1, last))
			return -EAGAIN;
	}
	n = recv(ch->sock.fd, data, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

/* Returns whether `in` holds a whole frame: a turn may end before all are handled. */
static bool has_frame(const struct channel *ch)
{
	struct wire_header h;

	return ch->in_len >= WIRE_HEADER_SIZE &&
	       (wire_header_get(ch->in, &h) < 0 ||
		ch->in_len >= WIRE_HEADER_SIZE + h.length);
}

/*
 * Reads once and handles the frames that have come. Return: false if no more bytes are
 * there now, or if `in` still holds whole frames. These are handled before the next
 * read, because that read may find the end of the wire.
 */
static bool read_some(struct channel *ch, uint64_t until)
{
	ssize_t n;

	if (has_frame(ch)) {
		channel_wake(ch);
		return false;
	}
	n = take(ch, ch->in + ch->in_len, CHANNEL_IN_SIZE - ch->in_len,
		 until == UINT64_MAX);
	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n <= 0) {
		on_eof(ch);
		return false;
	}
	ch->in_len += (size_t)n;
	parse(ch, until);
	return true;
}

void channel_drain(struct channel *ch)
{
	ch->busy++;
	do {
		/* ignore the owner's hold: the peer is dead and sends no more */
		ch->hold = false;
		parse(ch, UINT64_MAX);
	} while (ch->phase != PHASE_DONE &&
		 (has_frame(ch) || read_some(ch, UINT64_MAX)));
	channel_leave(ch);
}

/* --- bytes out --------------------------------------------------------- */

static void interest(struct channel *ch)
{
	uint32_t events = 0;

	if (ch->transport)
		return; /* channel_wake() starts its reads */
	if (!ch->hold && !ch->full)
		events |= EPOLLIN;
	if (ch->out.len > ch->out_at)
		events |= EPOLLOUT;
	loop_fd_mod(&ch->sock, events);
}

/*
 * True if the kernel takes all of `out` in one piece or nothing of it: a stream socket of
 * AF_UNIX copies so few bytes into one buffer. So a kill cannot leave half a frame.
 */
static bool goes_whole(const struct channel *ch)
{
	return ch->phase == PHASE_IDLE && ch->out_at == 0 && ch->out.len <= WHOLE_MAX;
}

/* Sends from `out`. Return: as send(2). */
static ssize_t send_out(struct channel *ch)
{
	struct vm_replay *t = ch->run_at ? ch->replay : NULL;
	uint32_t begin_tries = t ? t->begin_tries : 0;
	ssize_t n;

	if (ch->transport)
		return channel_transport_put(ch);
	if (t)
		/* call it before send(): this process may be killed right after send() */
		replay_mark_begun(t);
	if (ch->replay && !goes_whole(ch))
		ch->replay->sent = 0; /* the socket may take only a part of a frame */
	n = send(ch->sock.fd, ch->out.data + ch->out_at,
		 ch->out.len - ch->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (t && n < (ssize_t)ch->run_at)
		t->begin_tries = begin_tries; /* no byte of RUN was sent */
	if (n > 0)
		ch->run_at -= MIN(ch->run_at, (size_t)n);
	return n;
}

/* Return: false when the socket takes no more now. */
static bool write_some(struct channel *ch)
{
	ssize_t n = send_out(ch);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		/* The peer has gone. Read its last frames, if any, before
		 * reporting that. */
		buf_clear(&ch->out);
		ch->out_at = 0;
		channel_send_end(ch);
		return false;
	}
	ch->out_at += (size_t)n;
	if (ch->out_at == ch->out.len) {
		buf_clear(&ch->out);
		ch->out_at = 0;
		if (ch->replay && channel_has_sent_all(ch))
			ch->replay->sent = 1;
	}
	/* A peer that takes bytes makes progress, unless it was killed. */
	if (!ch->killed)
		channel_progress(ch, channel_worth(ch, (size_t)n));
	return true;
}

static void pump(struct channel *ch)
{
	uint64_t until = now_ns() + TURN_NS;
	unsigned rounds = READ_ROUNDS;

	while (ch->phase != PHASE_DONE) {
		/* channel_fill() ends a cancelled job at once, however full `out` is */
		if (ch->out.len - ch->out_at < OUT_ENOUGH || ch->cancelled)
			channel_fill(ch, until);
		if (ch->phase == PHASE_DONE || ch->out.len == ch->out_at ||
		    !write_some(ch))
			break;
		/* Bounds a turn with thousands of small files, or with a peer
		 * that reads as fast as this writes. */
		if (!--rounds || now_ns() >= until) {
			channel_wake(ch);
			break;
		}
	}
	if (ch->phase != PHASE_DONE)
		interest(ch);
}

void channel_pump(struct channel *ch)
{
	ch->busy++;
	pump(ch);
	channel_leave(ch);
}

void channel_put(struct channel *ch, enum wire_type type, uint8_t arg,
		 const void *payload, size_t length)
{
	uint8_t header[WIRE_HEADER_SIZE];

	wire_header_put(header, (uint32_t)length, (uint8_t)type, arg);
	if (ch->out_at) {
		buf_eat(&ch->out, ch->out_at);
		ch->out_at = 0;
	}
	buf_add(&ch->out, header, sizeof(header));
	if (buf_add(&ch->out, payload, length) < 0)
		channel_break(ch, "no memory for a frame to the machine");
}

static void on_socket(struct loop_fd *src, uint32_t events)
{
	struct channel *ch = src->arg;
	unsigned rounds = READ_ROUNDS;
	uint64_t until = now_ns() + TURN_NS;

	ch->busy++;
	if (events & EPOLLOUT)
		pump(ch);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (rounds-- && !ch->hold && ch->phase != PHASE_DONE &&
		       read_some(ch, until) && now_ns() < until)
			;
	if (ch->full && ch->phase != PHASE_DONE) {
		channel_watch(ch);
		interest(ch);
	}
	/* epoll reports HUP in every turn, also while reading is not allowed. So leave
	 * epoll until it is (channel_listen()). */
	if ((ch->hold || ch->full) && (events & EPOLLHUP))
		loop_fd_del(&ch->sock);
	channel_leave(ch);
}

/* Reads bytes that come without a socket: the rest of a dead process's replay buffer, or
 * a lane's frames. */
static void replay_frames(struct channel *ch, uint64_t until)
{
	bool more = true;

	while (more && may_have_more(ch) && now_ns() < until)
		more = read_some(ch, until);
	if (may_have_more(ch) && (more || channel_is_replaying(ch)))
		channel_wake(ch);
}

static void on_wake(struct loop_call *c)
{
	struct channel *ch = c->arg;
	uint64_t until = now_ns() + TURN_NS;

	ch->busy++;
	if (!ch->hold)
		parse(ch, until);
	replay_frames(ch, until);
	if (ch->transport && !ch->closed && !ch->hold && !ch->full)
		ch->transport->took(ch->transport_arg);
	if (ch->phase != PHASE_DONE)
		pump(ch);
	channel_leave(ch);
}

void channel_wake(struct channel *ch)
{
	if (ch->phase != PHASE_DONE)
		loop_defer(ch->loop, &ch->wake);
}

/* --- the replay buffer -------------------------------------------------- */

void channel_mark(struct channel *ch, const struct vm_replay_flow *flow)
{
	struct vm_checkpoint *p;

	if (!may_mark(ch))
		return;
	p = replay_draft(ch->replay);
	*p = (struct vm_checkpoint){
		.at = ch->replay_at - ch->in_len, .phase = ch->phase,
		.stdin_acked = ch->stdin_acked, .heats = ch->heats,
		.flow = *flow,
	};
	memcpy(p->got, ch->got, sizeof(p->got));
	ch->marked = true;
}

void channel_listen(struct channel *ch)
{
	if (!ch->transport && !ch->sock.loop &&
	    loop_fd_add(ch->loop, &ch->sock) < 0)
		channel_wait(ch, "its wire was lost", 1);
	channel_wake(ch);
}

void channel_commit_checkpoint(struct channel *ch)
{
	if (ch->replay && ch->marked)
		replay_commit(ch->replay);
	ch->marked = false;
	if (!ch->full || ch->phase == PHASE_DONE)
		return;
	/* Read on even if the owner set no checkpoint: channel_make_room()
	 * checks again. */
	ch->full = false;
	channel_watch_anew(ch);
	channel_listen(ch);
	interest(ch);
}

/* --- the owner's calls ------------------------------------------------- */

void channel_hold(struct channel *ch, bool hold)
{
	if (ch->hold == hold || ch->phase == PHASE_DONE)
		return;
	ch->hold = hold;
	if (hold) {
		loop_timer_del(&ch->deadline);
		loop_timer_del(&ch->fs_deadline);
	} else {
		channel_watch_anew(ch);
		channel_fs_progress(ch);
		channel_listen(ch);
	}
	interest(ch);
}

enum channel_phase channel_phase(const struct channel *ch)
{
	return ch->phase;
}

struct channel *channel_blank(struct loop *loop, int fd,
			      enum channel_phase phase, unsigned scale,
			      const struct channel_events *ev, void *arg)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	*ch = (struct channel){
		.loop = loop, .ev = ev, .arg = arg, .phase = phase,
		.scale = scale, .input_fd = -1, .out = { .cap = OUT_CAP },
		.sock = { .fd = fd, .events = EPOLLIN, .fn = on_socket },
		.deadline = { .fn = channel_silence }, .wake = { .fn = on_wake },
		.fs_deadline = { .fn = channel_fs_silence },
		.in = malloc(CHANNEL_IN_SIZE),
	};
	ch->sock.arg = ch->deadline.arg = ch->wake.arg = ch;
	ch->fs_deadline.arg = ch;
	list_init(&ch->fs_waiting);
	list_init(&ch->fs_flight);
	if (ch->in)
		return ch;
	free(ch);
	return NULL;
}

int channel_new(struct loop *loop, int fd, enum channel_phase phase,
		unsigned scale, const struct channel_events *ev, void *arg,
		struct channel **ret)
{
	auto_close int owned = fd;
	struct channel *ch = channel_blank(loop, fd, phase, scale, ev, arg);
	int r = ch ? loop_fd_add(loop, &ch->sock) : -ENOMEM;

	if (r < 0) {
		if (ch)
			free(ch->in);
		free(ch);
		return r;
	}
	take_fd(&owned);
	if (phase == PHASE_BOOT)
		channel_wait(ch, "booting", WAIT_HELLO_S);
	*ret = ch;
	return 0;
}

void channel_take_up(struct channel *ch, const struct vm_job *job,
		     const struct vm_events *ev, void *arg)
{
	const struct vm_checkpoint *p = replay_checkpoint(job->replay);

	ch->phase = PHASE_RUNNING;
	ch->job = job;
	ch->job_mode = job->wire.mode;
	ch->job_ev = ev;
	ch->job_arg = arg;
	ch->job_put = ch->heard = true;
	ch->heats = p->heats;
	/* The checkpoint lies in shared memory, so its counts may be too large. */
	ch->stdin_acked = p->stdin_acked;
	for (unsigned i = 0; i < VM_STREAM_MAX; i++)
		ch->got[i] = MIN(p->got[i], channel_limit(ch, i));
	ch->replay = job->replay;
	ch->replay_at = p->at;
	/* The first checkpoint says SENDING; later ones say RUNNING. The dead server has
	 * put RUN, so STARTED comes next. */
	if (p->phase != PHASE_RUNNING) {
		ch->phase = PHASE_STARTING;
		channel_wait(ch, "starting the program", WAIT_JOB_S);
	}
	channel_wake(ch);
}
