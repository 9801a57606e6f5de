/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a shared machine's wire against a peer that is hostile. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/channel/lanes.h"
#include "tests/unit/clock.h"
#include "tests/unit/tap.h"

#define USERS (WIRE_LANE_MAX + 1)

/* Who has a lane. */
struct user {
	struct lane *lane;
	struct vm_job job;
	unsigned starts, outs, exits, finishes;
	uint64_t bytes;
	bool broken, close_at_output;
	char sentence[200];
};

static struct loop *loop;
static struct channel *channel;
static struct lanes *lanes;
static int peer; /* the guest's end */
static struct loop_timer stop;
static unsigned heards, heated;
static size_t rest; /* of a flood's last frame */
static bool broken, eof;
static char sentence[200];
static struct user users[USERS];

static void on_heated(void *arg, uint32_t runners)
{
	(void)arg;
	heated = runners;
}

static void on_lane_finished(void *arg)
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
	.finished = on_lane_finished, .broken = on_lane_broken,
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
	.heated = on_heated, .finished = on_lane_finished,
	.broken = on_zero_broken,
};

static void on_heard(void *arg)
{
	(void)arg;
	heards++;
}

static void on_broken(void *arg, const char *text, bool is_eof)
{
	(void)arg;
	broken = true;
	eof = is_eof;
	snprintf(sentence, sizeof(sentence), "%s", text);
	loop_quit(loop);
}

static const struct lanes_events events = {
	.heard = on_heard, .broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	(void)arg;
	(void)i;
	return ftruncate(fd, 100 << 20) < 0 ? -errno : fd;
}

static void on_started(void *arg, uint32_t pid)
{
	((struct user *)arg)->starts += pid;
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct user *u = arg;

	(void)s;
	(void)data;
	u->outs++;
	u->bytes += len;
	if (u->close_at_output) {
		lane_close(u->lane);
		u->lane = NULL;
	}
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	(void)e;
	((struct user *)arg)->exits++;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	((struct user *)arg)->finishes++;
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .finished = on_finished,
};

static void on_stop(struct loop_timer *t)
{
	(void)t;
	loop_quit(loop);
}

/* Until nothing happens any more, or so long. */
static void turn(unsigned ms)
{
	loop_timer_set(loop, &stop, ms * NS_PER_MS);
	loop_run(loop);
}

/* --- the peer --------------------------------------------------------------- */

static size_t put(uint8_t lane, enum wire_type type, const void *data,
		  size_t len)
{
	uint8_t frame[WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX];
	ssize_t n;

	wire_header_put(frame, (uint32_t)len, (uint8_t)type, 0);
	wire_lane_put(frame, lane);
	if (len)
		memcpy(frame + WIRE_HEADER_SIZE, data, len);
	n = send(peer, frame, WIRE_HEADER_SIZE + len, MSG_DONTWAIT);
	return n < 0 ? 0 : (size_t)n;
}

static void put_number(uint8_t lane, enum wire_type type, uint32_t v)
{
	uint8_t room[4];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, v);
	put(lane, type, room, sizeof(room));
}

static void put_exit(uint8_t lane)
{
	uint8_t room[WIRE_EXIT_MAX];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_exit_put(&w, &e);
	put(lane, WIRE_EXIT, room, w.used);
}

struct frame {
	uint8_t lane, type, arg;
	uint32_t length;
};

/* The next frame that the host has sent; type 0: none is whole. */
static struct frame next(void)
{
	static uint8_t payload[WIRE_JOB_MAX];
	uint8_t head[WIRE_HEADER_SIZE];
	struct frame f = { 0 };
	struct wire_header h;

	if (recv(peer, head, sizeof(head), MSG_DONTWAIT) != sizeof(head))
		return f;
	f.lane = wire_lane_take(head);
	if (wire_header_get(head, &h) < 0 ||
	    (h.length && recv(peer, payload, h.length, MSG_DONTWAIT) !=
				 (ssize_t)h.length))
		return f;
	f.type = h.type;
	f.arg = h.arg;
	f.length = h.length;
	return f;
}

/* Skips to the first of the type; its type is 0 if there is none. */
static struct frame skip_to(enum wire_type type)
{
	struct frame f;

