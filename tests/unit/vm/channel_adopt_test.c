/* SPDX-License-Identifier: Apache-2.0 */
/* A job's wire whose first listener is killed, and the replay buffer that is left: what
 * the next one hears, by a guest written by hand. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/channel/channel.h"
#include "vm/channel/replay.h"
#include "tests/unit/tap.h"

#define PIECE 30000u /* no divisor of the room */
#define LIMIT (4u << 20)

enum behind { BEHIND_LATER, BEHIND_NEVER, BEHIND_DONE, BEHIND_DONE_TRUE };

struct side {
	struct loop *loop;
	struct channel *ch;
	struct vm_replay *replay;
	struct vm_replay *rest; /* or NULL: not for a step that ends */
	struct vm_job job;
	int host, fd;  /* another descriptor of the host's end; the guest's */
	struct loop_timer guard;
	size_t want;   /* bytes of output: then the loop ends */
	struct buf out, result, files;
	unsigned starts, exits, finishes, behinds;
	uint64_t takes_ns; /* each output */
	enum behind behind;
	bool broken, eof, late, free_in_output;
	bool holds; /* at each output */
	enum vm_failure why;
	char sentence[300];
};

static void on_heated(void *arg, uint32_t runners)
{
	(void)arg;
	(void)runners;
}

static void on_finished(void *arg)
{
	((struct side *)arg)->finishes += 10;
	loop_quit(((struct side *)arg)->loop);
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct side *s = arg;

	s->broken = true;
	s->why = why;
	s->eof = eof;
	snprintf(s->sentence, sizeof(s->sentence), "%s", sentence);
	loop_quit(s->loop);
}

static const struct channel_events channel_events = {
	.heated = on_heated, .finished = on_finished, .broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	(void)arg;
	(void)i;
	return fd < 0 || ftruncate(fd, 1 << 20) < 0 ? -errno : fd;
}

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	((struct side *)arg)->starts++;
}

static void free_replay(struct side *s)
{
	if (s->replay)
		munmap(s->replay, sizeof(*s->replay));
	s->replay = NULL;
}

static int on_output(void *arg, enum vm_stream stream, const void *data,
		     size_t len)
{
	struct side *s = arg;
	uint64_t until = now_ns() + s->takes_ns;

	while (now_ns() < until)
		;
	buf_add(stream == VM_RESULT ? &s->result : &s->out, data, len);
	if (s->holds)
		channel_hold(s->ch, true);
	if (s->free_in_output) {
		channel_free(s->ch);
		s->ch = NULL;
		free_replay(s);
		loop_quit(s->loop);
	}
	if (s->want && s->out.len + s->result.len >= s->want)
		loop_quit(s->loop);
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	(void)e;
	((struct side *)arg)->exits++;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	(void)target;
	(void)kind;
	(void)mode;
	(void)size;
	return buf_str(&((struct side *)arg)->files, path);
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	return buf_add(&((struct side *)arg)->files, data, len);
}

static int on_file_end(void *arg)
{
	return buf_str(&((struct side *)arg)->files, ";");
}

static void on_job_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	struct side *s = arg;

	s->finishes++;
	if (s->rest)
		channel_rest(s->ch, s->rest);
}

static const struct vm_replay_flow no_flow;

static void settle(struct side *s)
{
	channel_mark(s->ch, &no_flow);
	channel_commit_checkpoint(s->ch);
}

static bool on_behind(void *arg)
{
	struct side *s = arg;

	s->behinds++;
	if (s->behind >= BEHIND_DONE)
		settle(s);
	return s->behind == BEHIND_LATER || s->behind == BEHIND_DONE_TRUE;
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .file = on_file, .file_data = on_file_data,
	.file_end = on_file_end, .behind = on_behind,
	.finished = on_job_finished,
};

/* --- the two ends --------------------------------------------------------- */

static void on_late(struct loop_timer *t)
{
	((struct side *)t->arg)->late = true;
	loop_quit(((struct side *)t->arg)->loop);
}

static void on_once(struct loop_timer *t)
{
	loop_quit(((struct side *)t->arg)->loop);
}

