/* SPDX-License-Identifier: Apache-2.0 */
/* The host's end of the wire against bytes written by hand. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/wire/wire_network.h"
#include "layout/base/utf8.h"
#include "vm/channel/channel.h"
#include "tests/unit/clock.h"
#include "tests/unit/tap.h"

struct peer {
	struct loop *loop;
	struct channel *ch;
	int fd, host; /* host: the channel's */
	struct loop_timer stop;
	uint32_t ready, walls, heated;
	unsigned starts, exits, finishes, outs, network_ends;
	bool broken, eof, free_in_output, hold_in_output, refuse_file;
	enum vm_failure why;
	char sentence[512];
	struct buf out, files;
	bool lives;      /* EXIT said so */
	struct loop_timer chat;
	unsigned answers;
	int answer; /* the last one's */
	uint64_t read;   /* of standard input */
	unsigned closed; /* it was */
	size_t answered; /* bytes of it */
};

static void on_ready(void *arg, uint32_t runners, uint32_t walls,
		     const char *cold)
{
	is_str(cold, "numpy: no\n", "what is cold");
	((struct peer *)arg)->ready = runners;
	((struct peer *)arg)->walls = walls;
	loop_quit(((struct peer *)arg)->loop);
}

static void on_heated(void *arg, uint32_t runners)
{
	((struct peer *)arg)->heated = runners;
	loop_quit(((struct peer *)arg)->loop);
}

static void on_finished(void *arg)
{
	((struct peer *)arg)->finishes += 10;
	loop_quit(((struct peer *)arg)->loop);
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct peer *p = arg;

	p->broken = true;
	p->why = why;
	p->eof = eof;
	snprintf(p->sentence, sizeof(p->sentence), "%s", sentence);
	loop_quit(p->loop);
}

static void on_network_ended(void *arg)
{
	((struct peer *)arg)->network_ends++;
	loop_quit(((struct peer *)arg)->loop);
}

static const struct channel_events channel_events = {
	.ready = on_ready, .heated = on_heated, .finished = on_finished,
	.network_ended = on_network_ended,
	.broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	(void)arg;
	(void)i;
	if (ftruncate(fd, 200000) < 0)
		return -errno;
	return fd;
}

static void on_input_read(void *arg, uint64_t bytes)
{
	((struct peer *)arg)->read = bytes;
}

static void on_input_closed(void *arg)
{
	((struct peer *)arg)->closed++;
	loop_quit(((struct peer *)arg)->loop);
}

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	((struct peer *)arg)->starts++;
	loop_quit(((struct peer *)arg)->loop);
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct peer *p = arg;

	(void)s;
	p->outs++;
	buf_add(&p->out, data, len);
	if (p->free_in_output) {
		channel_free(p->ch);
		p->ch = NULL;
		loop_quit(p->loop);
	} else if (p->hold_in_output) {
		channel_hold(p->ch, true);
		loop_quit(p->loop);
	}
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	((struct peer *)arg)->exits++;
	((struct peer *)arg)->lives = e->lives;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	struct peer *p = arg;

	(void)target;
	(void)kind;
	(void)mode;
	(void)size;
	buf_str(&p->files, path);
	return p->refuse_file ? -ENOSPC : 0;
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	return buf_add(&((struct peer *)arg)->files, data, len);
}

static int on_file_end(void *arg)
{
	return buf_str(&((struct peer *)arg)->files, ";");
}

static void on_job_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	((struct peer *)arg)->finishes++;
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .file = on_file, .file_data = on_file_data,
	.file_end = on_file_end, .finished = on_job_finished,
	.input_read = on_input_read, .input_closed = on_input_closed,
};

static void on_stop(struct loop_timer *t)
{
	loop_quit(((struct peer *)t->arg)->loop);
}

