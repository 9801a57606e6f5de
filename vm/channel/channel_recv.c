/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles the guest's frames, all of them untrusted: which frame is legal in
 * which phase, how much of it may come, and which event it causes. One table
 * says what is legal when; counters enforce what the job may send.
 *
 * In order: before a job, the run, the output tree, the table of frames. All
 * functions run on the loop. An event may end the channel, so each one is
 * called last or between busy++ and channel_leave().
 */
#include "channel_int.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/utf8.h"

#define HELLO_TEXT_MAX 256

#define IN(phase) (1u << (phase))

/*
 * The phases in which the guest may send each type. The handlers check more for
 * HEATED, EXIT and FS_REPLY. is_legal() has four exceptions. PONG comes on lane 0
 * only. A lane never sends NETWORK_ENDED. A lane may send FAILED in any phase,
 * once a JOB was put. Init may send FAILED in any phase but PHASE_BOOT.
 */
static const unsigned legal[WIRE_TYPE_MAX] = {
	[WIRE_HELLO] = IN(PHASE_BOOT),
	[WIRE_READY] = IN(PHASE_HELLO),
	[WIRE_HEATED] = IN(PHASE_IDLE) | IN(PHASE_SENDING) | IN(PHASE_STARTING),
	[WIRE_FAILED] = IN(PHASE_SENDING) | IN(PHASE_STARTING) |
			IN(PHASE_RUNNING),
	[WIRE_STARTED] = IN(PHASE_STARTING),
	[WIRE_STDIN_ACK] = IN(PHASE_RUNNING),
	[WIRE_OUT] = IN(PHASE_RUNNING),
	[WIRE_ERR] = IN(PHASE_RUNNING),
	[WIRE_RESULT] = IN(PHASE_RUNNING),
	[WIRE_EXIT] = IN(PHASE_STARTING) | IN(PHASE_RUNNING),
	[WIRE_FILE] = IN(PHASE_COLLECTING),
	[WIRE_FILE_DATA] = IN(PHASE_COLLECTING),
	[WIRE_FILE_END] = IN(PHASE_COLLECTING),
	[WIRE_OUTPUT_END] = IN(PHASE_COLLECTING),
	[WIRE_FS_REPLY] = IN(PHASE_IDLE) | IN(PHASE_SENDING) |
			  IN(PHASE_STARTING) | IN(PHASE_RUNNING) |
			  IN(PHASE_COLLECTING),
	[WIRE_NETWORK_ENDED] = IN(PHASE_IDLE) | IN(PHASE_SENDING) |
			       IN(PHASE_STARTING) | IN(PHASE_RUNNING) |
			       IN(PHASE_COLLECTING),
};

static bool is_legal(const struct channel *ch, const struct wire_header *h)
{
	if (h->type == WIRE_PONG)
		return ch->shared && !ch->lane;
	if (h->type == WIRE_FAILED &&
	    (ch->lane ? ch->job_put
		      : h->arg == WIRE_FAILED_INIT && ch->phase != PHASE_BOOT))
		return true;
	if (h->type == WIRE_NETWORK_ENDED && ch->lane)
		return false; /* PID 1 sends it, not the agent of a lane */
	return h->type < WIRE_TYPE_MAX && legal[h->type] & IN(ch->phase);
}

static void bad(struct channel *ch, const struct wire_header *h,
		const char *what)
{
	channel_break(ch, "the machine sent a %s frame that %s",
		      wire_type_name(h->type), what);
}

/* --- before a job ------------------------------------------------------ */

static void on_hello(struct channel *ch, const struct wire_header *h,
		     struct wire_cursor *c)
{
	uint32_t version = wire_get_u32(c);
	auto_free char *kernel = wire_get_str(c, HELLO_TEXT_MAX);
	auto_free char *image = wire_get_str(c, HELLO_TEXT_MAX);

	if (wire_end(c) < 0 || version != WIRE_VERSION) {
		bad(ch, h, "is malformed or of another version");
		return;
	}
	ch->phase = PHASE_HELLO;
	channel_wait(ch, "getting its runners ready", WAIT_READY_S);
	if (ch->ev->hello)
		ch->ev->hello(ch->arg, kernel, image);
}

static void on_ready(struct channel *ch, const struct wire_header *h,
		     struct wire_cursor *c)
{
	uint32_t runners = wire_get_u32(c), walls = wire_get_u32(c);
	auto_free char *cold = wire_get_str(c, WIRE_COLD_MAX);