/* What is there now is dealt with, or a part of it. */
static void round_once(struct side *s)
{
	s->guard = (struct loop_timer){ .fn = on_once, .arg = s };
	loop_timer_set(s->loop, &s->guard, 0);
	loop_run(s->loop);
	loop_timer_del(&s->guard);
}

/* To an end, or to as much output as is wanted. */
static void turn(struct side *s)
{
	s->guard = (struct loop_timer){ .fn = on_late, .arg = s };
	loop_timer_set(s->loop, &s->guard, 10 * NS_PER_S);
	loop_run(s->loop);
	loop_timer_del(&s->guard);
}

static void hear(struct side *s, size_t bytes)
{
	s->want = bytes;
	turn(s);
	s->want = 0;
}

static void open_side(struct side *s)
{
	static const char *argv[] = { "code.py" };
	int pair[2];

	*s = (struct side){ .fd = -1 };
	s->out.cap = 2 * LIMIT;
	s->replay = mmap(NULL, sizeof(*s->replay), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->replay == MAP_FAILED || loop_new(&s->loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	s->host = dup(pair[0]);
	s->fd = pair[1];
	s->job.replay = s->replay;
	s->job.wire = (struct wire_job){
		.cpus = 1, .processes = 1, .memory_bytes = 1,
		.stdout_limit = LIMIT, .stderr_limit = LIMIT,
		.output_limit = 9, .output_files = 2, .call = "",
		.argv = { 1, argv },
	};
	if (channel_new(s->loop, pair[0], PHASE_IDLE, 1, &channel_events, s,
			&s->ch) < 0)
		exit(1);
}

static void close_side(struct side *s)
{
	ok(!s->late, "nobody is waited for in vain");
	channel_free(s->ch);
	free_replay(s);
	fd_close(&s->fd);
	fd_close(&s->host);
	loop_free(s->loop);
	buf_done(&s->out);
	buf_done(&s->result);
	buf_done(&s->files);
}

static void begin(struct side *s)
{
	channel_job(s->ch, &s->job, &job_events, s);
}

/* The first listener is killed: nothing is left but the replay buffer and the socket. */
static void die(struct side *s)
{
	channel_free(s->ch);
	s->ch = NULL;
	buf_clear(&s->out);
	buf_clear(&s->result);
	s->starts = 0;
}

/* The next one, which has not heard anything yet. */
static void adopt(struct side *s)
{
	if (channel_adopt(s->loop, dup(s->host), 1, &channel_events, s, &s->job,
			  &job_events, s, &s->ch) < 0)
		exit(1);
}

static void take_over(struct side *s)
{
	die(s);
	is_int(replay_recover(s->replay), 0, "the tape can be taken over");
	adopt(s);
}

/* --- what the guest says ----------------------------------------------------- */

static void add(struct buf *b, enum wire_type type, const void *data,
		size_t len)
{
	uint8_t h[WIRE_HEADER_SIZE];

	wire_header_put(h, (uint32_t)len, (uint8_t)type, 0);
	if (buf_add(b, h, sizeof(h)) < 0 || buf_add(b, data, len) < 0)
		exit(1);
}

static void add_text(struct buf *b, enum wire_type type, const char *text)
{
	add(b, type, text, strlen(text));
}

static void add_numbers(struct buf *b, enum wire_type type, unsigned count,
			uint32_t first, uint32_t second)
{
	uint8_t room[8];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, first);
	wire_put_u32(&w, second);
	add(b, type, room, 4 * count);
}

static void add_exit(struct buf *b)
{
	uint8_t room[256];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_exit_put(&w, &e);
	add(b, WIRE_EXIT, room, w.used);
}

static void add_end(struct buf *b)
{
	add_exit(b);
	add_numbers(b, WIRE_OUTPUT_END, 2, 0, 0);
}

/* The first bytes of what is gathered, by one write. */
static void say(struct side *s, struct buf *b, size_t bytes)
{
	if (send(s->fd, b->data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		ok(false, "the guest can write");
	buf_eat(b, bytes);
}

static void say_all(struct side *s, struct buf *b)
{
	say(s, b, b->len);
	buf_done(b);
	*b = (struct buf){ 0 };
}

/* --- a point, and none --------------------------------------------------------- */

static void test_point(void)
{
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	s.job.wire.stdout_limit = 15;
	begin(&s);
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "one");
	say_all(&s, &b);
	hear(&s, 3);
	settle(&s);
	add_text(&b, WIRE_OUT, "two");
	add_text(&b, WIRE_OUT, "three");
	say(&s, &b, WIRE_HEADER_SIZE + 3 + WIRE_HEADER_SIZE + 2);
	hear(&s, 6);
	is_str(s.out.data, "onetwo", "the first hears what is whole");
	add_text(&b, WIRE_OUT, "four");
	add_end(&b);
	say_all(&s, &b);
	take_over(&s);
	is_int((long long)s.out.len, 0, "nothing comes from inside the call");
	turn(&s);
	is_str(s.out.data, "twothreefour", "the next one hears what came after "
	       "the point, and the rest of half a frame");
	ok(!s.starts && s.exits == 1 && s.finishes == 11 && !s.broken,
	   "to the end, and the start is not told again");
	close_side(&s);
}

static void test_no_point(void)
{
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	begin(&s);
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "one");
	say_all(&s, &b);
	hear(&s, 3);
	channel_mark(s.ch, &no_flow);
	add_text(&b, WIRE_OUT, "two");
	say_all(&s, &b);
	take_over(&s);
	add_end(&b);
	say_all(&s, &b);
	turn(&s);
	is_str(s.out.data, "onetwo", "what was marked and never settled is "
	       "heard again");
	ok(s.starts == 1 && s.finishes == 11, "and so is the program's start");
	close_side(&s);
}

/* The program has ended, and its files are on their way. */
static void test_files(void)
{
	static const char file[] = "\xa4\1\0\0" "\2\0\0\0\0\0\0\0" "\1\0\0\0x";
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	begin(&s);
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "one");
	say_all(&s, &b);
	hear(&s, 3);
	settle(&s);
	add_exit(&b);
	add(&b, WIRE_FILE, file, sizeof(file) - 1);
	add_text(&b, WIRE_FILE_DATA, "a");
	say_all(&s, &b);
	round_once(&s);
	is_str(s.files.data, "xa", "half a file has come");
	settle(&s);
	is_int((long long)replay_checkpoint(s.replay)->phase, PHASE_RUNNING,
	       "there is no point behind the program's end");
	take_over(&s);
	buf_clear(&s.files);
	s.exits = 0;
	add_text(&b, WIRE_FILE_DATA, "b");
	add(&b, WIRE_FILE_END, NULL, 0);
	add_numbers(&b, WIRE_OUTPUT_END, 2, 1, 0);
	say_all(&s, &b);
	turn(&s);
	is_str(s.files.data, "xab;", "the file is heard from its beginning");
	ok(!s.out.len && s.exits == 1 && s.finishes == 11,
	   "and so is the end, but no output");
	close_side(&s);
}

