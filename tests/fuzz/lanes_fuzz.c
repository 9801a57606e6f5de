/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared machine's guest that says anything on any lane at any moment. The
 * input is a list of records, as channel_fuzz's: what to do, and for a frame its
 * lane, type, argument and payload. What must hold: a lane hears what is said on
 * its number while it is open, in the order of a job; what breaks the machine is
 * told once; each question about a file is answered once.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/channel/lanes.h"

#define USERS 4u
#define LIMIT 300u /* bytes of each stream */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct shared;

struct user {
	struct shared *of;
	struct lane *lane;      /* NULL: it has none */
	struct vm_job job;
	bool over;              /* its channel is broken, or has finished */
	bool has_job, started, exited, lives;
	uint64_t bytes[VM_STREAM_MAX];
	bool closes;            /* at its next event */
};

struct shared {
	struct loop *loop;
	struct channel *ch;
	struct lanes *lanes;
	struct loop_timer quit;
	int fd;                 /* the guest's end */
	bool over;
	unsigned heard, asked, answered;
	struct user user[USERS];
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void close_lane(struct user *u)
{
	lane_close(u->lane);
	*u = (struct user){ .of = u->of };
}

static void on_end(void *arg)
{
	struct user *u = arg;

	check(!u->over && u->lane && !u->has_job);
	u->over = true;
}

static void on_lane_broken(void *arg, enum vm_failure why, const char *sentence,
			   bool eof)
{
	struct user *u = arg;

	check(!u->over && u->lane && why < VM_FAILED_MAX && sentence && !eof);
	u->over = true;
}

static const struct channel_events lane_events = {
	.finished = on_end, .broken = on_lane_broken,
};

static void on_zero_heated(void *arg, uint32_t runners)
{
	(void)runners;
	check(arg);
}

static void on_zero_broken(void *arg, enum vm_failure why, const char *sentence,
			   bool eof)
{
	struct shared *s = arg;

	(void)why;
	(void)eof;
	check(sentence);
	s->over = true;
}

static void on_zero_finished(void *arg)
{
	(void)arg;
	check(false); /* it has no job */
}

static const struct channel_events zero_events = {
	.heated = on_zero_heated, .finished = on_zero_finished,
	.broken = on_zero_broken,
};

static void on_heard(void *arg)
{
	check(++((struct shared *)arg)->heard == 1);
}

static void on_broken(void *arg, const char *sentence, bool eof)
{
	struct shared *s = arg;

	(void)eof;
	check(sentence);
	s->over = true;
}

static const struct lanes_events events = {
	.heard = on_heard, .broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	check(((struct user *)arg)->lane && !i);
	check(fd >= 0 && ftruncate(fd, LIMIT) == 0);
	return fd;
}

static void on_started(void *arg, uint32_t pid)
{
	struct user *u = arg;

	(void)pid;
	check(!u->over && u->has_job && !u->started);
	u->started = true;
	if (u->closes)
		close_lane(u);
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct user *u = arg;

	check(!u->over && u->started && !u->exited && data && len);
	u->bytes[s] += len;
	check(u->bytes[s] <= (s == VM_RESULT ? WIRE_RESULT_MAX : LIMIT));
	if (u->closes)
		close_lane(u);
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct user *u = arg;

	check(!u->over && u->has_job && !u->exited);
	u->exited = true;
	u->lives = e->lives;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct user *u = arg;

	(void)left_out;
	check(!u->over && u->exited && !files);
	u->has_job = false;
	if (u->closes)
		close_lane(u);
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .finished = on_finished,
};

static void on_fs(void *arg, int result, const uint8_t *data, size_t size)
{
	struct shared *s = arg;

	check(++s->answered <= s->asked);
	check(result < 0 ? !size : data && size <= WIRE_PAYLOAD_MAX);
}

static void on_quit(struct loop_timer *t)
{
	loop_quit(((struct shared *)t->arg)->loop);
}

/* Lets the host take what was said, and takes what it says. */
static void turn(struct shared *s)
{
	char block[65536];

	for (unsigned i = 0; i < 3; i++) { /* the wire, a lane, what it says */
		s->quit = (struct loop_timer){ .fn = on_quit, .arg = s };
		loop_timer_set(s->loop, &s->quit, 0);
		loop_run(s->loop);
	}
	while (s->fd >= 0 &&
	       recv(s->fd, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
}

static void begin_job(struct user *u, bool step)
{
	static const char *argv[] = { "code.py" };
	static const struct vm_input input = {
		.path = "data", .kind = WIRE_FILE_REG, .size = LIMIT,
	};

	if (u->over || u->has_job ||
	    channel_phase(lane_channel(u->lane)) != PHASE_IDLE)
		return;
	u->job = (struct vm_job){
		.wire = {
			.mode = step ? WIRE_MODE_SESSION : WIRE_MODE_SCRIPT,
			.cpus = 1, .processes = 1, .memory_bytes = 1,
			.stdout_limit = LIMIT, .stderr_limit = LIMIT,
			.call = "", .argv = { 1, argv },
		},
		.inputs = &input, .input_count = 1,
	};
	u->has_job = true;
	u->started = u->exited = false;
	memset(u->bytes, 0, sizeof(u->bytes));
	channel_job(lane_channel(u->lane), &u->job, &job_events, u);
}

static void ask(struct shared *s)
{
	char path[] = "f", to[] = "";
	struct wire_fs fs = { .op = WIRE_FS_STAT, .path = path, .to = to };

	s->asked++;
	if (channel_fs(s->ch, &fs, on_fs, s) < 0)
		s->asked--;
}

static void say(struct shared *s, const uint8_t head[4], const uint8_t *data,
		size_t size)
{
	uint8_t frame[WIRE_HEADER_SIZE + 255];

	wire_header_put(frame, (uint32_t)size, head[1], head[2]);
	wire_lane_put(frame, head[0]);
	memcpy(frame + WIRE_HEADER_SIZE, data, size);
	if (s->fd >= 0 && send(s->fd, frame, WIRE_HEADER_SIZE + size,
			       MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		fd_close(&s->fd);
}

/* What the host does with a user. */
static void use(struct user *u, unsigned what)
{
	struct shared *s = u->of;

	if (!u->lane) {
		if (what == 0)
			check(lanes_open(s->lanes, &lane_events, u,
					 &u->lane) == 0 || s->over);
		return;
	}
	switch (what) {
	case 1:
	case 2:
		begin_job(u, what == 2);
		break;
	case 3:
		close_lane(u);
		break;
	case 4:
	case 5:
		channel_hold(lane_channel(u->lane), what == 4);
		break;
	case 6:
		channel_kill(lane_channel(u->lane), WIRE_KILL_ALL, 9);
		break;
	case 7:
		u->closes = true;
		break;
	}
}

/* One record. Return: its bytes. */
static size_t act(struct shared *s, const uint8_t *data, size_t size)
{
	uint8_t what = data[0];
	size_t length = size > 4 ? MIN((size_t)data[4], size - 5) : 0;

	if (what < 128 && size > 4) {
		say(s, data + 1, data + 5, length);
		return 5 + length;
	}
	if (what < 160)
		use(&s->user[what & 3], what >> 2 & 7);
	else if (what < 200)
		turn(s);
	else if (what < 210)
		ask(s);
	else if (what == 255)
		fd_close(&s->fd);
	else if (s->fd >= 0 && /* no frame at all, or its half */
		 send(s->fd, data, MIN(size, (size_t)(what - 199)),
		      MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		fd_close(&s->fd);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct wire_share share = { 1, 1, 1, 1 };
	struct shared s = { .fd = -1 };
	int pair[2];

	check(loop_new(&s.loop) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	s.fd = pair[1];
	check(channel_new(s.loop, pair[0], PHASE_IDLE, 1, &zero_events, &s,
			  &s.ch) == 0);
	check(lanes_new(s.loop, s.ch, &share, NULL, 1, &events, &s, &s.lanes) == 0);
	for (unsigned i = 0; i < USERS; i++)
		s.user[i].of = &s;
	while (size && !s.over) {
		size_t n = act(&s, data, size);

		data += n;
		size -= n;
	}
	turn(&s);
	fd_close(&s.fd);
	turn(&s);
	if (size & 1)
		lanes_drain(s.lanes);
	channel_free(s.ch);
	lanes_free(s.lanes);
	check(s.answered == s.asked);
	loop_free(s.loop);
	return 0;
}