	if (wire_end(c) < 0 || !wire_cold_ok(cold)) {
		bad(ch, h, "is malformed");
		return;
	}
	ch->phase = PHASE_IDLE;
	channel_wait(ch, NULL, 0);
	if (ch->ev->ready)
		ch->ev->ready(ch->arg, runners, walls, cold);
}

static void on_heated(struct channel *ch, const struct wire_header *h,
		      struct wire_cursor *c)
{
	uint32_t runners = wire_get_u32(c);

	if (wire_end(c) < 0 || !ch->heats) {
		bad(ch, h, "was not asked for or is malformed");
		return;
	}
	ch->heats--;
	if (ch->phase != PHASE_IDLE)
		/* a job was sent before this answer came, so no caller waits for it */
		return;
	if (!ch->heats)
		channel_wait(ch, NULL, 0);
	ch->ev->heated(ch->arg, runners);
}

/* --- the run ----------------------------------------------------------- */

static void on_started(struct channel *ch, const struct wire_header *h,
		       const uint8_t *payload)
{
	uint32_t pid;

	if (wire_pid_get(payload, h->length, &pid) < 0) {
		bad(ch, h, "is malformed");
		return;
	}
	ch->phase = PHASE_RUNNING;
	if (!ch->killed)
		channel_wait(ch, NULL, 0);
	ch->job_ev->started(ch->job_arg, pid);
	if (ch->phase == PHASE_RUNNING && ch->has_signal) {
		ch->has_signal = false;
		channel_signal(ch, ch->signal_scope, ch->signal);
	}
}

static void on_stdin_ack(struct channel *ch, const struct wire_header *h,
			 struct wire_cursor *c)
{
	uint32_t n = wire_get_u32(c);

	if (wire_end(c) < 0 || n > ch->stdin_at - ch->stdin_acked) {
		bad(ch, h, "says more than was sent");
		return;
	}
	/*
	 * An acknowledgement that comes with the close of standard input counts
	 * bytes that the program has not read. Leaving them out keeps the
	 * window smaller, which is right: no more is sent to a closed input.
	 */
	if (!h->arg || !ch->job->stdin_open)
		ch->stdin_acked += n;
	if (ch->job->stdin_open && ch->job_ev->input_read)
		ch->job_ev->input_read(ch->job_arg, ch->stdin_acked);
	if (h->arg && ch->step == SEND_FEED) {
		channel_feed_end(ch);
		if (ch->job_ev->input_closed)
			ch->job_ev->input_closed(ch->job_arg);
	}
	channel_wake(ch);
}

uint64_t channel_limit(const struct channel *ch, enum vm_stream s)
{
	const struct wire_job *w = &ch->job->wire;

	return s == VM_OUT ? w->stdout_limit :
	       s == VM_ERR ? w->stderr_limit : WIRE_RESULT_MAX;
}

static void on_output(struct channel *ch, const struct wire_header *h,
		      const uint8_t *payload)
{
	enum vm_stream s = h->type == WIRE_OUT ? VM_OUT :
			   h->type == WIRE_ERR ? VM_ERR : VM_RESULT;

	if (h->length > channel_limit(ch, s) - ch->got[s]) {
		bad(ch, h, "is beyond the limit of the job");
		return;
	}
	ch->got[s] += h->length;
	if (!h->length)
		return;
	if (ch->job_ev->output(ch->job_arg, s, payload, h->length) < 0 &&
	    ch->phase != PHASE_DONE)
		channel_break_as(ch, VM_FAILED_LOST, false,
				 "the output could not be kept on the host");
}

/* Drops the references to the job: its owner may free the job and the replay
 * buffer as soon as it gets the event of the end. */
static void forget_job(struct channel *ch)
{
	ch->replay = NULL;
	ch->marked = ch->full = false;
	ch->job = NULL;
	if (!ch->transport)
		return;
	buf_clear(&ch->out); /* these frames are for the program that has ended */
	ch->out_at = 0;
	ch->feeding = false;
}

static void finish(struct channel *ch, uint32_t files, uint32_t left_out)
{
	channel_wait(ch, NULL, 0);
	if (ch->lives) {
		ch->phase = PHASE_IDLE;
		forget_job(ch);
		if (ch->transport)
			ch->transport->idle(ch->transport_arg);
		if (ch->ev->lives)
			ch->ev->lives(ch->arg);
		ch->job_ev->finished(ch->job_arg, files, left_out);
		return;
	}
	ch->phase = PHASE_DONE;
	loop_fd_del(&ch->sock);
	channel_fs_end(ch);
	ch->job_ev->finished(ch->job_arg, files, left_out);
	if (!ch->closed)
		ch->ev->finished(ch->arg);
}