static void test_result(void)
{
	struct side s;
	struct buf b = { 0 };
	uint64_t at;

	open_side(&s);
	begin(&s);
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "one");
	say_all(&s, &b);
	hear(&s, 3);
	settle(&s);
	at = replay_checkpoint(s.replay)->at;
	ok(at == 2 * WIRE_HEADER_SIZE + 3, "a point is behind the last frame");
	add_text(&b, WIRE_RESULT, "shown");
	say_all(&s, &b);
	hear(&s, 8);
	settle(&s);
	ok(replay_checkpoint(s.replay)->at == at + WIRE_HEADER_SIZE + 5,
	   "one is behind a RESULT, if its owner has that");
	take_over(&s);
	add_end(&b);
	say_all(&s, &b);
	turn(&s);
	ok(!s.result.len && !s.out.len && s.finishes == 11,
	   "so nothing is heard again");
	close_side(&s);
}

/* --- figures --------------------------------------------------------------------- */

/* A run that has come to a point, and was taken over. */
static void start_taken(struct side *s)
{
	struct buf b = { 0 };

	open_side(s);
	s->job.wire.stdout_limit = 9;
	s->job.stdin_size = 1000;
	begin(s);
	add(&b, WIRE_STARTED, NULL, 0);
	add_numbers(&b, WIRE_STDIN_ACK, 1, 600, 0);
	add_text(&b, WIRE_OUT, "one");
	say_all(s, &b);
	hear(s, 3);
	settle(s);
	take_over(s);
}

