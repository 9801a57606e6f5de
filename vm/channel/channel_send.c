/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the host's frames: OWN, HEAT, the job and its inputs in order, RUN,
 * standard input as far as the window allows, and signals between any two
 * frames. An input is read in pieces when the socket takes them, so the memory
 * for a job of any size is one piece.
 *
 * In order: single frames, the job, the steps of sending, signals. Owns the
 * open input (input_fd). All functions run on the loop; reading an input may
 * wait for the disk.
 */
#include "channel_int.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "guest/wire/wire_network.h"
#include "layout/base/cleanup.h"

#define FILL_ENOUGH (128u << 10)

void channel_heat(struct channel *ch, uint32_t runners, uint32_t rounds)
{
	uint8_t payload[8];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };

	wire_put_u32(&w, runners);
	wire_put_u32(&w, rounds);
	ch->heats++;
	channel_put(ch, WIRE_HEAT, 0, payload, w.used);
	channel_wait(ch, "warming up", WAIT_HEAT_S);
	channel_wake(ch);
}

int channel_own(struct channel *ch)
{
	uint8_t entropy[WIRE_ENTROPY_SIZE];

	if (getrandom(entropy, sizeof(entropy), 0) != (ssize_t)sizeof(entropy))
		return -EIO;
	channel_put(ch, WIRE_OWN, 0, entropy, sizeof(entropy));
	channel_wake(ch);
	return 0;
}

int channel_network(struct channel *ch, const struct wire_network *net)
{
	struct wire_writer w = { .p = NULL };
	auto_free uint8_t *payload = NULL;

	if (ch->phase != PHASE_IDLE || ch->lane)
		return -EINVAL;
	wire_network_put(&w, net);
	if (w.used > WIRE_PAYLOAD_MAX)
		return -E2BIG;
	payload = malloc(w.used);
	if (!payload)
		return -ENOMEM;
	w = (struct wire_writer){ .p = payload, .size = w.used };
	wire_network_put(&w, net);
	channel_put(ch, WIRE_NETWORK, 0, payload, w.used);
	channel_wake(ch);
	return 0;
}

void channel_send_end(struct channel *ch)
{
	ch->step = SEND_NOTHING;
	loop_fd_del(&ch->feed);
	fd_close(&ch->input_fd);
}

/* --- the job ----------------------------------------------------------- */

/* Sets the job's start time and puts the JOB frame. */
static void put_job(struct channel *ch)
{
	struct wire_job wire = ch->job->wire;
	struct wire_writer w = { .p = NULL };
	auto_free uint8_t *payload = NULL;

	wire.realtime_ns = realtime_ns();
	wire_job_put(&w, &wire);
	if (w.used > WIRE_JOB_MAX) {
		channel_break_as(ch, VM_FAILED_INPUT, false,
				 "the arguments and the environment are "
				 "together too large for a machine");
		return;
	}
	payload = malloc(w.used);
	if (!payload) {
		channel_break(ch, "no memory for the job's frame");
		return;
	}
	w = (struct wire_writer){ .p = payload, .size = w.used };
	wire_job_put(&w, &wire);
	channel_put(ch, WIRE_JOB, 0, payload, w.used);
	ch->job_put = true;
}

