/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a shared machine whose process was killed, in the next one's hands. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/channel/lanes.h"
#include "vm/channel/mux.h"
#include "tests/unit/clock.h"
#include "tests/unit/tap.h"

/* The owner of a lane. */
struct user {
	struct lane *lane;
	struct vm_job job;
	struct vm_replay *replay;
	int input; /* what is read of open standard input, or -1 */
	unsigned starts, exits, finishes, closed;
	struct buf out;
	bool broken;
	char sentence[200];
};

static struct loop *loop;
static struct channel *channel;
static struct lanes *lanes;
static struct vm_mux *mux;
static int wire, peer; /* both ends of the machine's socket */
static struct loop_timer stop;
static bool broken;
static char sentence[200];
static struct user a, b;

static void on_finished(void *arg)
{
	(void)arg;
}

static void on_lane_broken(void *arg, enum vm_failure why, const char *text,
			   bool is_eof)
{
	struct user *u = arg;

	(void)why;
	(void)is_eof;
	u->broken = true;
	snprintf(u->sentence, sizeof(u->sentence), "%s", text);
}

static const struct channel_events lane_events = {
	.finished = on_finished, .broken = on_lane_broken,
};

static void on_zero_broken(void *arg, enum vm_failure why, const char *text,
			   bool is_eof)
{
	(void)arg;
	(void)why;
	(void)is_eof;
	broken = true;
	snprintf(sentence, sizeof(sentence), "%s", text);
}

static const struct channel_events zero_events = {
	.finished = on_finished, .broken = on_zero_broken,
};

static void on_heard(void *arg)
{
	(void)arg;
}

static void on_broken(void *arg, const char *text, bool is_eof)
{
	(void)arg;
	(void)is_eof;
	broken = true;
	snprintf(sentence, sizeof(sentence), "%s", text);
}

static const struct lanes_events events = {
	.heard = on_heard, .broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	struct user *u = arg;
	int fd;

	(void)i;
	if (u->input >= 0)
		return dup(u->input);
	fd = memfd_create("input", MFD_CLOEXEC);
	return ftruncate(fd, 100 << 20) < 0 ? -errno : fd;
}

static void on_closed(void *arg)
{
	((struct user *)arg)->closed++;
}

static void on_started(void *arg, uint32_t pid)
{
	((struct user *)arg)->starts += pid;
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	(void)s;
	return buf_add(&((struct user *)arg)->out, data, len);
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	(void)e;
	((struct user *)arg)->exits++;
}

static void on_job_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	((struct user *)arg)->finishes++;
}

static const struct vm_events job_events = {
	.open_input = on_open, .input_closed = on_closed,
	.started = on_started, .output = on_output, .exited = on_exited,
	.finished = on_job_finished,
};

static void on_stop(struct loop_timer *t)
{
	(void)t;
	loop_quit(loop);
}

static void turn(void)
{
	loop_timer_set(loop, &stop, 20 * NS_PER_MS);
	loop_run(loop);
}

/* --- the guest ---------------------------------------------------------------- */

static void put(uint8_t lane, enum wire_type type, const void *data, size_t len)
{
	uint8_t frame[WIRE_HEADER_SIZE + 1000];

	wire_header_put(frame, (uint32_t)len, (uint8_t)type, 0);
	wire_lane_put(frame, lane);
	if (len)
		memcpy(frame + WIRE_HEADER_SIZE, data, len);
	if (send(peer, frame, WIRE_HEADER_SIZE + len, 0) < 0)
		exit(1);
}

static void put_number(uint8_t lane, enum wire_type type, uint32_t v)
{
	uint8_t room[4];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, v);
	put(lane, type, room, sizeof(room));
}

static void put_exit(uint8_t lane, bool lives)
{
	uint8_t room[WIRE_EXIT_MAX];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE, .lives = lives };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_exit_put(&w, &e);
	put(lane, WIRE_EXIT, room, w.used);
}

struct frame {
	uint8_t lane, type, arg;
	uint32_t length;
	uint8_t payload[WIRE_JOB_MAX];
};

/* The next one that is whole; type 0: there is none. */
static struct frame *next(void)
{
	static struct frame f;
	uint8_t head[WIRE_HEADER_SIZE];
	struct wire_header h;
	int there = 0;