static void test_figures(void)
{
	struct side s;
	struct buf b = { 0 };

	start_taken(&s);
	add_numbers(&b, WIRE_STDIN_ACK, 1, 400, 0);
	add_text(&b, WIRE_OUT, "123456");
	add_end(&b);
	say_all(&s, &b);
	turn(&s);
	ok(!s.broken && s.finishes == 11, "what is left may come: %s",
	   s.sentence);
	close_side(&s);

	start_taken(&s);
	add_numbers(&b, WIRE_STDIN_ACK, 1, 401, 0);
	say_all(&s, &b);
	turn(&s);
	ok(s.broken, "but no ACK of more than was sent: %s", s.sentence);
	close_side(&s);

	start_taken(&s);
	add_text(&b, WIRE_OUT, "1234567");
	say_all(&s, &b);
	turn(&s);
	ok(s.broken && !s.out.len, "nor output beyond the limit: %s",
	   s.sentence);
	ok(s.why == VM_FAILED_LOST && !s.eof, "its outcome is unknown then");
	close_side(&s);
}

/* Heats are asked for, and the job overtakes them. */
static void test_heats(unsigned heats, bool good)
{
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	for (unsigned i = 0; i < heats; i++)
		channel_heat(s.ch, 1, 1);
	add_numbers(&b, WIRE_HEATED, 1, 1, 0);
	say(&s, &b, WIRE_HEADER_SIZE + 1);
	round_once(&s);
	begin(&s);
	add_numbers(&b, WIRE_HEATED, 1, 1, 0);
	add(&b, WIRE_STARTED, NULL, 0);
	add_end(&b);
	say_all(&s, &b);
	take_over(&s);
	turn(&s);
	if (good)
		ok(s.finishes == 11 && s.starts == 1,
		   "answers to %u heats may come, the half of one before the "
		   "job: %s", heats, s.sentence);
	else
		ok(s.broken, "with %u there is one too many: %s", heats,
		   s.sentence);
	close_side(&s);
}

/* Takes what the host says. */
static void listen_to_host(struct side *s)
{
	static char room[65536];

	while (recv(s->fd, room, sizeof(room), MSG_DONTWAIT) > 0)
		;
}

static void test_sent(void)
{
	static const struct vm_input input = {
		.path = "data", .kind = WIRE_FILE_REG, .size = 1 << 20,
	};
	struct side s;
	struct buf b = { 0 };
	bool begin_tries = false;

	open_side(&s);
	s.replay->sent = s.replay->begin_tries = 1;
	s.job.inputs = &input;
	s.job.input_count = 1;
	s.job.stdin_size = WIRE_STDIN_WINDOW + 1;
	begin(&s);
	round_once(&s);
	is_int(s.replay->sent, 0, "more is to be sent than the socket takes");
	ok(replay_tries(s.replay) == 1, "so the program has not begun");
	for (int i = 0; i < 1000 && channel_phase(s.ch) < PHASE_STARTING; i++) {
		begin_tries = replay_tries(s.replay);
		listen_to_host(&s);
		round_once(&s);
	}
	ok(begin_tries, "nor while they come");
	for (int i = 0; i < 10; i++) {
		listen_to_host(&s);
		round_once(&s);
	}
	is_int(channel_phase(s.ch), PHASE_STARTING, "RUN was sent");
	ok(!replay_tries(s.replay), "so the program may have begun");
	is_int(s.replay->sent, 0, "standard input waits for its window");
	add(&b, WIRE_STARTED, NULL, 0);
	add_numbers(&b, WIRE_STDIN_ACK, 1, 1, 0);
	say_all(&s, &b);
	for (int i = 0; i < 1000 && !s.replay->sent; i++)
		round_once(&s);
	is_int(s.replay->sent, 1, "when its last byte is written all is");
	close_side(&s);
}