	do
		f = next();
	while (f.type && f.type != (uint8_t)type);
	return f;
}

/* --- a shared machine --------------------------------------------------------- */

static void begin_with(const void *before, size_t size)
{
	struct wire_share share = { 1, 1, 1, 1 };
	int pair[2];

	heards = heated = 0;
	rest = 0;
	broken = eof = false;
	memset(users, 0, sizeof(users));
	stop = (struct loop_timer){ .fn = on_stop };
	if (loop_new(&loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    channel_new(loop, pair[0], PHASE_IDLE, 1, &zero_events, NULL,
			&channel) < 0)
		exit(1);
	peer = pair[1];
	if (size) {
		channel_heat(channel, 5, 1);
		if (send(peer, before, size, 0) < 0)
			exit(1);
		turn(20);
	}
	if (lanes_new(loop, channel, &share, NULL, 1, &events, NULL, &lanes) < 0)
		exit(1);
}

static void begin(void)
{
	begin_with(NULL, 0);
	turn(20);
	is_int(skip_to(WIRE_SHARE).length, 24, "SHARE is sent");
}

static void end(void)
{
	channel_free(channel);
	lanes_free(lanes);
	loop_timer_del(&stop);
	close(peer);
	loop_free(loop);
}

static void ends(const char *name)
{
	turn(20);
	ok(broken, "%s: %s", name, sentence);
	end();
}

static void open_lane(struct user *u)
{
	is_int(lanes_open(lanes, &lane_events, u, &u->lane), 0, "it opens");
}

static void close_lane(struct user *u)
{
	lane_close(u->lane);
	u->lane = NULL;
}

static void send_job(struct user *u, const struct vm_input *input)
{
	static const char *argv[] = { "code.py" };

	u->job.wire = (struct wire_job){
		.cpus = 1, .processes = 1, .memory_bytes = 1,
		.stdout_limit = 1u << 30, .stderr_limit = 9, .call = "",
		.argv = { 1, argv },
	};
	u->job.inputs = input;
	u->job.input_count = !!input;
	channel_job(lane_channel(u->lane), &u->job, &job_events, u);
}

/* Its program runs. */
static void start(struct user *u, uint8_t number)
{
	open_lane(u);
	send_job(u, NULL);
	turn(20);
	is_int(skip_to(WIRE_RUN).lane, number, "RUN comes on its lane");
	put_number(number, WIRE_STARTED, 7);
	turn(20);
	is_int(u->starts, 7, "the program starts, and its pid is known");
}

/* --- tests ---------------------------------------------------------------------- */

static void test_lanes(void)
{
	struct frame f;

	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	put(2, WIRE_OUT, "abc", 3);
	put(1, WIRE_OUT, "a", 1);
	put_exit(1);
	turn(20);
	ok(users[0].bytes == 1 && users[1].bytes == 3, "each hears its own");
	ok(users[0].exits == 1 && !users[1].exits, "and ends by itself");
	is_int(heards, 1, "the machine is heard once");
	close_lane(&users[0]);
	close_lane(&users[1]);
	turn(20);
	f = skip_to(WIRE_CLOSE);
	ok(f.lane == 1 && f.arg == WIRE_CLOSE_LEAVE, "what it left may live");
	f = skip_to(WIRE_CLOSE);
	ok(f.lane == 2 && f.arg == WIRE_CLOSE_KILL, "what ran may not");
	put(1, WIRE_OUT, "late", 4);
	put(2, WIRE_OUT, "late", 4);
	open_lane(&users[2]);
	put(1, WIRE_CLOSED, NULL, 0);
	put(2, WIRE_CLOSED, NULL, 0);
	turn(20);
	ok(!broken, "what comes before CLOSED is dropped");
	close_lane(&users[2]);
	turn(20);
	is_int(next().type, WIRE_NONE, "of a lane that had no job none is told");
	start(&users[3], 1);
	ok(users[0].bytes == 1 && !users[3].bytes, "the number is used again");
	end();
}

static void test_hostile(void)
{
	begin();
	put(1, WIRE_OUT, "x", 1);
	ends("a lane that was never open");
	begin();
	open_lane(&users[0]);
	put(1, WIRE_OUT, "x", 1);
	ends("a lane that has no job yet");
	begin();
	put(WIRE_LANE_MAX + 1, WIRE_OUT, "x", 1);
	ends("a number that is too high");
	begin();
	put(0, WIRE_STARTED, NULL, 0);
	ends("a job's frame on lane 0");
	begin();
	put(0, WIRE_CLOSED, NULL, 0);
	ends("CLOSED of lane 0");
	begin();
	start(&users[0], 1);
	put(1, WIRE_CLOSED, NULL, 0);
	ends("CLOSED that was not asked for");
	begin();
	start(&users[0], 1);
	close_lane(&users[0]);
	put(1, WIRE_CLOSED, "x", 1);
	ends("CLOSED with something in it");
	begin();
	start(&users[0], 1);
	close_lane(&users[0]);
	put(1, WIRE_CLOSED, NULL, 0);
	put(1, WIRE_OUT, "x", 1);
	ends("a lane that is closed");
	begin();
	if (send(peer, "no frame at all", 15, 0) < 0)
		exit(1);
	ends("bytes that are no frame");
	begin();
	put(1, WIRE_JOB, NULL, 0);
	ends("a frame of the host's");
	begin();
	shutdown(peer, SHUT_RDWR);
	turn(20);
	ok(broken && eof, "a closed wire: %s", sentence);
	end();
}

/* A lane that lies ends; the others and the machine do not. */
static void test_one_lies(void)
{
	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	put(1, WIRE_STARTED, NULL, 0);
	put(2, WIRE_OUT, "x", 1);
	turn(20);
	ok(users[0].broken && !broken, "one is out of order: %s",
	   users[0].sentence);
	put(1, WIRE_OUT, "x", 1);
	put(2, WIRE_OUT, "x", 1);
	turn(20);
	is_int(users[1].bytes, 2, "the other goes on");
	close_lane(&users[0]);
	turn(20);
	is_int(skip_to(WIRE_CLOSE).arg, WIRE_CLOSE_KILL, "it is to be killed");
	end();
}

/* What serves a session may end while no step runs. */
static void test_fails_idle(void)
{
	static const char said[] = "\5\0\0\0ended";
	uint8_t room[WIRE_EXIT_MAX];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE, .lives = 1 };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	begin();
	open_lane(&users[0]);
	send_job(&users[0], NULL);
	users[0].job.wire.mode = WIRE_MODE_SESSION;
	put_number(1, WIRE_STARTED, 7);
	wire_exit_put(&w, &e);
	turn(20);
	put(1, WIRE_EXIT, room, w.used);
	turn(20);
	is_int(users[0].finishes, 1, "a step ends");
	put(1, WIRE_FAILED, said, sizeof(said) - 1);
	turn(20);
	ok(users[0].broken && !broken, "then its lane: %s",
	   users[0].sentence);
	is_str(users[0].sentence, "ended", "with the guest's own words");
	end();
}