static void open_peer(struct peer *p, enum channel_phase phase)
{
	int pair[2];

	*p = (struct peer){ .fd = -1 };
	if (loop_new(&p->loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	p->fd = pair[1];
	p->host = pair[0];
	p->stop = (struct loop_timer){ .fn = on_stop, .arg = p };
	loop_timer_set(p->loop, &p->stop, 2 * NS_PER_S);
	if (channel_new(p->loop, pair[0], phase, 1, &channel_events, p,
			&p->ch) < 0)
		exit(1);
}

static void close_peer(struct peer *p)
{
	loop_timer_del(&p->stop);
	channel_free(p->ch);
	if (p->fd >= 0)
		close(p->fd);
	loop_free(p->loop);
	buf_done(&p->out);
	buf_done(&p->files);
}

/* Runs until something that quits happens. */
static void turn(struct peer *p)
{
	loop_run(p->loop);
}

static void put(struct peer *p, enum wire_type type, uint8_t arg,
		const void *data, size_t len)
{
	uint8_t h[WIRE_HEADER_SIZE];

	wire_header_put(h, (uint32_t)len, (uint8_t)type, arg);
	if (write(p->fd, h, sizeof(h)) < 0 ||
	    (len && write(p->fd, data, len) < 0))
		ok(false, "the peer can write");
}

static void put_numbers(struct peer *p, enum wire_type type, unsigned count,
			uint32_t a, uint32_t b)
{
	uint8_t room[8];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, a);
	wire_put_u32(&w, b);
	put(p, type, 0, room, 4 * count);
}

static void put_ready(struct peer *p, const char *cold)
{
	uint8_t room[64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, 5);
	wire_put_u32(&w, 3);
	wire_put_str(&w, cold);
	put(p, WIRE_READY, 0, room, w.used);
}

static void put_exit(struct peer *p)
{
	uint8_t room[256];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_exit_put(&w, &e);
	put(p, WIRE_EXIT, 0, room, w.used);
}

static void put_file(struct peer *p, const char *path, uint64_t size)
{
	uint8_t room[5000];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, 0644);
	wire_put_u64(&w, size);
	wire_put_str(&w, path);
	put(p, WIRE_FILE, WIRE_FILE_REG, room, w.used);
}

/* Reads frames until one of the type comes. Return: its payload's length. */
static uint32_t expect(struct peer *p, enum wire_type type)
{
	uint8_t h[WIRE_HEADER_SIZE], payload[WIRE_PAYLOAD_MAX];
	struct wire_header header = { 0 };

	do {
		if (recv(p->fd, h, sizeof(h), MSG_WAITALL) != sizeof(h) ||
		    wire_header_get(h, &header) < 0 ||
		    recv(p->fd, payload, header.length, MSG_WAITALL) < 0)
			return UINT32_MAX;
	} while (header.type != type);
	return header.length;
}

static void send_job(struct peer *p, struct vm_job *job)
{
	static const char *argv[] = { "code.py" };

	job->wire = (struct wire_job){
		.cpus = 1, .processes = 1, .memory_bytes = 1, .stdout_limit = 9,
		.stderr_limit = 9, .output_limit = 9, .output_files = 2,
		.call = "", .argv = { 1, argv },
	};
	channel_job(p->ch, job, &job_events, p);
	loop_timer_set(p->loop, &p->stop, 20 * NS_PER_MS);
	turn(p);
	loop_timer_set(p->loop, &p->stop, 2 * NS_PER_S);
}

static void start_job(struct peer *p, struct vm_job *job)
{
	open_peer(p, PHASE_IDLE);
	send_job(p, job);
	put(p, WIRE_STARTED, 0, NULL, 0);
	turn(p);
	is_int(p->starts, 1, "the program starts");
}

static void ends(struct peer *p, const char *name)
{
	turn(p);
	ok(p->broken, "%s: %s", name, p->sentence);
	close_peer(p);
}