/* Is there a moment at which RUN waits for the socket, and has not gone? */
static bool waits_with_run(uint64_t size, uint32_t begin_tries)
{
	struct vm_input input = {
		.path = "data", .kind = WIRE_FILE_REG, .size = size,
	};
	struct side s;
	bool waits;

	open_side(&s);
	s.replay->begin_tries = begin_tries;
	s.job.inputs = &input;
	s.job.input_count = 1;
	begin(&s);
	round_once(&s);
	waits = channel_phase(s.ch) == PHASE_STARTING && !s.replay->sent;
	if (waits) {
		is_int(replay_tries(s.replay), begin_tries,
		       "while RUN waits nothing has begun that had not before");
		for (int i = 0; i < 1000 && !s.replay->sent; i++) {
			listen_to_host(&s);
			round_once(&s);
		}
		is_int(replay_tries(s.replay), 0, "and then it may have");
	}
	close_side(&s);
	return waits;
}

static void test_run_waits(void)
{
	uint64_t size = 32 << 10;

	while (size < 1 << 20 && !waits_with_run(size, 1))
		size += 16 << 10;
	ok(size < 1 << 20, "RUN waits behind %llu bytes",
	   (unsigned long long)size);
	ok(waits_with_run(size, 0), "and of a machine that comes second as well");
}

/* --- a full replay buffer --------------------------------------------------------------- */

/* Frames of at least so many bytes of output, and the end. Return: how many. */
static size_t add_much(struct buf *b, size_t bytes)
{
	static const char zeros[PIECE];
	size_t sum = 0;

	b->cap = LIMIT;
	add(b, WIRE_STARTED, NULL, 0);
	for (; sum < bytes; sum += PIECE)
		add(b, WIRE_OUT, zeros, PIECE);
	add_end(b);
	return sum;
}