static void test_never_closed(void)
{
	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	close_lane(&users[0]);
	turn(4000);
	ok(!broken, "a guest has some time to close a lane");
	put(1, WIRE_OUT, "x", 1);
	turn(2000);
	ok(broken && !eof, "and no more: %s", sentence);
	end();
}

/* Sends frames of 64 KiB until the host takes no more. Return: bytes. */
static uint64_t flood(uint8_t lane, uint64_t most)
{
	static const uint8_t data[WIRE_PAYLOAD_MAX];
	uint64_t sent = 0;
	unsigned idle = 0;

	while (sent < most && idle < 4) {
		ssize_t n = rest ? send(peer, data, rest, MSG_DONTWAIT)
				 : (ssize_t)put(lane, WIRE_OUT, data,
						sizeof(data));

		idle = n > 0 ? 0 : idle + 1;
		n = MAX(n, 0);
		if (!rest && n)
			rest = WIRE_HEADER_SIZE + sizeof(data);
		rest -= (size_t)n;
		sent += (size_t)n;
		turn(1);
	}
	return sent;
}

static void test_bounds(void)
{
	uint64_t n;

	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	channel_hold(lane_channel(users[0].lane), true);
	n = flood(1, 64u << 20);
	ok(n > 256u << 10 && n < 4u << 20, "a lane that is held takes %llu KiB",
	   (unsigned long long)n >> 10);
	turn(60000);
	ok(!broken && !users[0].broken && !users[1].broken,
	   "meanwhile the guest is to blame for nothing");
	channel_hold(lane_channel(users[0].lane), false);
	turn(100);
	ok(users[0].bytes + (1u << 20) > n, "then it takes the rest");
	close_lane(&users[0]);
	n = flood(1, 64u << 20);
	ok(n >= 64u << 20 && !broken, "a closed one is drained");
	end();
}