void channel_job(struct channel *ch, const struct vm_job *job,
		 const struct vm_events *ev, void *arg)
{
	if (ch->phase != PHASE_IDLE)
		return;
	/* Reset the values of the session's previous step. */
	ch->input = 0;
	ch->input_at = ch->stdin_at = ch->stdin_acked = 0;
	ch->killed = ch->cancelled = ch->has_signal = ch->lives = false;
	ch->ended = false;
	memset(ch->got, 0, sizeof(ch->got));
	ch->output_bytes = 0;
	ch->run_at = 0;
	ch->files = ch->left = 0;
	ch->job = job;
	if (ch->replay)
		replay_invalidate(ch->replay); /* of channel_rest(): the rest is over */
	/*
	 * The replay buffer is not used in two cases. While parse() runs, `in` has
	 * bytes that were handled already, so the next server could not find where the
	 * next frame begins. And bytes that were read from an open standard input may
	 * be lost with this process, unless the job runs on a lane.
	 */
	ch->replay = ch->parsing || (job->stdin_open && !ch->transport) ? NULL
								 : job->replay;
	ch->feeding = false;
	if (job->replay)
		job->replay->spoiled = !ch->replay;
	if (job->replay && !ch->replay)
		/* no later call would mark that the program may have begun */
		replay_mark_begun(job->replay);
	if (ch->replay) {
		/* `in` may hold the first part of a HEATED. */
		replay_begin(ch->replay,
			     &(struct vm_checkpoint){ .heats = ch->heats,
						    .phase = PHASE_SENDING },
			     ch->in, ch->in_len);
		ch->replay_at = ch->in_len;
		ch->replay->epoch = ch->fs_epoch >> FS_EPOCH_SHIFT;
	}
	ch->job_mode = job->wire.mode;
	ch->job_ev = ev;
	ch->job_arg = arg;
	ch->phase = PHASE_SENDING;
	ch->step = SEND_JOB;
	channel_wait(ch, "taking the job", WAIT_JOB_S);
	channel_pump(ch); /* send at once; the caller's next work can wait */
}

/* Opens input ch->input. Return: 0, or < 0 after a break. */
static int open_input(struct channel *ch)
{
	int fd;

	ch->busy++;
	fd = ch->job_ev->open_input(ch->job_arg, ch->input);
	ch->busy--;
	if (ch->closed || ch->phase == PHASE_DONE) {
		fd_close(&fd);
		return -ECANCELED;
	}
	ch->input_fd = fd;
	ch->input_at = 0;
	return fd < 0 ? fd : 0;
}

static bool has_data(const struct vm_input *in)
{
	return in->kind == WIRE_FILE_REG || in->kind == WIRE_FILE_STDIN;
}

static void put_input(struct channel *ch)
{
	const struct vm_input *in = &ch->job->inputs[ch->input];
	uint8_t payload[2 * WIRE_PATH_MAX + 32];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };
	char text[200];
	int r = 0;

	wire_put_u32(&w, in->mode & 07777);
	wire_put_u64(&w, has_data(in) ? in->size : 0);
	wire_put_time(&w, in->mtime);
	wire_put_str(&w, in->path);
	if (in->kind == WIRE_FILE_LINK)
		wire_put_str(&w, in->target);
	if (w.used > w.size || !wire_path_ok(in->path) ||
	    (in->kind == WIRE_FILE_LINK &&
	     !wire_link_ok(wire_path_depth(in->path), in->target)))
		r = -EINVAL;
	else if (has_data(in))
		r = open_input(ch);
	if (r == -ECANCELED)
		return;
	if (r < 0) {
		snprintf(text, sizeof(text), "input %.100s: %s", in->path,
			 strerror(-r));
		channel_break_as(ch, VM_FAILED_INPUT, false, text);
		return;
	}
	channel_put(ch, WIRE_FILE, (uint8_t)in->kind, payload, w.used);
	if (has_data(in))
		ch->step = SEND_DATA;
	else
		ch->input++;
}

/* Reads up to max bytes of the open input at `at`. Return: bytes, or < 0 after
 * a break. */
