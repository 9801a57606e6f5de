/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest that says anything at any moment. The input is a list of records:
 * what to do, and for a frame its type, argument and payload; so that most of
 * it gets past the header. What must hold: whatever the owner is told is in
 * order and within what the job was promised, each question about a file is
 * answered once, and behind the end there is nothing.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/channel/channel.h"

#define LIMIT 300u      /* bytes of each stream, and of the tree */
#define FILES 4u
#define STDIN_SIZE 100u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct loop *loop;
	struct channel *ch;
	struct loop_timer quit;
	struct vm_job job;
	int fd;                 /* the guest's end */
	int feed;               /* what feeds its program, or -1 */
	bool feed_ends;
	bool over;              /* broken or finished: no event may follow */
	bool has_job, started, exited, lives, killed, in_file;
	uint64_t bytes[VM_STREAM_MAX], tree, file_left;
	unsigned files, left, asked, answered;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_hello(void *arg, const char *kernel, const char *image)
{
	check(!((struct run *)arg)->over && kernel && image);
}

static void on_number(void *arg, uint32_t runners)
{
	(void)runners;
	check(!((struct run *)arg)->over);
}

static void on_ready(void *arg, uint32_t runners, uint32_t walls,
		     const char *cold)
{
	check(wire_cold_ok(cold));
	(void)walls;
	on_number(arg, runners);
}

static void on_end(void *arg)
{
	struct run *r = arg;

	check(!r->over && !r->has_job);
	r->over = true;
}

static void on_lives(void *arg)
{
	check(!((struct run *)arg)->over && ((struct run *)arg)->lives);
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct run *r = arg;

	(void)eof;
	check(!r->over && why < VM_FAILED_MAX);
	for (const char *p = sentence; *p; p++)
		check((unsigned char)*p >= ' ' && *p != 0x7f);
	r->over = true;
}

static const struct channel_events channel_events = {
	.hello = on_hello, .ready = on_ready, .heated = on_number,
	.finished = on_end, .lives = on_lives, .broken = on_broken,
};

/* Open standard input: some bytes, and the end if that is wanted. */
static int open_feed(struct run *r)
{
	static const char some[STDIN_SIZE];
	int pair[2];

	fd_close(&r->feed);
	check(pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0 &&
	      write(pair[1], some, sizeof(some)) == sizeof(some));
	r->feed = pair[1];
	if (r->feed_ends)
		fd_close(&r->feed);
	return pair[0];
}

static int on_open(void *arg, unsigned i)
{
	struct run *r = arg;
	int fd;

	check(i <= 1);
	if (i && r->job.stdin_open)
		return open_feed(r);
	fd = memfd_create("input", MFD_CLOEXEC);
	check(fd >= 0 && ftruncate(fd, STDIN_SIZE) == 0);
	return fd;
}

static void on_started(void *arg, uint32_t pid)
{
	struct run *r = arg;

	(void)pid;
	check(!r->over && r->has_job && !r->started);
	r->started = true;
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct run *r = arg;

	check(!r->over && r->started && !r->exited && data && len);
	r->bytes[s] += len;
	check(r->bytes[s] <= (s == VM_RESULT ? WIRE_RESULT_MAX : LIMIT));
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct run *r = arg;

	check(!r->over && r->has_job && !r->exited);
	check(e->kind < WIRE_EXIT_KIND_MAX && e->value < 256 && e->lives < 2);
	check(!e->lives || !r->killed);
	r->exited = true;
	r->lives = e->lives;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	struct run *r = arg;

	check(!r->over && r->exited && !r->in_file);
	check(kind < WIRE_FILE_KIND_MAX && !target == (kind != WIRE_FILE_LINK));
	if (kind == WIRE_FILE_OMITTED) {
		check(mode < WIRE_OMITTED_MAX && *path);
		check(++r->left <= WIRE_OMITTED_TOLD);
		return 0;
	}
	check(wire_path_ok(path) && mode <= 07777);
	check(!target || wire_link_ok(wire_path_depth(path), target));
	check(kind == WIRE_FILE_REG || !size);
	r->tree += size;
	check(r->tree <= LIMIT && ++r->files <= FILES);
	r->file_left = size;
	r->in_file = kind == WIRE_FILE_REG && path[0] != 'x';
	return path[0] == 'x' ? -EEXIST : 0; /* then nothing of it follows */
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	struct run *r = arg;

	check(!r->over && r->in_file && data && len && len <= r->file_left);
	r->file_left -= len;
	return 0;
}

static int on_file_end(void *arg)
{
	struct run *r = arg;

	check(!r->over && r->in_file && !r->file_left);
	r->in_file = false;
	return 0;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct run *r = arg;

	(void)left_out;
	check(!r->over && r->exited && !r->in_file && files == r->files);
	r->has_job = false;
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .file = on_file, .file_data = on_file_data,
	.file_end = on_file_end, .finished = on_finished,
};