static void test_boot(void)
{
	struct peer p;
	uint8_t room[64];
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_put_u32(&w, WIRE_VERSION);
	wire_put_str(&w, "6.1");
	wire_put_str(&w, "image");
	open_peer(&p, PHASE_BOOT);
	put(&p, WIRE_HELLO, 0, room, w.used);
	put_ready(&p, "numpy: no\n");
	turn(&p);
	ok(p.ready == 5 && p.walls == 3, "HELLO and READY");
	channel_heat(p.ch, 5, 2);
	put_numbers(&p, WIRE_HEATED, 1, 4, 0);
	turn(&p);
	is_int(p.heated, 4, "HEATED");
	put_numbers(&p, WIRE_HEATED, 1, 4, 0);
	ends(&p, "a HEATED that nobody asked for");
	open_peer(&p, PHASE_BOOT);
	put_ready(&p, "numpy: no\n");
	ends(&p, "READY before HELLO");
	open_peer(&p, PHASE_HELLO);
	put_ready(&p, "numpy: \033");
	ends(&p, "a READY with a control character");
	open_peer(&p, PHASE_BOOT);
	room[0]++;
	put(&p, WIRE_HELLO, 0, room, w.used);
	ends(&p, "another version");
	open_peer(&p, PHASE_IDLE);
	put(&p, WIRE_STARTED, 0, NULL, 0);
	ends(&p, "STARTED without a job");
	open_peer(&p, PHASE_IDLE);
	close(p.fd);
	p.fd = -1;
	turn(&p);
	ok(p.broken && p.eof && p.why == VM_FAILED_START, "a closed wire");
	close_peer(&p);
}

static void test_limits(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_job(&p, &job);
	put(&p, WIRE_OUT, 0, "123456789", 9);
	put(&p, WIRE_OUT, 0, "x", 1);
	ends(&p, "a byte beyond the limit of stdout");
	start_job(&p, &job);
	put_numbers(&p, WIRE_STDIN_ACK, 1, 1, 0);
	ends(&p, "an ACK of what was not sent");
	start_job(&p, &job);
	put_exit(&p);
	put_exit(&p);
	ends(&p, "a second EXIT");
	start_job(&p, &job);
	put_exit(&p);
	put_file(&p, "../x", 1);
	ends(&p, "a path that leaves the tree");
	start_job(&p, &job);
	put_exit(&p);
	put_file(&p, "x", 10);
	ends(&p, "a file beyond the limit");
	start_job(&p, &job);
	put_exit(&p);
	put_file(&p, "x", 2);
	put(&p, WIRE_FILE_DATA, 0, "abc", 3);
	ends(&p, "more data than the file's size");
	start_job(&p, &job);
	put_exit(&p);
	put_file(&p, "x", 2);
	put(&p, WIRE_FILE_END, 0, NULL, 0);
	ends(&p, "a file that ends too early");
	start_job(&p, &job);
	put_exit(&p);
	put_numbers(&p, WIRE_OUTPUT_END, 2, 1, 0);
	ends(&p, "a count that is wrong");
	start_job(&p, &job);
	put_exit(&p);
	for (int i = 0; i < 3; i++) {
		put_file(&p, "x", 0);
		put(&p, WIRE_FILE_END, 0, NULL, 0);
	}
	ends(&p, "a file too many");
}

static void test_good(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_job(&p, &job);
	put(&p, WIRE_OUT, 0, "hi", 2);
	put_exit(&p);
	put_file(&p, "d/x", 2);
	put(&p, WIRE_FILE_DATA, 0, "ab", 2);
	put(&p, WIRE_FILE_END, 0, NULL, 0);
	put_numbers(&p, WIRE_OUTPUT_END, 2, 1, 7);
	turn(&p);
	ok(!p.broken && p.exits == 1 && p.finishes == 11, "a whole run");
	is_str(p.out.data, "hi", "its output");
	is_str(p.files.data, "d/xab;", "its file");
	close_peer(&p);

	start_job(&p, &job);
	p.refuse_file = true;
	put_exit(&p);
	put_file(&p, "x", 2);
	put(&p, WIRE_FILE_DATA, 0, "ab", 2);
	put(&p, WIRE_FILE_END, 0, NULL, 0);
	put_numbers(&p, WIRE_OUTPUT_END, 2, 1, 0);
	turn(&p);
	is_str(p.files.data, "x", "a refused file is skipped");
	is_int(p.finishes, 11, "and the rest goes on");
	close_peer(&p);

	start_job(&p, &job);
	p.free_in_output = true;
	put(&p, WIRE_OUT, 0, "a", 1);
	put(&p, WIRE_OUT, 0, "b", 1);
	turn(&p);
	is_int(p.outs, 1, "freed in an event: no other follows");
	close_peer(&p);

	start_job(&p, &job);
	p.hold_in_output = true;
	put(&p, WIRE_OUT, 0, "a", 1);
	put(&p, WIRE_OUT, 0, "b", 1);
	turn(&p);
	is_int(p.outs, 1, "held: the next frame waits");
	channel_hold(p.ch, false);
	is_int(p.outs, 1, "and comes not from inside the call");
	turn(&p);
	is_int(p.outs, 2, "but then");
	close_peer(&p);
}