static ssize_t read_input(struct channel *ch, const char *name, uint64_t at,
			  uint8_t *data, size_t max)
{
	char text[200];
	ssize_t n;

	do
		n = pread(ch->input_fd, data, max, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	snprintf(text, sizeof(text), "input %.100s: %s", name,
		 n < 0 ? strerror(errno) : "it became shorter");
	channel_break_as(ch, ch->phase == PHASE_SENDING ? VM_FAILED_INPUT :
							  VM_FAILED_LOST,
			 false, text);
	return -EIO;
}

static void put_data(struct channel *ch)
{
	const struct vm_input *in = &ch->job->inputs[ch->input];
	uint8_t data[WIRE_PAYLOAD_MAX];
	uint64_t left = in->size - ch->input_at;
	ssize_t n;

	if (!left) {
		channel_put(ch, WIRE_FILE_END, 0, NULL, 0);
		fd_close(&ch->input_fd);
		ch->input++;
		ch->step = SEND_INPUT;
		return;
	}
	n = read_input(ch, in->path, in->skip + ch->input_at, data,
		       MIN(left, sizeof(data)));
	if (n < 0)
		return;
	channel_put(ch, WIRE_FILE_DATA, 0, data, (size_t)n);
	ch->input_at += (uint64_t)n;
}

static void put_run(struct channel *ch)
{
	ch->run_at = ch->out.len - ch->out_at + 1;
	channel_put(ch, WIRE_RUN, 0, NULL, 0);
	ch->phase = PHASE_STARTING;
	ch->step = ch->job->stdin_open	 ? SEND_FEED
		   : ch->job->stdin_size ? SEND_STDIN
					 : SEND_STDIN_END;
	channel_wait(ch, "starting the program", WAIT_JOB_S);
}

/* Returns how many bytes the window allows. After an adoption stdin_acked lags:
 * it grows as the replay buffer is read. */
static uint64_t stdin_room(const struct channel *ch)
{
	uint64_t out = ch->stdin_at - ch->stdin_acked;

	return WIRE_STDIN_WINDOW - MIN(out, WIRE_STDIN_WINDOW);
}

/* Puts standard input from its file. Return: false when the window is closed
 * for now. */
static bool put_stdin(struct channel *ch)
{
	uint8_t data[WIRE_STDIN_WINDOW];
	uint64_t size = ch->job->stdin_size, room;
	ssize_t n;

	if (ch->input_fd < 0 && open_input(ch) < 0) {
		if (ch->phase != PHASE_DONE)
			channel_break_as(ch, VM_FAILED_LOST, false,
					 "standard input cannot be opened");
		return false;
	}
	room = stdin_room(ch);
	if (!room)
		return false;
	n = read_input(ch, "stdin", ch->stdin_at, data,
		       MIN(room, size - ch->stdin_at));
	if (n < 0)
		return false;
	channel_put(ch, WIRE_STDIN, 0, data, (size_t)n);
	ch->stdin_at += (uint64_t)n;
	if (ch->stdin_at == size) {
		ch->step = SEND_STDIN_END;
		fd_close(&ch->input_fd);
	}
	return true;
}

static void on_feed(struct loop_fd *src, uint32_t events)
{
	struct channel *ch = src->arg;

	(void)events;
	loop_fd_del(src);
	channel_wake(ch);
}

void channel_feed_end(struct channel *ch)
{
	if (ch->step != SEND_FEED)
		return;
	loop_fd_del(&ch->feed);
	fd_close(&ch->input_fd);
	ch->step = SEND_STDIN_END;
	channel_wake(ch);
}

/*
 * Reads open standard input. If a lane's job has a replay buffer, the bytes
 * stay there until a frame holds them. Return: as read(2), and *ret points at
 * the bytes.
 */
static ssize_t read_feed(struct channel *ch, uint8_t *data, size_t room,
			 const uint8_t **ret)
{
	ssize_t n;

	*ret = data;
	if (!channel_transport_replay(ch))
		return read(ch->input_fd, data, room);
	*ret = ch->job->replay->feed_bytes;
	n = replay_feed_receive(ch->job->replay, ch->input_fd, room);
	errno = n < 0 ? (int)-n : 0;
	return n < 0 ? -1 : n;
}

/* As put_stdin(), from a pipe or socket: puts what is there now. */
static bool put_feed(struct channel *ch)
{
	uint8_t data[WIRE_STDIN_WINDOW];
	const struct vm_replay *t = channel_transport_replay(ch);
	const uint8_t *bytes;
	uint64_t room;
	ssize_t n;

	/* Wait until RUN is put: before it another server may have to start the
	 * job anew. */
	if (ch->feed.loop || ch->feeding || (t && !t->run_at))
		return false;
	if (ch->input_fd < 0 && open_input(ch) < 0) {
		if (ch->phase != PHASE_DONE)
			channel_feed_end(ch);
		return false;
	}
	room = stdin_room(ch);
	if (!room)
		return false;
	n = read_feed(ch, data, room, &bytes);
	if (n > 0) {
		ch->feeding = ch->transport;
		channel_put(ch, WIRE_STDIN, 0, bytes, (size_t)n);
		ch->stdin_at += (uint64_t)n;
		return true;
	}
	ch->feed = (struct loop_fd){ .fd = ch->input_fd, .events = EPOLLIN,
				     .fn = on_feed, .arg = ch };
	if (n < 0 && (errno == EAGAIN || errno == EINTR) &&
	    loop_fd_add(ch->loop, &ch->feed) == 0)
		return false;
	channel_feed_end(ch);
	return true;
}

/* Puts the next frame. Return: false when there is none now. */
static bool put_next(struct channel *ch)
{
	if (channel_fs_put(ch))
		return true;
	switch (ch->step) {
	case SEND_NOTHING:
		return false;
	case SEND_JOB:
		ch->step = SEND_INPUT;
		put_job(ch);
		return true;
	case SEND_INPUT:
		if (ch->input == ch->job->input_count)
			put_run(ch);
		else
			put_input(ch);
		return true;
	case SEND_DATA:
		put_data(ch);
		return true;
	case SEND_STDIN:
		return put_stdin(ch);
	case SEND_FEED:
		return put_feed(ch);
	case SEND_STDIN_END:
		channel_put(ch, WIRE_STDIN_END, 0, NULL, 0);
		ch->step = SEND_NOTHING;
		return true;
	}
	return false;
}

/* --- signals ----------------------------------------------------------- */

static void put_kill(struct channel *ch, enum wire_kill_scope scope,
		     unsigned sig)
{
	uint8_t payload[4];
	struct wire_writer w = { .p = payload, .size = sizeof(payload) };

	wire_put_u32(&w, sig);
	channel_put(ch, WIRE_KILL, (uint8_t)scope, payload, w.used);
	channel_wake(ch);
}

void channel_signal(struct channel *ch, enum wire_kill_scope scope,
		    unsigned sig)
{
	bool final = sig == 9 && scope == WIRE_KILL_ALL;

	if (final) {
		ch->killed = true;
		channel_wait(ch, "its program was to be killed", WAIT_KILL_S);
	}
	put_kill(ch, scope, sig);
}

void channel_kill(struct channel *ch, enum wire_kill_scope scope, unsigned sig)
{
	bool final = sig == 9 && scope == WIRE_KILL_ALL;

	if (ch->phase == PHASE_SENDING && final) {
		/* The program has not started; on_wake() reports the end. */
		ch->cancelled = true;
		channel_wake(ch);
	} else if (ch->phase == PHASE_RUNNING ||
		   (ch->phase == PHASE_STARTING && final)) {
		channel_signal(ch, scope, sig);
	} else if (ch->phase == PHASE_SENDING || ch->phase == PHASE_STARTING) {
		ch->has_signal = true;
		ch->signal_scope = scope;
		ch->signal = sig;
	}
}

/* Reports the end of a job that was killed before RUN: signal 9, and no
 * figures. */
static void end_cancelled(struct channel *ch)
{
	const struct vm_events *ev = ch->job_ev;
	struct wire_exit e = {
		.kind = WIRE_EXIT_SIGNAL, .value = 9,
		.wall_ns = WIRE_UNKNOWN, .user_us = WIRE_UNKNOWN,
		.system_us = WIRE_UNKNOWN, .peak_memory_bytes = WIRE_UNKNOWN,
		.peak_processes = WIRE_UNKNOWN,
	};

	channel_send_end(ch);
	channel_wait(ch, NULL, 0);
	ch->phase = PHASE_DONE;
	loop_fd_del(&ch->sock);
	channel_fs_end(ch);
	ev->exited(ch->job_arg, &e);
	if (!ch->closed)
		ev->finished(ch->job_arg, 0, 0);
	if (!ch->closed)
		ch->ev->finished(ch->arg);
}

void channel_fill(struct channel *ch, uint64_t until)
{
	if (ch->cancelled && ch->phase == PHASE_SENDING) {
		end_cancelled(ch);
		return;
	}
	while (ch->phase != PHASE_DONE &&
	       ch->out.len - ch->out_at < FILL_ENOUGH && put_next(ch) &&
	       now_ns() < until)
		;
}