/* Until it is all said, or nobody reads it. */
static void feed(struct side *s, struct buf *b)
{
	for (unsigned stuck = 0; b->len && stuck < 5;) {
		ssize_t n = send(s->fd, b->data, b->len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		stuck = n < 0 ? stuck + 1 : 0;
		if (n > 0)
			buf_eat(b, (size_t)n);
		round_once(s);
	}
}

static bool is_full(const struct vm_replay *t)
{
	return t->end - replay_checkpoint(t)->at == VM_REPLAY_ROOM;
}

static void test_full(void)
{
	struct side s;
	struct buf b = { 0 };
	size_t much, heard;

	open_side(&s);
	begin(&s);
	much = add_much(&b, 3 * VM_REPLAY_ROOM);
	feed(&s, &b);
	ok(b.len && is_full(s.replay) && s.behinds == 1,
	   "with a full tape nothing is read, and the owner is told once");
	heard = s.out.len;
	ok(heard > VM_REPLAY_ROOM - 2 * PIECE && heard < VM_REPLAY_ROOM,
	   "what is on it was told");
	settle(&s);
	feed(&s, &b);
	ok(s.out.len > heard && s.behinds == 2,
	   "behind a point it goes on, until it is full again");
	take_over(&s);
	for (int i = 0; i < 100 && !s.finishes; i++) {
		feed(&s, &b);
		settle(&s);
		if (!b.len)
			turn(&s);
	}
	ok(s.finishes == 11 && !s.broken, "the next one goes on so to the end");
	is_int((long long)(heard + s.out.len), (long long)much,
	       "and hears all that came after the point");
	is_int(s.replay->spoiled, 0, "the tape is good all the time");
	buf_done(&b);
	close_side(&s);
}

/* Its guest dies meanwhile. */
static void test_full_closed(void)
{
	struct side s;
	struct buf b = { 0 };
	size_t much;

	open_side(&s);
	begin(&s);
	much = add_much(&b, VM_REPLAY_ROOM + PIECE);
	feed(&s, &b);
	is_int((long long)b.len, 0, "all is in the socket");
	fd_close(&s.fd);
	for (int i = 0; i < 5; i++)
		round_once(&s);
	ok(!s.broken && !s.exits && is_full(s.replay),
	   "the end of the wire waits behind a full tape");
	settle(&s);
	turn(&s);
	ok(s.finishes == 11 && s.out.len == much, "all is heard before it");
	buf_done(&b);
	close_side(&s);
}

static void test_given_up(enum behind behind)
{
	struct side s;
	struct buf b = { 0 };
	size_t much;

	open_side(&s);
	s.behind = behind;
	begin(&s);
	much = add_much(&b, 2 * VM_REPLAY_ROOM);
	feed(&s, &b);
	if (!s.finishes)
		turn(&s);
	is_int(s.behinds, 1, "the owner is asked");
	ok(s.replay->spoiled && replay_recover(s.replay) < 0,
	   "nobody goes on with a tape that was given up");
	ok(s.finishes == 11 && s.out.len == much,
	   "its job ends with all of its output");
	buf_done(&b);
	close_side(&s);
}

/* The owner makes the point when it is asked for it. */
static void test_done(enum behind behind)
{
	struct side s;
	struct buf b = { 0 };
	size_t much;

	open_side(&s);
	s.behind = behind;
	begin(&s);
	much = add_much(&b, 3 * VM_REPLAY_ROOM);
	feed(&s, &b);
	if (!s.finishes)
		turn(&s);
	ok(s.behinds > 1 && !s.replay->spoiled,
	   "a point that is made at once gives room at once");
	ok(s.finishes == 11 && s.out.len == much, "and nothing waits for it");
	buf_done(&b);
	close_side(&s);
}

/* --- what should not be ---------------------------------------------------------- */

/* An event may end it, and the replay buffer with it. */
static void test_end_in_event(void)
{
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	begin(&s);
	add(&b, WIRE_STARTED, NULL, 0);
	for (int i = 0; i < 5; i++)
		add(&b, WIRE_OUT, (const char[PIECE]){ 0 }, PIECE);
	say_all(&s, &b);
	hear(&s, 5 * PIECE);
	take_over(&s);
	s.free_in_output = true;
	turn(&s);
	is_int((long long)s.out.len, PIECE, "freed in an event: no other "
	       "follows, and the tape is not looked at");
	round_once(&s);
	close_side(&s);
}

/* A replay buffer that holds these bytes, and a wire that is closed. */
static void adopt_bytes(struct side *s, const struct vm_checkpoint *p,
			struct buf *b)
{
	die(s);
	replay_begin(s->replay, p, (const uint8_t *)b->data, b->len);
	*replay_draft(s->replay) = *p;
	replay_commit(s->replay);
	s->replay->sent = 1;
	buf_done(b);
	*b = (struct buf){ 0 };
	fd_close(&s->fd);
	is_int(replay_recover(s->replay), 0, "such a tape can be read");
	adopt(s);
}

static void test_wrong_figures(void)
{
	struct vm_checkpoint p = {
		.phase = PHASE_RUNNING, .got = { 10 }, .stdin_acked = 10,
	};
	struct side s;
	struct buf b = { 0 };

	open_side(&s);
	s.job.wire.stdout_limit = 9;
	add_text(&b, WIRE_OUT, "x");
	add_end(&b);
	adopt_bytes(&s, &p, &b);
	turn(&s);
	ok(s.broken && !s.out.len, "more output than may be is no licence for "
	   "more: %s", s.sentence);
	close_side(&s);

	open_side(&s);
	s.job.stdin_size = 9;
	add_numbers(&b, WIRE_STDIN_ACK, 1, 1, 0);
	add_end(&b);
	adopt_bytes(&s, &p, &b);
	turn(&s);
	ok(s.broken, "nor is more input than there was: %s", s.sentence);
	close_side(&s);
}

/* All that a program says, in ten little frames and an end. */
static void adopt_nine(struct side *s)
{
	const struct vm_checkpoint p = { .phase = PHASE_SENDING };
	struct buf b = { 0 };

	add(&b, WIRE_STARTED, NULL, 0);
	for (int i = 0; i < 9; i++)
		add_text(&b, WIRE_OUT, "nine ");
	add_end(&b);
	adopt_bytes(s, &p, &b);
}

static void test_slow(void)
{
	struct side s;

	open_side(&s);
	/* Each takes more than a turn, so the wire's end is seen between. */
	s.takes_ns = 5 * NS_PER_MS;
	adopt_nine(&s);
	turn(&s);
	ok(s.out.len == 45 && s.exits == 1 && !s.broken,
	   "what was read is heard before the end of the wire: %zu bytes %s",
	   s.out.len, s.broken ? s.sentence : "");
	close_side(&s);
}

static void test_held_words(void)
{
	struct side s;

	open_side(&s);
	s.holds = true;
	adopt_nine(&s);
	channel_drain(s.ch);
	ok(s.out.len == 45 && s.exits == 1 && s.finishes,
	   "a dead machine's last words are not held up: %zu bytes", s.out.len);
	close_side(&s);
}

static void test_random(void)
{
	unsigned accepted = 0, ended = 0;

	srandom(1);
	for (int i = 0; i < 200; i++) {
		struct side s;
		struct vm_checkpoint *p;
		uint8_t *bytes;

		open_side(&s);
		die(&s);
		bytes = (uint8_t *)s.replay;
		for (size_t k = 0; k < sizeof(*s.replay); k++)
			bytes[k] = (uint8_t)random();
		s.replay->spoiled = 0;
		if (i % 4) { /* such that something of it is believed */
			s.replay->which %= 2;
			s.replay->read.msg_len %= VM_REPLAY_ROOM;
			s.replay->end /= 2;
			s.replay->read_at = s.replay->end;
			p = &s.replay->point[s.replay->which];
			p->at = s.replay->end - (uint64_t)random() % 100000;
			p->phase = i % 8 < 4 ? PHASE_RUNNING : p->phase;
		}
		fd_close(&s.fd);
		if (replay_recover(s.replay) == 0) {
			accepted++;
			replay_is_whole(s.replay, i % 2);
			adopt(&s);
			turn(&s);
			ended += s.broken && !s.late;
		}
		channel_free(s.ch);
		s.ch = NULL;
		free_replay(&s);
		fd_close(&s.host);
		loop_free(s.loop);
		buf_done(&s.out);
	}
	ok(accepted > 100 && accepted < 200, "of 200 tapes of noise %u pass",
	   accepted);
	is_int(ended, accepted, "each of them ends its machine, and no more");
}

/* --- between two steps --------------------------------------------------------- */

static void on_answer(void *arg, int r, const uint8_t *data, size_t size)
{
	(void)r;
	(void)data;
	(void)size;
	++*(unsigned *)arg;
}

static void ask(struct side *s, unsigned *answers)
{
	char path[] = "f", to[] = "";
	struct wire_fs fs = { .op = WIRE_FS_STAT, .path = path, .to = to };

	is_int(channel_fs(s->ch, &fs, on_answer, answers), 0, "a file is asked for");
}

/* The answer to the first request: there is no such file. */
static void add_answer(struct buf *b)
{
	add_numbers(b, WIRE_FS_REPLY, 2, 0, ENOENT);
}

static void rounds(struct side *s)
{
	for (int i = 0; i < 5; i++)
		round_once(s);
}

/* A step has ended, its interpreter lives, and behind its end came `more` bytes of an
 * answer that was asked for meanwhile. */
static void open_resting(struct side *s, unsigned *answers, size_t more)
{
	uint8_t room[256];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE, .lives = 1 };
	struct wire_writer w = { .p = room, .size = sizeof(room) };
	struct buf b = { 0 };
	size_t n;

	open_side(s);
	s->rest = mmap(NULL, sizeof(*s->rest), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->rest == MAP_FAILED)
		exit(1);
	s->job.wire.mode = WIRE_MODE_SESSION;
	begin(s);
	ask(s, answers);
	round_once(s);
	wire_exit_put(&w, &e);
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "said");
	add(&b, WIRE_EXIT, room, w.used);
	add_numbers(&b, WIRE_OUTPUT_END, 2, 0, 0);
	n = b.len + more;
	add_answer(&b);
	say(s, &b, n);
	buf_done(&b);
	rounds(s);
	is_int(s->finishes, 1, "a step has ended, and %zu bytes came behind it", more);
}