	f.type = WIRE_NONE;
	if (recv(peer, head, sizeof(head), MSG_DONTWAIT | MSG_PEEK) !=
	    sizeof(head))
		return &f;
	f.lane = wire_lane_take(head);
	if (wire_header_get(head, &h) < 0 || ioctl(peer, FIONREAD, &there) < 0 ||
	    (size_t)there < WIRE_HEADER_SIZE + h.length)
		return &f;
	if (recv(peer, head, sizeof(head), MSG_WAITALL) != sizeof(head) ||
	    (h.length &&
	     recv(peer, f.payload, h.length, MSG_WAITALL) != (ssize_t)h.length))
		return &f;
	f.type = h.type;
	f.arg = h.arg;
	f.length = h.length;
	return &f;
}

/* Skips to the first of the type; its type is 0 if there is none. */
static struct frame *skip_to(enum wire_type type)
{
	struct frame *f = next();

	for (unsigned idle = 0; f->type != (uint8_t)type && idle < 5;
	     f = next())
		if (!f->type) { /* there may be more than the socket holds */
			idle++;
			turn();
		}
	return f;
}

/* --- a process, and the next --------------------------------------------------- */

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static void begin(void)
{
	struct wire_share share = { 1, 1, 1, 1 };
	int pair[2];

	broken = false;
	mux = shared(sizeof(*mux));
	a = (struct user){ .replay = shared(sizeof(*a.replay)), .input = -1 };
	b = (struct user){ .replay = shared(sizeof(*b.replay)), .input = -1 };
	stop = (struct loop_timer){ .fn = on_stop };
	if (loop_new(&loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	wire = dup(pair[0]);
	peer = pair[1];
	if (channel_new(loop, pair[0], PHASE_IDLE, 1, &zero_events, NULL,
			&channel) < 0 ||
	    lanes_new(loop, channel, &share, mux, 1, &events, NULL, &lanes) < 0)
		exit(1);
	turn();
}

static void killed(void)
{
	channel_free(channel);
	lanes_free(lanes);
	a.lane = b.lane = NULL;
	is_int(mux_recover(mux), 0, "the next process finds the lanes");
	replay_recover_lane(a.replay, mux->out.end);
	replay_recover_lane(b.replay, mux->out.end);
	is_int(lanes_adopt(loop, dup(wire), mux, 1, &events, NULL, &zero_events,
			   NULL, &lanes, &channel), 0, "and takes them");
}

static void end(void)
{
	ok(!broken, "the machine is well: %s", sentence);
	channel_free(channel);
	lanes_free(lanes);
	loop_timer_del(&stop);
	close(peer);
	close(wire);
	loop_free(loop);
	buf_done(&a.out);
	buf_done(&b.out);
	munmap(a.replay, sizeof(*a.replay));
	munmap(b.replay, sizeof(*b.replay));
	munmap(mux, sizeof(*mux));
}

static void fill_job(struct user *u, enum wire_mode mode)
{
	static const char *argv[] = { "code.py" };

	u->job.wire = (struct wire_job){
		.cpus = 1, .processes = 1, .memory_bytes = 1,
		.stdout_limit = 4u << 20, .stderr_limit = 9, .call = "",
		.mode = (uint32_t)mode, .argv = { 1, argv },
	};
	u->job.replay = u->replay;
	u->job.stdin_open = u->input >= 0;
}

static void send_job(struct user *u, enum wire_mode mode)
{
	fill_job(u, mode);
	if (!u->lane)
		is_int(lanes_open(lanes, &lane_events, u, &u->lane), 0,
		       "a lane opens");
	u->replay->lane = lane_number(u->lane);
	channel_job(lane_channel(u->lane), &u->job, &job_events, u);
	turn();
}

static void start(struct user *u, enum wire_mode mode)
{
	send_job(u, mode);
	is_int(skip_to(WIRE_RUN)->lane, lane_number(u->lane), "it gets RUN");
	put_number(lane_number(u->lane), WIRE_STARTED, 7);
	turn();
}

static int claim(struct user *u, unsigned number, bool with_job, bool aborts)
{
	return lanes_claim(lanes, number, with_job ? &u->job : NULL, &job_events,
			   u, aborts, &lane_events, u, &u->lane);
}

static void is_text(struct user *u, const char *text, const char *name)
{
	is_str(u->out.data ? u->out.data : "", text, "%s", name);
}

/* --- tests ---------------------------------------------------------------------- */

static void test_running(void)
{
	uint8_t half[WIRE_HEADER_SIZE + 4];

	begin();
	start(&a, WIRE_MODE_SCRIPT);
	put(1, WIRE_OUT, "one ", 4);
	turn();
	wire_header_put(half, 4, WIRE_OUT, 0);
	wire_lane_put(half, 1);
	memcpy(half + WIRE_HEADER_SIZE, "two ", 4);
	if (send(peer, half, 9, 0) < 0)
		exit(1);
	turn();
	is_text(&a, "one ", "half a frame is not delivered");
	killed();
	buf_clear(&a.out); /* nothing was stored: all comes again */
	is_int(claim(&a, 1, true, false), 0, "its job goes on");
	if (send(peer, half + 9, sizeof(half) - 9, 0) < 0)
		exit(1);
	turn();
	is_text(&a, "one ", "the wire is not read before all have what is theirs");
	lanes_go(lanes);
	put(1, WIRE_OUT, "three", 5);
	put_exit(1, false);
	turn();
	is_text(&a, "one two three", "what was said comes once, in order");
	ok(a.exits == 1 && a.finishes == 1 && a.starts == 14,
	   "it has begun, for both, and ends");
	lane_close(a.lane);
	turn();
	is_int(skip_to(WIRE_CLOSE)->arg, WIRE_CLOSE_LEAVE,
	       "its lane is closed as ever");
	end();
}

static void test_idle(void)
{
	begin();
	start(&a, WIRE_MODE_SESSION);
	put_exit(1, true);
	turn();
	start(&b, WIRE_MODE_SCRIPT);
	killed();
	is_int(claim(&a, 1, false, false), 0, "an interpreter is idle");
	is_int(claim(&b, 2, false, false), -ESRCH, "a program is not");
	is_int(claim(&b, 3, false, false), -ESRCH, "nor is a lane that nobody had");
	lanes_go(lanes);
	turn();
	is_int(skip_to(WIRE_CLOSE)->lane, 2, "what nobody has claimed is closed");
	put(2, WIRE_OUT, "late", 4);
	put(2, WIRE_CLOSED, NULL, 0);
	a.starts = 0;
	start(&a, WIRE_MODE_SESSION);
	is_int(a.starts, 7, "the interpreter takes the next step");
	is_int(mux->lane[2], MUX_FREE, "the number is free again");
	end();
}

/* Its JOB and a part of its input were sent. */
static void test_aborted(void)
{
	struct vm_input big = {
		.path = "big", .kind = WIRE_FILE_REG, .size = 100u << 20,
	};

	begin();
	start(&a, WIRE_MODE_SESSION);
	put_exit(1, true);
	turn();
	a.job.inputs = &big;
	a.job.input_count = 1;
	send_job(&a, WIRE_MODE_SESSION);
	is_int(skip_to(WIRE_FILE)->lane, 1, "an input is on its way");
	killed();
	ok(!a.replay->sent && !a.replay->run_at, "its RUN is not");
	is_int(claim(&a, 1, false, false), -ESRCH, "its lane is busy");
	is_int(claim(&a, 1, false, true), 0, "until the job is aborted");
	lanes_go(lanes);
	turn();
	is_int(skip_to(WIRE_ABORT)->lane, 1, "the guest is told");
	a.job.input_count = 0;
	a.starts = 0;
	start(&a, WIRE_MODE_SESSION);
	is_int(a.starts, 7, "then it takes the job again");
	end();
}

static void test_closing(void)
{
	begin();
	start(&a, WIRE_MODE_SCRIPT);
	lane_close(a.lane);
	killed();
	is_int(claim(&a, 1, false, true), -ESRCH, "a lane that is closed is nobody's");
	lanes_go(lanes);
	put(1, WIRE_OUT, "late", 4);
	put(1, WIRE_CLOSED, NULL, 0);
	turn();
	is_int(mux->lane[1], MUX_FREE, "its CLOSED is waited for");
	is_int(skip_to(WIRE_CLOSE)->lane, 1, "CLOSE is sent");
	is_int(skip_to(WIRE_CLOSE)->type, WIRE_NONE, "and once");
	end();
}

static void test_fed(void)
{
	struct frame *f;
	int pair[2];

	begin();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		exit(1);
	a.input = pair[0];
	start(&a, WIRE_MODE_SCRIPT);
	if (write(pair[1], "first", 5) != 5)
		exit(1);
	turn();
	is_int(skip_to(WIRE_STDIN)->length, 5, "what is written is sent");
	put_number(1, WIRE_STDIN_ACK, 5);
	turn();
	/* As if it was killed behind the call that reads. */
	if (write(pair[1], "second", 6) != 6 ||
	    replay_feed_receive(a.replay, pair[0], 100) != 6)
		exit(1);
	killed();
	is_int(a.replay->feed.put, 5, "five bytes were sent");
	is_int(claim(&a, 1, true, false), 0, "the next one goes on");
	lanes_go(lanes);
	turn();
	f = skip_to(WIRE_STDIN);
	ok(f->length == 6 && !memcmp(f->payload, "second", 6),
	   "what was read and not sent is sent");
	put_number(1, WIRE_STDIN_ACK, 6);
	turn();
	ok(!a.broken, "what the program takes is right: %s", a.sentence);
	close(pair[1]);
	turn();
	is_int(skip_to(WIRE_STDIN_END)->lane, 1, "its end is told");
	close(pair[0]);
	end();
}

/* The record of a step that has ended may be another job's at once. */
static void test_ended_step(void)
{
	uint64_t before;

	begin();
	start(&a, WIRE_MODE_SESSION);
	put_exit(1, true);
	turn();
	before = a.replay->end;
	put(1, WIRE_OUT, "forged", 6);
	turn();
	ok(a.broken && a.replay->end == before,
	   "what an idle lane says is on no tape: %s", a.sentence);
	end();
}

/* A machine dies that has said more than a replay buffer holds, and whose output waits. */
static void test_drained(void)
{
	static const uint8_t data[1000];
	unsigned n = 0;

	begin();
	start(&a, WIRE_MODE_SCRIPT);
	channel_hold(lane_channel(a.lane), true);
	while (n < 640) { /* the replay buffer has 512 KiB, the socket the rest */
		for (unsigned i = 0; i < 80; i++, n++)
			put(1, WIRE_OUT, data, sizeof(data));
		turn();
	}
	ok(ring_len(&mux->in) > 0, "some of it waits");
	put_exit(1, false);
	shutdown(peer, SHUT_RDWR);
	lanes_drain(lanes);
	ok(a.out.len == n * sizeof(data) && a.exits == 1,
	   "all its %u KB are heard, and its end", n);
	broken = false; /* it is dead */
	end();
}

static int fs_result;
static unsigned fs_answers;

static void on_fs(void *arg, int r, const uint8_t *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	fs_result = r;
	fs_answers++;
}

/* The id of a request that was sent. */
static uint32_t ask(void)
{
	struct wire_fs fs = { .op = WIRE_FS_MKDIR, .path = (char[]){ "d" },
			      .mode = 0755 };
	struct wire_cursor c;
	struct frame *f;

	is_int(channel_fs(channel, &fs, on_fs, NULL), 0, "a file is asked for");
	turn();
	f = skip_to(WIRE_FS);
	wire_begin(&c, f->payload, f->length);
	return wire_get_u32(&c);
}

static void put_fs_error(uint32_t id, uint32_t error)
{
	uint8_t room[8];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, id);
	wire_put_u32(&w, error);
	put(0, WIRE_FS_REPLY, room, w.used);
	turn();
}

static void test_files(void)
{
	uint32_t old, id;

	begin();
	old = ask();
	killed();
	is_int(fs_answers, 1, "whoever had asked has an answer");
	lanes_go(lanes);
	id = ask();
	ok(id != old, "requests of two processes are told apart");
	put_fs_error(old, EEXIST);
	is_int(fs_answers, 1, "the answer to the first one's is nobody's");
	put_fs_error(id, ENOENT);
	ok(fs_answers == 2 && fs_result == -ENOENT, "that to the other comes");
	end();
}

int main(void)
{
	test_running();
	test_idle();
	test_aborted();
	test_closing();
	test_fed();
	test_ended_step();
	test_drained();
	test_files();
	return done_testing();
}