static void on_exit_frame(struct channel *ch, const struct wire_header *h,
			  const uint8_t *payload)
{
	struct wire_exit e;

	if (wire_exit_get(payload, h->length, &e) < 0) {
		bad(ch, h, "is malformed");
		return;
	}
	if (ch->phase == PHASE_STARTING && !ch->killed) {
		bad(ch, h, "came before the program's start");
		return;
	}
	if (e.lives && !wire_mode_is_step(ch->job->wire.mode)) {
		bad(ch, h, "speaks of an interpreter that lives on");
		return;
	}
	/* After signal 9 the interpreter is dead, even if EXIT, sent before, says that it
	 * lives. */
	e.lives = e.lives && !ch->killed;
	channel_send_end(ch);
	/* a machine that was killed is not used again */
	e.lives &= !ch->killed;
	ch->lives = e.lives;
	ch->ended = !e.lives;
	ch->phase = PHASE_COLLECTING;
	channel_fs_progress(ch);
	channel_wait(ch, "sending its output files", WAIT_OUTPUT_S);
	ch->job_ev->exited(ch->job_arg, &e);
	if (ch->phase == PHASE_COLLECTING && !ch->job->wire.output_limit)
		finish(ch, 0, 0);
}

static void on_failed(struct channel *ch, const struct wire_header *h,
		      struct wire_cursor *c)
{
	auto_free char *text = wire_get_str(c, WIRE_SAID_MAX);
	bool begun = ch->phase != PHASE_SENDING && ch->phase != PHASE_STARTING;
	enum vm_failure why = begun ? VM_FAILED_LOST :
			      h->arg == WIRE_FAILED_ENDED ? VM_FAILED_ENDED :
							    VM_FAILED_GUEST;

	if (wire_end(c) < 0 || h->arg >= WIRE_FAILED_MAX) {
		bad(ch, h, "is malformed");
		return;
	}
	utf8_make_plain(text); /* safe to print in logs and on terminals */
	if (h->arg == WIRE_FAILED_INIT && !ch->lane)
		channel_break(ch, "the guest's init has ended: %s", text);
	else
		channel_break_as(ch, why, false, text);
}

/* --- the output tree --------------------------------------------------- */

struct entry {
	uint32_t mode;
	uint64_t size;
	char *path, *target; /* owned; target is NULL unless it is a link */
};

static void entry_done(struct entry *e)
{
	free(e->path);
	free(e->target);
}

static bool entry_is_ok(const struct entry *e, uint8_t kind)
{
	switch ((enum wire_file_kind)kind) {
	case WIRE_FILE_REG:
		return e->mode <= 07777 && wire_path_ok(e->path);
	case WIRE_FILE_DIR:
		return e->mode <= 07777 && wire_path_ok(e->path) && !e->size;
	case WIRE_FILE_LINK:
		return e->mode <= 07777 && wire_path_ok(e->path) && !e->size &&
		       wire_link_ok(wire_path_depth(e->path), e->target);
	case WIRE_FILE_OMITTED:
		return e->mode < WIRE_OMITTED_MAX && e->path[0];
	default:
		return false;
	}
}

static bool entry_get(struct wire_cursor *c, uint8_t kind, struct entry *ret)
{
	ret->mode = wire_get_u32(c);
	ret->size = wire_get_u64(c);
	ret->path = wire_get_str(c, WIRE_PATH_MAX);
	if (kind == WIRE_FILE_LINK)
		ret->target = wire_get_str(c, WIRE_PATH_MAX);
	return wire_end(c) == 0 && entry_is_ok(ret, kind);
}

static bool is_beyond(const struct channel *ch, const struct entry *e,
		      uint8_t kind)
{
	const struct wire_job *w = &ch->job->wire;

	return kind == WIRE_FILE_OMITTED
		       ? ch->left >= WIRE_OMITTED_TOLD
		       : ch->files >= w->output_files ||
				 e->size > w->output_limit - ch->output_bytes;
}

static void on_file(struct channel *ch, const struct wire_header *h,
		    struct wire_cursor *c)
{
	__attribute__((cleanup(entry_done))) struct entry e = { 0 };
	int r;

