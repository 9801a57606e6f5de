/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of a shared machine as a process may leave it that was taken over: the
 * input is the head of its mux and of a job's replay buffer, byte for byte, then what was on
 * its way, in both directions. What must hold: it is refused, or lanes are claimed and
 * heard; a lane's output is within its job's limit, and nothing comes after its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/channel/lanes.h"
#include "vm/channel/mux.h"

#define LIMIT 5000u /* bytes of each stream */
#define LANES 6u    /* that are tried */
#define ROOM 4096u  /* bytes of each room */
#define TURNS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct user {
	bool over;
	uint64_t bytes[VM_STREAM_MAX];
	struct lane *lane;
};

static struct loop *loop;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_lane_broken(void *arg, enum vm_failure why, const char *sentence,
			   bool eof)
{
	struct user *u = arg;

	(void)eof;
	check(!u->over && why < VM_FAILED_MAX && sentence);
	u->over = true;
}

static void on_lane_end(void *arg)
{
	(void)arg;
}

static const struct channel_events lane_events = {
	.finished = on_lane_end, .broken = on_lane_broken,
};

static void on_broken(void *arg, const char *sentence, bool eof)
{
	bool *over = arg;

	(void)eof;
	check(!*over && sentence);
	*over = true;
}

static void on_heard(void *arg)
{
	(void)arg;
}

static const struct lanes_events events = {
	.heard = on_heard, .broken = on_broken,
};

static int on_open(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	return -ENOENT;
}

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	check(!((struct user *)arg)->over);
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct user *u = arg;

	check(!u->over && data && len);
	u->bytes[s] += len;
	check(u->bytes[s] <= (s == VM_RESULT ? WIRE_RESULT_MAX : LIMIT));
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	check(!((struct user *)arg)->over && e->kind < WIRE_EXIT_KIND_MAX);
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	(void)mode;
	(void)size;
	(void)path;
	(void)target;
	check(!((struct user *)arg)->over && kind < WIRE_FILE_KIND_MAX);
	return -ENOSPC;
}

static int on_data(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	return 0;
}

static int on_file_end(void *arg)
{
	(void)arg;
	return 0;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	(void)files;
	(void)left_out;
	check(!((struct user *)arg)->over);
}

static const struct vm_events job_events = {
	.open_input = on_open, .started = on_started, .output = on_output,
	.exited = on_exited, .file = on_file, .file_data = on_data,
	.file_end = on_file_end, .finished = on_finished,
};

static void on_quit(struct loop_timer *t)
{
	(void)t;
	loop_quit(loop);
}

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

/* Up to size bytes of the input. */
static void take(const uint8_t **data, size_t *left, void *to, size_t size)
{
	size_t n = MIN(size, *left);

	memcpy(to, *data, n);
	*data += n;
	*left -= n;
}

static void hear(struct vm_mux *m, struct vm_replay *t, const uint8_t *news,
		 size_t size)
{
	struct user users[LANES] = { 0 };
	struct loop_timer quit = { .fn = on_quit };
	struct vm_job job = { .wire = { .stdout_limit = LIMIT,
					.stderr_limit = LIMIT,
					.output_limit = LIMIT,
					.output_files = 4 }, .replay = t };
	struct channel *zero;
	struct lanes *lanes;
	bool over = false;
	bool taped = replay_recover_lane(t, m->out.end) == 0 && t->sent;
	int pair[2];

	check(loop_new(&loop) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	check(lanes_adopt(loop, pair[0], m, 1, &events, &over, &lane_events,
			  &users[0], &lanes, &zero) == 0);
	for (unsigned i = 1; i < LANES; i++) {
		bool with = taped && i == t->lane;

		if (lanes_claim(lanes, i, with ? &job : NULL, &job_events,
				&users[i], i & 1, &lane_events, &users[i],
				&users[i].lane) < 0)
			users[i].lane = NULL;
	}
	lanes_go(lanes);
	check(send(pair[1], news, size, MSG_NOSIGNAL) == (ssize_t)size);
	close(pair[1]);
	for (unsigned i = 0; i < TURNS && !over; i++) {
		loop_timer_set(loop, &quit, 0);
		loop_run(loop);
	}
	for (unsigned i = 1; i < LANES; i += 2)
		if (users[i].lane)
			lane_close(users[i].lane);
	channel_free(zero);
	lanes_free(lanes);
	loop_timer_del(&quit);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vm_mux *m;
	static struct vm_replay *t;

	if (!m) {
		m = memory(sizeof(*m));
		t = memory(sizeof(*t));
	}
	memset(m, 0, VM_MUX_HEAD);
	memset(t, 0, VM_REPLAY_HEAD);
	memset(m->in_room, 0, ROOM);
	memset(t->room, 0, ROOM);
	take(&data, &size, m, offsetof(struct vm_mux, heard) + sizeof(m->heard));
	take(&data, &size, &t->lane, sizeof(t->lane));
	take(&data, &size, &t->run_at, sizeof(t->run_at) + sizeof(t->fed_at) +
					      sizeof(t->fed_end));
	take(&data, &size, &t->feed, sizeof(t->feed));
	take(&data, &size, &t->end, sizeof(t->end));
	take(&data, &size, t->point, sizeof(t->point));
	take(&data, &size, t->room, ROOM / 4);
	take(&data, &size, m->in_room, ROOM / 4);
	if (mux_recover(m) == 0)
		hear(m, t, data, MIN(size, (size_t)60000));
	return 0;
}