static void test_stdin(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 200000 };
	uint32_t got = 0;

	start_job(&p, &job);
	is_int(expect(&p, WIRE_STDIN), WIRE_STDIN_WINDOW, "one window");
	ok(recv(p.fd, &got, 1, MSG_DONTWAIT) < 0, "and no byte more");
	put_numbers(&p, WIRE_STDIN_ACK, 1, 1000, 0);
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	is_int(expect(&p, WIRE_STDIN), 1000, "as much as was consumed");
	channel_kill(p.ch, WIRE_KILL_ALL, 9);
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	is_int(expect(&p, WIRE_KILL), 4, "a KILL overtakes standard input");
	close_peer(&p);
}

static void test_open_input(void)
{
	struct peer p;
	struct vm_job job = { .stdin_open = true };
	const uint8_t dropped[4] = { 100 };

	start_job(&p, &job);
	is_int(expect(&p, WIRE_STDIN), WIRE_STDIN_WINDOW, "what is there, up to a window");
	put_numbers(&p, WIRE_STDIN_ACK, 1, 1000, 0);
	put_numbers(&p, WIRE_STDIN_ACK, 1, 7, 0);
	put(&p, WIRE_STDIN_ACK, 1, dropped, sizeof(dropped));
	turn(&p);
	is_int(p.closed, 1, "the program has closed it");
	is_int((long long)p.read, 1007, "what was read before is told, and not what is dropped");
	put(&p, WIRE_STDIN_ACK, 1, dropped, sizeof(dropped));
	put_numbers(&p, WIRE_STDIN_ACK, 1, 0, 0);
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	ok(!p.broken && p.read == 1007, "nor what was on its way: %s", p.sentence);
	close_peer(&p);
}

static void test_cancel(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };
	static char large[WIRE_JOB_MAX - 4096]; /* than the socket takes */
	const char *argv[] = { large };

	open_peer(&p, PHASE_IDLE);
	memset(large, 'x', sizeof(large) - 1);
	job.wire.argv = (struct wire_strings){ 1, argv };
	job.wire.call = "";
	channel_job(p.ch, &job, &job_events, &p);
	channel_kill(p.ch, WIRE_KILL_ALL, 9);
	is_int(p.exits, 0, "nothing from inside the call");
	turn(&p);
	ok(p.exits == 1 && p.finishes == 11 && !p.starts,
	   "a kill before RUN ends the job, and nothing has run");
	close_peer(&p);
}

/* --- a guest that was taken over ---------------------------------------------- */