static void on_fs(void *arg, int result, const uint8_t *data, size_t size)
{
	struct run *r = arg;

	r->answered++;
	check(r->answered <= r->asked);
	check(result < 0 ? result >= -4095 && !size
			 : data && size <= WIRE_PAYLOAD_MAX);
}

static void on_quit(struct loop_timer *t)
{
	loop_quit(((struct run *)t->arg)->loop);
}

/* Lets the host take what was said, and takes what it says. */
static void turn(struct run *r)
{
	char block[65536];

	/* A timer, which fires when the sockets have been looked at: a call that
	 * was posted runs before. */
	r->quit = (struct loop_timer){ .fn = on_quit, .arg = r };
	loop_timer_set(r->loop, &r->quit, 0);
	loop_run(r->loop);
	while (r->fd >= 0 &&
	       recv(r->fd, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
}

/* how: bits: a step; with open standard input; which has an end. */
static void begin_job(struct run *r, unsigned how)
{
	static const char *argv[] = { "code.py" };
	static const struct vm_input input = {
		.path = "data", .kind = WIRE_FILE_REG, .size = STDIN_SIZE,
	};

	if (r->over || r->has_job || channel_phase(r->ch) != PHASE_IDLE)
		return;
	r->job = (struct vm_job){
		.wire = {
			.mode = how & 1 ? WIRE_MODE_SESSION : WIRE_MODE_SCRIPT,
			.cpus = 1, .processes = 1, .memory_bytes = 1,
			.stdout_limit = LIMIT, .stderr_limit = LIMIT,
			.output_limit = LIMIT, .output_files = FILES,
			.call = "", .argv = { 1, argv },
		},
		.inputs = &input, .input_count = 1,
		.stdin_size = how & 2 ? 0 : STDIN_SIZE,
		.stdin_open = how & 2,
	};
	r->feed_ends = how & 4;
	r->has_job = true;
	r->started = r->exited = r->lives = r->killed = false;
	memset(r->bytes, 0, sizeof(r->bytes));
	r->tree = r->files = 0;
	channel_job(r->ch, &r->job, &job_events, r);
}

static void end_job(struct run *r, enum wire_kill_scope scope, unsigned sig)
{
	enum channel_phase phase = channel_phase(r->ch);

	if (scope == WIRE_KILL_ALL && sig == 9 &&
	    (phase == PHASE_STARTING || phase == PHASE_RUNNING))
		r->killed = true; /* it has no further step */
	channel_kill(r->ch, scope, sig);
}

static void ask(struct run *r, enum wire_fs_op op)
{
	char path[] = "f", to[] = "";
	struct wire_fs fs = {
		.op = op % WIRE_FS_RENAME, .path = path, .to = to,
		.length = op == WIRE_FS_READ ? 4 : 0,
	};

	r->asked++; /* no answer comes from inside the call */
	if (channel_fs(r->ch, &fs, on_fs, r) < 0)
		r->asked--;
}

static void say(struct run *r, uint8_t type, uint8_t arg, const uint8_t *data,
		size_t size)
{
	uint8_t frame[WIRE_HEADER_SIZE + 255];

	wire_header_put(frame, (uint32_t)size, type, arg);
	memcpy(frame + WIRE_HEADER_SIZE, data, size);
	if (r->fd >= 0 && send(r->fd, frame, WIRE_HEADER_SIZE + size,
			       MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		fd_close(&r->fd);
}

/* One record. Return: its bytes. */
static size_t act(struct run *r, const uint8_t *data, size_t size)
{
	uint8_t what = data[0], arg = size > 1 ? data[1] : 0;
	size_t length = size > 2 ? data[2] : 0;

	length = MIN(length, size - MIN(size, (size_t)3));
	if (what < WIRE_TYPE_MAX) {
		say(r, what, arg, data + 3, length);
		return MIN(size, 3 + length);
	}
	if (what < 100)
		begin_job(r, what);
	else if (what < 120)
		end_job(r, what & 1, what & 2 ? 9 : 15);
	else if (what < 140)
		ask(r, what - 120);
	else if (what < 160)
		channel_hold(r->ch, what & 1);
	else if (what == 160)
		channel_heat(r->ch, 1, 1);
	else if (what < 200)
		turn(r);
	else if (what == 255)
		fd_close(&r->fd);
	else if (r->fd >= 0 && /* no frame at all, or its half */
		 send(r->fd, data, MIN(size, (size_t)(what - 199)),
		      MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		fd_close(&r->fd);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .fd = -1, .feed = -1 };
	int pair[2];

	if (!size)
		return 0;
	check(loop_new(&r.loop) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	r.fd = pair[1];
	check(channel_new(r.loop, pair[0], data[0] & 1 ? PHASE_BOOT : PHASE_IDLE,
			  1, &channel_events, &r, &r.ch) == 0);
	data++;
	size--;
	while (size && !r.over) {
		size_t n = act(&r, data, size);

		data += n;
		size -= n;
	}
	turn(&r);
	fd_close(&r.fd);
	turn(&r);
	channel_free(r.ch);
	fd_close(&r.feed);
	check(r.answered == r.asked);
	loop_free(r.loop);
	return 0;
}