static void close_resting(struct side *s)
{
	munmap(s->rest, sizeof(*s->rest));
	close_side(s);
}

/* The first listener is killed, and the next one has not heard anything yet. */
static void take_over_idle(struct side *s)
{
	die(s);
	is_int(replay_recover(s->rest), 0, "its tape can be taken over");
	is_int(s->rest->sent, 1, "no frame was on its way");
	if (channel_adopt_idle(s->loop, dup(s->host), 1, &channel_events, s, s->rest,
			       &s->ch) < 0)
		exit(1);
}

/* Another step ends, with the same output. */
static void step_again(struct side *s)
{
	struct buf b = { 0 };

	memset(s->replay, 0, VM_REPLAY_HEAD);
	s->finishes = 0;
	begin(s);
	round_once(s);
	is_int(channel_phase(s->ch), PHASE_STARTING, "another step is sent");
	ok(!s->rest->sent && s->replay->sent, "which alone tells of the machine now");
	add(&b, WIRE_STARTED, NULL, 0);
	add_text(&b, WIRE_OUT, "more");
	add_end(&b);
	say_all(s, &b);
	turn(s);
	ok(!s->broken && s->exits == 2, "and ends: %s", s->sentence);
	is_str(s->out.data, "more", "with its output alone");
}

static void test_rests(void)
{
	struct buf whole = { 0 }, b = { 0 };
	unsigned answers;
	struct side s;

	add_answer(&whole);
	for (size_t more = 0; more <= whole.len; more++) {
		answers = 0;
		open_resting(&s, &answers, more);
		is_int(answers, more == whole.len, "the answer is dealt with when it is whole");
		take_over_idle(&s);
		add_answer(&b);
		buf_eat(&b, more);
		say_all(&s, &b);
		rounds(&s);
		ok(!s.broken, "the next one hears the rest of it: %s", s.sentence);
		s.want = 0;
		step_again(&s);
		close_resting(&s);
	}
	buf_done(&whole);
}