/* What an idle machine may say of itself is nothing. */
static void test_idle(void)
{
	static const uint8_t types[] = {
		WIRE_HEAT, WIRE_PING, WIRE_JOB, WIRE_RUN, WIRE_STDIN,
		WIRE_STDIN_END, WIRE_KILL, WIRE_OWN, WIRE_FS, WIRE_SHARE,
		WIRE_CLOSE, WIRE_FILE,
		WIRE_FILE_DATA, WIRE_FILE_END, WIRE_HELLO, WIRE_READY,
		WIRE_HEATED, WIRE_PONG, WIRE_STARTED, WIRE_STDIN_ACK, WIRE_OUT,
		WIRE_ERR, WIRE_RESULT, WIRE_EXIT, WIRE_OUTPUT_END, WIRE_FAILED,
		WIRE_FS_REPLY, WIRE_CLOSED,
	};
	struct peer p;

	for (size_t i = 0; i < sizeof(types); i++) {
		open_peer(&p, PHASE_IDLE);
		put_numbers(&p, types[i], 1, 0, 0);
		turn(&p);
		ok(p.broken && p.why == VM_FAILED_START, "while idle: %s",
		   p.sentence);
		close_peer(&p);
	}
}

/* It costs no job that had not begun. */
static void test_init_ends(void)
{
	static const uint8_t payload[] = "\x08\0\0\0no node\n";
	static const struct {
		enum channel_phase phase;
		enum vm_failure why;
	} rows[] = {
		{PHASE_HELLO, VM_FAILED_START},
		{PHASE_IDLE, VM_FAILED_START},
		{PHASE_SENDING, VM_FAILED_START},
		{PHASE_STARTING, VM_FAILED_LOST},
		{PHASE_RUNNING, VM_FAILED_LOST},
		{PHASE_COLLECTING, VM_FAILED_LOST},
	};
	struct peer p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_peer(&p, rows[i].phase);
		put(&p, WIRE_FAILED, WIRE_FAILED_INIT, payload,
		    sizeof(payload) - 1);
		turn(&p);
		is_str(p.sentence, "the guest's init has ended: no node?",
		       "init says why it ends");
		is_int(p.why, rows[i].why, "in phase %u", rows[i].phase);
		close_peer(&p);
	}
	open_peer(&p, PHASE_BOOT);
	put(&p, WIRE_FAILED, WIRE_FAILED_INIT, payload, sizeof(payload) - 1);
	turn(&p);
	ok(p.broken && strstr(p.sentence, "not allowed now"),
	   "but HELLO comes first");
	close_peer(&p);
}

/* The longest that init may say, in characters of two bytes. */
static void test_init_says_much(void)
{
	uint8_t payload[4 + 398] = {398 & 0xff, 398 >> 8};
	struct peer p;

	for (size_t i = 4; i < sizeof(payload); i += 2)
		memcpy(payload + i, "\xc3\xa9", 2);
	open_peer(&p, PHASE_RUNNING);
	put(&p, WIRE_FAILED, WIRE_FAILED_INIT, payload, sizeof(payload));
	turn(&p);
	is_int((long long)utf8_span(p.sentence, strlen(p.sentence)),
	       (long long)strlen("the guest's init has ended: ") + 398,
	       "all of it comes, and no character is cut");
	close_peer(&p);
}

static void test_failed_text(void)
{
	static const uint8_t payload[] = "\x0c\0\0\0a\n\x1b[b\xc2\x9b\xff\xc3(\xc3\xa9";
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_job(&p, &job);
	put(&p, WIRE_FAILED, 0, payload, sizeof(payload) - 1);
	turn(&p);
	is_str(p.sentence, "a??[b????" "(\xc3\xa9",
	       "its words are one line of UTF-8 without controls");
	close_peer(&p);
}

/* Each takes a little, so that the other is never silent. */
struct drip {
	struct loop_timer timer;
	struct peer *p;
	bool reads;
};

static void on_drip(struct loop_timer *t)
{
	struct drip *d = t->arg;
	static char room[40000];

	if (d->reads && read(d->p->fd, room, sizeof(room)) < 0)
		return;
	if (!d->reads)
		put(d->p, WIRE_FILE_DATA, 0, "x", 1);
	loop_timer_set(d->p->loop, t, 200 * NS_PER_MS);
}

static void too_slow(struct peer *p, bool reads, const char *name)
{
	struct drip d = { .timer = { .fn = on_drip }, .p = p, .reads = reads };
	uint64_t before = now_ns();

	d.timer.arg = &d;
	loop_timer_set(p->loop, &d.timer, 1);
	loop_timer_set(p->loop, &p->stop, 30 * NS_PER_S);
	turn(p);
	loop_timer_del(&d.timer);
	ok(p->broken && now_ns() - before < 20 * NS_PER_S, "%s: %s", name,
	   p->sentence);
	close_peer(p);
}

