/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay buffer as a process may leave it that was taken over: the input is its head, byte
 * for byte, then what its room begins with; what is behind NEWS is still in the
 * socket. What must hold: it is refused, or heard to an end; nothing is beyond the
 * limits of the job, and nothing comes after that end.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/channel/channel.h"
#include "vm/channel/replay.h"

#define LIMIT 5000u /* bytes of each stream, and of the tree */
#define FILES 4u
#define NEWS 4096u  /* bytes of the room; the rest is told now */
#define TURNS 50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct loop *loop;
	struct loop_timer quit;
	bool over, exited;
	uint64_t bytes[VM_STREAM_MAX], tree;
	unsigned settles;
	struct channel *ch;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct run *r = arg;

	(void)eof;
	check(!r->over && why < VM_FAILED_MAX && sentence);
	r->over = true;
}

static void on_end(void *arg)
{
	struct run *r = arg;

	check(r->over);
}

static void on_heated(void *arg, uint32_t runners)
{
	(void)runners;
	check(!((struct run *)arg)->over);
}

static const struct channel_events channel_events = {
	.heated = on_heated, .finished = on_end, .broken = on_broken,
};

static void on_started(void *arg, uint32_t pid)
{
	(void)pid;
	check(!((struct run *)arg)->over);
}

static int on_output(void *arg, enum vm_stream s, const void *data, size_t len)
{
	struct run *r = arg;
	struct vm_replay_flow flow = { { 0 }, { 0 } };

	check(!r->over && !r->exited && data && len);
	r->bytes[s] += len;
	check(r->bytes[s] <= (s == VM_RESULT ? WIRE_RESULT_MAX : LIMIT));
	channel_mark(r->ch, &flow); /* inside a frame: no point */
	return 0;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct run *r = arg;

	check(!r->over && !r->exited && e->kind < WIRE_EXIT_KIND_MAX);
	r->exited = true;
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	struct run *r = arg;

	check(!r->over && r->exited && kind < WIRE_FILE_KIND_MAX);
	check(!target == (kind != WIRE_FILE_LINK));
	if (kind == WIRE_FILE_OMITTED)
		return 0;
	check(wire_path_ok(path) && mode <= 07777);
	r->tree += size;
	check(r->tree <= LIMIT);
	return 0;
}

static int on_data(void *arg, const void *data, size_t len)
{
	check(!((struct run *)arg)->over && data && len);
	return 0;
}

static int on_file_end(void *arg)
{
	check(!((struct run *)arg)->over);
	return 0;
}

static bool on_behind(void *arg)
{
	struct run *r = arg;
	struct vm_replay_flow flow = { { 0 }, { 0 } };

	channel_mark(r->ch, &flow);
	channel_commit_checkpoint(r->ch);
	return r->settles++ % 2;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct run *r = arg;

	(void)left_out;
	check(!r->over && r->exited && files <= FILES);
	r->over = true;
}

static const struct vm_events job_events = {
	.started = on_started, .output = on_output, .exited = on_exited,
	.file = on_file, .file_data = on_data, .file_end = on_file_end,
	.behind = on_behind, .finished = on_finished,
};

static void on_quit(struct loop_timer *t)
{
	loop_quit(((struct run *)t->arg)->loop);
}

static void hear(struct vm_replay *t, const uint8_t *news, size_t size)
{
	struct run r = { .quit = { .fn = on_quit, .arg = &r } };
	struct vm_job job = { .wire = { .stdout_limit = LIMIT,
					.stderr_limit = LIMIT,
					.output_limit = LIMIT,
					.output_files = FILES },
			      .stdin_size = 100, .replay = t };
	int pair[2];

	replay_is_whole(t, false);
	replay_is_whole(t, true);
	check(loop_new(&r.loop) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	check((replay_checkpoint(t)->phase == PHASE_IDLE
		       ? channel_adopt_idle(r.loop, pair[0], 1, &channel_events, &r, t,
					    &r.ch)
		       : channel_adopt(r.loop, pair[0], 1, &channel_events, &r, &job,
				       &job_events, &r, &r.ch)) == 0);
	check(send(pair[1], news, size, MSG_NOSIGNAL) == (ssize_t)size);
	close(pair[1]);
	for (unsigned i = 0; i < TURNS && !r.over; i++) {
		loop_timer_set(r.loop, &r.quit, 0);
		loop_run(r.loop);
	}
	channel_free(r.ch);
	loop_free(r.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vm_replay *t;
	size_t head = MIN(size, (size_t)VM_REPLAY_HEAD), room;

	if (!t)
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(t != MAP_FAILED);
	memset(t, 0, VM_REPLAY_HEAD);
	memcpy(t, data, MIN(head, offsetof(struct vm_replay, point) +
				  sizeof(t->point)));
	data += head;
	size -= head;
	room = MIN(size, (size_t)NEWS);
	memset(t->room, 0, NEWS);
	memcpy(t->room, data, room);
	if (replay_recover(t) == 0)
		hear(t, data + room, MIN(size - room, (size_t)60000));
	return 0;
}