	if (ch->in_file || !entry_get(c, h->arg, &e)) {
		bad(ch, h, "is malformed, out of order or names a bad path");
		return;
	}
	if (is_beyond(ch, &e, h->arg)) {
		bad(ch, h, "is beyond the limit of the job");
		return;
	}
	if (h->arg == WIRE_FILE_OMITTED) {
		ch->left++;
	} else {
		ch->files++;
		ch->output_bytes += e.size;
		ch->file_left = e.size;
	}
	ch->in_file = h->arg == WIRE_FILE_REG;
	r = ch->job_ev->file(ch->job_arg, h->arg, e.mode, e.size, e.path,
			     e.target);
	ch->skip_file = r < 0;
}

static void on_file_data(struct channel *ch, const struct wire_header *h,
			 const uint8_t *payload)
{
	if (!ch->in_file || h->length > ch->file_left) {
		bad(ch, h, "belongs to no file or is more than its size");
		return;
	}
	ch->file_left -= h->length;
	if (h->length && !ch->skip_file &&
	    ch->job_ev->file_data(ch->job_arg, payload, h->length) < 0)
		ch->skip_file = true;
}

static void on_file_end(struct channel *ch, const struct wire_header *h,
			struct wire_cursor *c)
{
	struct wire_time mtime = { 0 };

	if (h->length)
		mtime = wire_get_time(c);
	if (!ch->in_file || ch->file_left || wire_end(c) < 0) {
		bad(ch, h, "ends no file or ends it too early");
		return;
	}
	ch->in_file = false;
	if (!ch->skip_file && mtime.known && ch->job_ev->file_time)
		ch->job_ev->file_time(ch->job_arg, mtime);
	if (!ch->skip_file)
		ch->job_ev->file_end(ch->job_arg);
}

static void on_output_end(struct channel *ch, const struct wire_header *h,
			  struct wire_cursor *c)
{
	uint32_t files = wire_get_u32(c), left_out = wire_get_u32(c);

	if (wire_end(c) < 0 || ch->in_file || files != ch->files) {
		bad(ch, h, "does not match what was sent");
		return;
	}
	finish(ch, files, left_out);
}

static void on_fs_reply(struct channel *ch, const struct wire_header *h,
			const uint8_t *payload)
{
	if (channel_fs_reply(ch, payload, h->length) < 0)
		bad(ch, h, "was not asked for or is malformed");
}

static void on_network_ended(struct channel *ch, const struct wire_header *h)
{
	if (h->length)
		bad(ch, h, "is malformed");
	else if (ch->ev->network_ended)
		ch->ev->network_ended(ch->arg);
}

/* Returns whether a frame says nothing about the job: the answer to a HEAT that was sent
 * before it, and the end of the network's helper. */
static bool is_aside(const struct channel *ch, const struct wire_header *h)
{
	return (h->type == WIRE_HEATED && ch->heats) || h->type == WIRE_NETWORK_ENDED;
}

void channel_frame(struct channel *ch, const struct wire_header *h,
		   const uint8_t *payload)
{
	struct wire_cursor c;

	if (!is_aside(ch, h))
		channel_hear(ch);
	if (!is_legal(ch, h)) {
		bad(ch, h, "is not allowed now");
		return;
	}
	wire_begin(&c, payload, h->length);
	switch ((enum wire_type)h->type) {
	case WIRE_HELLO:
		return on_hello(ch, h, &c);
	case WIRE_READY:
		return on_ready(ch, h, &c);
	case WIRE_HEATED:
		return on_heated(ch, h, &c);
	case WIRE_STARTED:
		return on_started(ch, h, payload);
	case WIRE_STDIN_ACK:
		return on_stdin_ack(ch, h, &c);
	case WIRE_OUT:
	case WIRE_ERR:
	case WIRE_RESULT:
		return on_output(ch, h, payload);
	case WIRE_EXIT:
		return on_exit_frame(ch, h, payload);
	case WIRE_FAILED:
		return on_failed(ch, h, &c);
	case WIRE_FILE:
		return on_file(ch, h, &c);
	case WIRE_FILE_DATA:
		return on_file_data(ch, h, payload);
	case WIRE_FILE_END:
		return on_file_end(ch, h, &c);
	case WIRE_OUTPUT_END:
		return on_output_end(ch, h, &c);
	case WIRE_FS_REPLY:
		return on_fs_reply(ch, h, payload);
	case WIRE_NETWORK_ENDED:
		return on_network_ended(ch, h);
	case WIRE_PONG:
		return; /* the guest has set its clock */
	default:
		return bad(ch, h, "is not the guest's to send");
	}
}