static const struct vm_input inputs[20] = {
	[0 ... 19] = { .path = "data", .kind = WIRE_FILE_REG, .size = 200000 },
};

static void test_slow(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_job(&p, &job);
	job.wire.output_limit = 1u << 20;
	put_exit(&p);
	put_file(&p, "x", 1u << 20);
	too_slow(&p, false, "a byte now and then");
	open_peer(&p, PHASE_IDLE);
	job.inputs = inputs;
	job.input_count = 20;
	send_job(&p, &job);
	too_slow(&p, true, "a few bytes taken now and then");
}

/* As one that reads as fast as is written. */
static void test_takes_all(void)
{
	struct peer p;
	struct vm_job job = { .inputs = inputs, .input_count = 20 };
	int room = 64 << 20;

	open_peer(&p, PHASE_IDLE);
	/* Without the right to it the socket is an ordinary one. */
	if (setsockopt(p.host, SOL_SOCKET, SO_SNDBUFFORCE, &room,
		       sizeof(room)) < 0)
		setsockopt(p.host, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	send_job(&p, &job);
	for (int i = 0; i < 20 && channel_phase(p.ch) < PHASE_STARTING; i++) {
		loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
		turn(&p);
	}
	is_int(channel_phase(p.ch), PHASE_STARTING,
	       "all is sent to a machine that takes all at once");
	close_peer(&p);
}

/* --- files of a session ------------------------------------------------------- */

static void on_fs(void *arg, int r, const uint8_t *data, size_t size)
{
	struct peer *p = arg;

	(void)data;
	p->answers++;
	p->answer = r;
	p->answered = size;
	loop_quit(p->loop);
}

static int ask(struct peer *p, enum wire_fs_op op)
{
	char path[] = "f", to[] = "";
	struct wire_fs fs = { .op = op, .path = path, .to = to,
			      .length = op == WIRE_FS_READ ? 4 : 0 };

	return channel_fs(p->ch, &fs, on_fs, p);
}

static void reply(struct peer *p, uint32_t id, uint32_t error, size_t size)
{
	uint8_t room[64] = { 0 };
	struct wire_writer w = { .p = room, .size = 8 };

	wire_put_u32(&w, id);
	wire_put_u32(&w, error);
	put(p, WIRE_FS_REPLY, 0, room, 8 + size);
}

/* A step whose program runs. */
static void start_step(struct peer *p, struct vm_job *job)
{
	static const char *argv[] = { "code.py" };

	open_peer(p, PHASE_IDLE);
	job->wire = (struct wire_job){
		.mode = WIRE_MODE_SESSION, .cpus = 1, .processes = 1,
		.memory_bytes = 1, .stdout_limit = 9, .stderr_limit = 99,
		.call = "",
		.argv = { 1, argv },
	};
	channel_job(p->ch, job, &job_events, p);
	loop_timer_set(p->loop, &p->stop, 20 * NS_PER_MS);
	turn(p);
	loop_timer_set(p->loop, &p->stop, 2 * NS_PER_S);
	put(p, WIRE_STARTED, 0, NULL, 0);
	turn(p);
}

static void end_step(struct peer *p, bool lives)
{
	uint8_t room[256];
	struct wire_exit e = { .kind = WIRE_EXIT_CODE, .lives = lives };
	struct wire_writer w = { .p = room, .size = sizeof(room) };

	wire_exit_put(&w, &e);
	put(p, WIRE_EXIT, 0, room, w.used);
	loop_timer_set(p->loop, &p->stop, 20 * NS_PER_MS);
	turn(p);
	loop_timer_set(p->loop, &p->stop, 2 * NS_PER_S);
}

static void test_fs(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	open_peer(&p, PHASE_IDLE);
	is_int(ask(&p, WIRE_FS_STAT), -ESTALE, "no files before a step");
	close_peer(&p);
	start_job(&p, &job);
	is_int(ask(&p, WIRE_FS_STAT), -ESTALE, "nor of a job that is none");
	close_peer(&p);

	start_step(&p, &job);
	is_int(ask(&p, WIRE_FS_READ), 0, "of a step they are asked for");
	is_int(ask(&p, WIRE_FS_UNLINK), 0, "several at once");
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	ok(expect(&p, WIRE_FS) != UINT32_MAX && expect(&p, WIRE_FS) != UINT32_MAX,
	   "both are put");
	reply(&p, 0, 0, 3);
	turn(&p);
	ok(p.answers == 1 && !p.answer && p.answered == 3, "and answered");
	reply(&p, 1, ENOENT, 0);
	turn(&p);
	ok(p.answers == 2 && p.answer == -ENOENT, "in order, or with an errno");
	end_step(&p, true);
	ok(!p.broken && p.finishes == 1, "the step is over");
	is_int(ask(&p, WIRE_FS_READ), 0, "the files are there all the same");
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	loop_timer_set(p.loop, &p.stop, 2 * NS_PER_S);
	reply(&p, 2, 0, 0);
	turn(&p);
	ok(p.answers == 3 && !p.answered, "and empty ones are");
	reply(&p, 3, 0, 0);
	ends(&p, "an answer that nobody asked for");
}

static void test_fs_broken(void)
{
	static const struct {
		uint32_t id, error;
		size_t size;
		const char *name;
	} bad[] = {
		{ 1, 0, 0, "an answer to another question" },
		{ 0, 0, 5, "more than was asked for" },
		{ 0, ENOENT, 1, "data beside an errno" },
		{ 0, 5000, 0, "what is no errno" },
	};
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start_step(&p, &job);
		ask(&p, WIRE_FS_READ);
		loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
		turn(&p);
		loop_timer_set(p.loop, &p.stop, 2 * NS_PER_S);
		reply(&p, bad[i].id, bad[i].error, bad[i].size);
		ends(&p, bad[i].name);
		ok(p.answers == 1 && p.answer == -EIO, "and EIO");
	}
}