/* Files are asked for by two processes, and the first is killed before the answer. */
static void test_rests_asked(void)
{
	unsigned answers = 0, later = 0;
	struct buf b = { 0 };
	struct side s;

	open_resting(&s, &answers, 16);
	is_int(answers, 1, "an answer is heard");
	ask(&s, &answers);
	round_once(&s);
	take_over_idle(&s);
	is_int(answers, 2, "who had asked for a file hears that it is gone");
	ask(&s, &later);
	round_once(&s);
	add_numbers(&b, WIRE_FS_REPLY, 2, 1, ENOENT);
	add_numbers(&b, WIRE_FS_REPLY, 2, 1u << 24, ENOENT);
	say_all(&s, &b);
	rounds(&s);
	ok(!s.broken && later == 1, "the answer to a dead process is passed over: %s",
	   s.sentence);
	step_again(&s);
	close_resting(&s);
}

/* Nobody can go on while a frame may be half sent. */
static void test_rests_sending(void)
{
	static uint8_t data[WIRE_PAYLOAD_MAX / 2];
	char path[] = "f", to[] = "";
	struct wire_fs fs = { .op = WIRE_FS_WRITE, .path = path, .to = to,
			      .data = data, .size = sizeof(data) };
	unsigned answers = 0;
	struct side s;

	open_resting(&s, &answers, 16);
	for (int i = 0; i < 16; i++)
		channel_fs(s.ch, &fs, on_answer, &answers);
	rounds(&s);
	is_int(s.rest->sent, 0, "a request waits for the socket");
	for (int i = 0; i < 1000 && !s.rest->sent; i++) {
		listen_to_host(&s);
		round_once(&s);
	}
	is_int(s.rest->sent, 1, "all are sent");
	close_resting(&s);
}

int main(void)
{
	test_rests();
	test_rests_asked();
	test_rests_sending();
	test_point();
	test_no_point();
	test_files();
	test_result();
	test_figures();
	test_heats(2, true);
	test_heats(1, false);
	test_sent();
	test_run_waits();
	test_full();
	test_full_closed();
	test_given_up(BEHIND_NEVER);
	test_done(BEHIND_DONE);
	test_done(BEHIND_DONE_TRUE);
	test_end_in_event();
	test_wrong_figures();
	test_slow();
	test_held_words();
	test_random();
	return done_testing();
}