/* Closing gives way to the others at once. */
static void test_close_held(void)
{
	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	channel_hold(lane_channel(users[0].lane), true);
	ok(flood(1, 64u << 20) < 4u << 20, "a lane is held");
	close_lane(&users[0]);
	turn(100);
	ok(!broken && !users[1].broken, "it is closed all the same");
	is_int(skip_to(WIRE_CLOSE).lane, 1, "the guest hears of it");
	end();
}

/* A guest that reads nothing holds its lanes up, each by its own wait. */
static void test_deaf(void)
{
	struct vm_input big = {
		.path = "big", .kind = WIRE_FILE_REG, .size = 100u << 20,
	};
	unsigned n = 0;

	begin();
	for (unsigned i = 0; i < WIRE_LANE_MAX; i++)
		open_lane(&users[i]);
	for (unsigned i = 0; i < WIRE_LANE_MAX; i++)
		send_job(&users[i], &big);
	turn(30000);
	for (unsigned i = 0; i < WIRE_LANE_MAX; i++)
		n += users[i].broken;
	is_int(n, 0, "so many lanes may take so long");
	turn(300000);
	for (unsigned i = 0; i < WIRE_LANE_MAX; i++)
		n += users[i].broken;
	is_int(n, WIRE_LANE_MAX, "each gives up: %s", users[0].sentence);
	end();
}

/* No lane waits for what another one has to send. */
static void test_fair(void)
{
	struct vm_input big = {
		.path = "big", .kind = WIRE_FILE_REG, .size = 100u << 20,
	};
	unsigned before = 0;
	struct frame f;

	begin();
	open_lane(&users[0]);
	open_lane(&users[1]);
	send_job(&users[0], &big);
	turn(5);
	send_job(&users[1], NULL);
	while (before < 4u << 20) {
		f = next();
		if (!f.type)
			turn(1);
		if (f.lane == 2)
			break;
		before += f.length;
	}
	ok(f.lane == 2, "%u KiB go before another lane's job", before >> 10);
	end();
}

static void test_taken_over(void)
{
	uint8_t frame[WIRE_HEADER_SIZE + 4] = { 0 };

	wire_header_put(frame, 4, WIRE_HEATED, 0);
	frame[WIRE_HEADER_SIZE] = 5;
	begin_with(frame, 5); /* the rest comes when lanes have the socket */
	if (send(peer, frame + 5, sizeof(frame) - 5, 0) < 0)
		exit(1);
	turn(20);
	ok(heated == 5 && !broken, "a frame that came in two parts");
	is_int(heards, 0, "that is no answer of a job");
	is_int(next().type, WIRE_HEAT, "HEAT had been sent");
	is_int(next().type, WIRE_SHARE, "SHARE comes behind");
	end();
}

static void test_drain(void)
{
	begin();
	start(&users[0], 1);
	start(&users[1], 2);
	users[1].close_at_output = true;
	put(1, WIRE_OUT, "x", 1);
	put(2, WIRE_OUT, "y", 1);
	put_exit(1);
	shutdown(peer, SHUT_RDWR);
	lanes_drain(lanes);
	ok(users[0].exits == 1 && users[0].finishes == 1,
	   "the last words of a dead machine count");
	ok(users[1].bytes == 1 && !users[1].lane, "a lane may close meanwhile");
	end();
}

int main(void)
{
	test_lanes();
	test_hostile();
	test_one_lies();
	test_fails_idle();
	test_never_closed();
	test_bounds();
	test_close_held();
	test_deaf();
	test_fair();
	test_taken_over();
	test_drain();
	return done_testing();
}