static void test_fs_ends(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };
	int r = 0;

	start_step(&p, &job);
	ask(&p, WIRE_FS_READ);
	end_step(&p, false);
	ok(p.answers == 1 && p.answer == -EIO, "the end of its life is EIO");
	is_int(ask(&p, WIRE_FS_READ), -ESTALE, "then there is nothing");
	close_peer(&p);

	start_step(&p, &job);
	for (unsigned i = 0; i < 1000 && !r; i++)
		r = ask(&p, WIRE_FS_READ);
	is_int(r, -EBUSY, "not too much at once");
	channel_free(p.ch);
	p.ch = NULL;
	is_int(p.answers, 512, "and all of it is answered at last");
	close_peer(&p);

	start_step(&p, &job);
	ask(&p, WIRE_FS_READ);
	loop_timer_set(p.loop, &p.stop, 60 * NS_PER_S);
	turn(&p);
	ok(p.answers == 1 && p.answer == -EIO, "silence is EIO");
	ok(p.broken, "and the end: %s", p.sentence);
	close_peer(&p);
}

static void on_chat(struct loop_timer *t)
{
	struct peer *p = t->arg;

	put(p, WIRE_ERR, 0, ".", 1);
	loop_timer_set(p->loop, t, 500 * NS_PER_MS);
}

/* A program's output is no answer. */
static void test_fs_talk(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_step(&p, &job);
	ask(&p, WIRE_FS_READ);
	p.chat = (struct loop_timer){ .fn = on_chat, .arg = &p };
	loop_timer_set(p.loop, &p.chat, 0);
	loop_timer_set(p.loop, &p.stop, 60 * NS_PER_S);
	turn(&p);
	ok(p.answers == 1 && p.answer == -EIO, "who talks and does not answer "
					       "is silent");
	ok(p.broken, "and the end: %s", p.sentence);
	loop_timer_del(&p.chat);
	close_peer(&p);
}

/* The loop is stuck for longer than a machine may be silent. Then the machine answers. */
static void on_stuck(struct loop_timer *t)
{
	struct peer *p = t->arg;

	usleep(3200000);
	if (p->answers)
		put(p, WIRE_STARTED, 0, NULL, 0);
	else
		reply(p, 0, 0, 0);
}

static void test_network(void)
{
	struct wire_route route[WIRE_NETWORK_ROUTES_MAX];
	struct wire_network net = { .flags = WIRE_NETWORK_NAMES, .route = route };
	struct vm_job job = { .stdin_size = 0 };
	struct peer p;

	for (size_t i = 0; i < WIRE_NETWORK_ROUTES_MAX; i++)
		route[i] = (struct wire_route){ .bits = 128, .ip6 = true };
	open_peer(&p, PHASE_IDLE);
	net.ca = "";
	is_int(channel_network(p.ch, &net), 0, "NET is sent before the job");
	send_job(&p, &job);
	is_int(expect(&p, WIRE_NETWORK), 12, "it has flags, no block, no certificate");
	ok(expect(&p, WIRE_JOB) != UINT32_MAX, "and the job comes behind it");
	is_int(channel_network(p.ch, &net), -EINVAL, "a job that was sent gets none");
	put(&p, WIRE_NETWORK_ENDED, 0, NULL, 0);
	turn(&p);
	ok(p.network_ends == 1 && !p.broken,
	   "the end of the network's helper is heard, and the job goes on");
	put(&p, WIRE_NETWORK_ENDED, 0, "x", 1);
	ends(&p, "a NET_ENDED with a payload");
	open_peer(&p, PHASE_IDLE);
	net.route_count = WIRE_NETWORK_ROUTES_MAX;
	is_int(channel_network(p.ch, &net), 0, "the most blocks fit");
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	is_int(expect(&p, WIRE_NETWORK), 12 + 20 * (int)WIRE_NETWORK_ROUTES_MAX,
	       "and each of them is sent");
	close_peer(&p);
}

static void test_lost_time(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_step(&p, &job);
	ask(&p, WIRE_FS_READ);
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	p.chat = (struct loop_timer){ .fn = on_stuck, .arg = &p };
	loop_timer_set(p.loop, &p.chat, 0);
	loop_timer_set(p.loop, &p.stop, 60 * NS_PER_S);
	turn(&p);
	ok(p.answers == 1 && !p.answer && !p.broken,
	   "time in which nobody listened is no silence of the guest's files");
	end_step(&p, true);
	channel_job(p.ch, &job, &job_events, &p);
	loop_timer_set(p.loop, &p.stop, 20 * NS_PER_MS);
	turn(&p);
	loop_timer_set(p.loop, &p.chat, 0);
	loop_timer_set(p.loop, &p.stop, 60 * NS_PER_S);
	turn(&p);
	ok(!p.broken && channel_phase(p.ch) == PHASE_RUNNING,
	   "nor of its program's start");
	loop_timer_del(&p.chat);
	close_peer(&p);
}

static void test_killed_lives(void)
{
	struct peer p;
	struct vm_job job = { .stdin_size = 0 };

	start_step(&p, &job);
	channel_kill(p.ch, WIRE_KILL_ALL, 9);
	end_step(&p, true);
	ok(p.exits == 1 && p.finishes == 11, "a step that was killed is the "
					     "last one of its machine");
	ok(!p.lives, "whatever that says");
	close_peer(&p);
}

int main(void)
{
	test_boot();
	test_limits();
	test_good();
	test_stdin();
	test_open_input();
	test_cancel();
	test_idle();
	test_init_ends();
	test_init_says_much();
	test_failed_text();
	test_slow();
	test_takes_all();
	test_fs();
	test_fs_broken();
	test_fs_ends();
	test_fs_talk();
	test_network();
	test_lost_time();
	test_killed_lives();
	return done_testing();
}
