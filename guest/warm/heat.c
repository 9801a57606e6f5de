/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs rounds of heat in PID 1. Each round first runs in the runner itself,
 * which forks for it if it can, then in the warm-up program, which goes through all steps
 * of a job, with frames made here. Blocks until all rounds are over. Meanwhile
 * the port's input is replaced by these frames, and the agent's answers are
 * dropped.
 */
#include "heat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/buf.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "guest/os/environment.h"
#include "unprotect.h"
#include "guest/net/net.h"
#include "guest/net/net_route.h"
#include "guest/run/runner_kind.h"
#include "guest/run/stream.h"
#include "guest/os/sys.h"

#define ROUND_MS 60000
#define REST_MS 12 /* three ticks */

static const char *const heat_env[] = {WIRE_BASE_ENV};
static const char *const warmup_argv[] = {RUNNER_WARMUP_PROGRAM, NULL};

/* Fills in a job without effect: no limit applies, the clock is unchanged. */
static void describe(enum wire_runner kind, const char *const *argv,
		     struct wire_job *ret_job)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret_job = (struct wire_job){
		.runner = kind,
		.cpus = UINT32_MAX,
		.processes = 4096,
		.memory_bytes = 512ull << 20,
		.stdout_limit = UINT64_MAX,
		.stderr_limit = UINT64_MAX,
		/* a limit, so that the round also searches for output */
		.output_limit = 1,
		.output_files = 1,
		.realtime_ns = (uint64_t)now.tv_sec * 1000000000u +
			       (uint64_t)now.tv_nsec,
		.call = "",
		.argv = {argv[1] ? 2 : 1, (const char **)(uintptr_t)argv},
		.envp = {ARRAY_SIZE(heat_env),
			 (const char **)(uintptr_t)heat_env},
	};
}

static void file_head(struct wire_writer *w, const struct heat_program *n)
{
	wire_put_u32(w, 0644);
	wire_put_u64(w, strlen(n->text));
	wire_put_time(w, (struct wire_time){0});
	wire_put_str(w, n->file);
}

/* Makes the program's file as a job's inputs are made. */
static int put_file(struct files *files, const struct heat_program *n)
{
	uint8_t bytes[64];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	int r;

	file_head(&w, n);
	r = files_begin(files, WIRE_FILE_REG, bytes, w.used, NULL);
	if (!r)
		r = files_data(files, n->text, strlen(n->text), NULL);
	return r ? r : files_end(files, NULL);
}

static void take_file(struct files *files, const struct heat_program *n)
{
	unlinkat(files->home, n->file, 0);
	files->count = 0;
}

/* Empties the pipes and drops the bytes. */
static void drain(struct runner *r, struct port *port)
{
	for (int i = PIPE_OUT; i < PIPE_MAX; i++) {
		struct stream s = {.fd = r->pipe[i], .type = WIRE_OUT,
				   .limit = UINT64_MAX};

		while (stream_pump(&s, port) == 0 && s.bytes) {
			port_forget(port);
			s.bytes = 0;
		}
	}
}

/* Polls p until end; p[0] must be the port. Return: 0, -ESHUTDOWN (the host has
 * closed it), -ETIMEDOUT or an errno. */
static int wait_until(struct pollfd *p, int count, uint64_t end)
{
	uint64_t now = sys_now();

	if (now >= end)
		return -ETIMEDOUT;
	if (poll(p, (nfds_t)count, (int)((end - now) / 1000000u) + 1) < 0 &&
	    errno != EINTR)
		return -errno;
	return p[0].revents & POLLHUP ? -ESHUTDOWN : 0;
}

/* Makes a runner draw its secrets now, rather than in the job. */
static int own_runner(struct runner *r)
{
	static const char *const argv[] = {"", NULL};
	struct wire_job job;
	int e;

	if (!runner_kinds[r->kind].secrets)
		return 0;
	describe(WIRE_RUN_EXEC, argv, &job);
	e = runner_send(r, "own", &job);
	if (!e)
		e = runner_wait(r->control, ROUND_MS);
	r->own = !e;
	return e;
}

/* Heats in the runner itself, and empties its pipes meanwhile. */
static int heat_runner(struct agent *a, struct runner *r)
{
	struct port *port = &a->port;
	uint64_t end = sys_now() + ROUND_MS * 1000000ull;
	struct pollfd p[] = {
		{.fd = port->fd}, /* polled only for POLLHUP */
		{.fd = r->control, .events = POLLIN},
		{.fd = r->pipe[PIPE_OUT], .events = POLLIN},
		{.fd = r->pipe[PIPE_ERR], .events = POLLIN},
	};
	const struct runner_kind *kind = &runner_kinds[r->kind];
	struct wire_job job;
	int e;

	describe(WIRE_RUN_EXEC, kind->nothing.argv, &job);
	e = a->owned && !r->own ? own_runner(r) : 0;
	if (!e && !kind->learns)
		e = cgroup_lend(r->pid);
	if (!e)
		e = runner_send(r, "heat", &job);
	while (!e && !p[1].revents) {
		e = wait_until(p, ARRAY_SIZE(p), end);
		drain(r, port);
	}
	if (!e)
		e = runner_wait(r->control, 0);
	if (!e && !kind->learns)
		e = cgroup_take_back(&r->cgroup, r->pid);
	/* Rewrite write-protected pages in a clone only for a runner that forks its
	 * rounds (Python). The others need it once, in the template: in a clone it
	 * would make the host copy all their pages. */
	if (!e && (!a->owned || kind->settles))
		unprotect_memory(r->pid);
	cgroup_mark(&r->cgroup);
	cgroup_mark_code(&r->cgroup, runner_plain_heap(r->kind));
	return e;
}

/* Adds a frame, as the host would send it. */
static int add_frame(struct buf *b, enum wire_type type, uint8_t arg,
		     const void *payload, size_t length)
{
	uint8_t header[WIRE_HEADER_SIZE];

	wire_header_put(header, (uint32_t)length, (uint8_t)type, arg);
	buf_add(b, header, sizeof(header));
	return length ? buf_add(b, payload, length) : b->failed;
}

static int add_job(struct buf *b, enum wire_runner kind,
		   const char *const *argv)
{
	struct wire_job spec;
	struct wire_writer count = {NULL, 0, 0};
	auto_free uint8_t *bytes = NULL;

	describe(kind, argv, &spec);
	wire_job_put(&count, &spec);
	bytes = malloc(count.used);
	if (!bytes)
		return -ENOMEM;
	struct wire_writer w = {bytes, count.used, 0};

	wire_job_put(&w, &spec);
	return add_frame(b, WIRE_JOB, 0, bytes, w.used);
}

static int add_frames(struct buf *b, enum wire_runner kind,
		      const char *const *argv, const struct heat_program *n)
{
	uint8_t head[64];
	struct wire_writer w = {head, sizeof(head), 0};
	int e = add_job(b, kind, argv);

	if (e)
		return e;
	file_head(&w, n);
	add_frame(b, WIRE_FILE, WIRE_FILE_REG, head, w.used);
	add_frame(b, WIRE_FILE_DATA, 0, n->text, strlen(n->text));
	add_frame(b, WIRE_FILE_END, 0, NULL, 0);
	add_frame(b, WIRE_RUN, 0, NULL, 0);
	return add_frame(b, WIRE_STDIN_END, 0, NULL, 0);
}

/* Runs a job from these frames: the agent takes them as the host's, and its
 * answers are dropped. */
static int run_warmup_program(struct agent *a, struct job *job, struct buf *frames)
{
	uint64_t end = sys_now() + ROUND_MS * 1000000ull;
	struct port real = a->port;
	int e = 0;

	a->current = job;
	a->port.in = (uint8_t *)frames->data;
	a->port.in_at = 0;
	a->port.in_size = a->port.in_end = frames->len;
	a->starved = true;
	while (!e && job->phase != JOB_DONE)
		e = agent_turn(a, end, NULL);
	port_forget(&a->port);
	a->port.in = real.in;
	a->port.in_at = real.in_at;
	a->port.in_size = real.in_size;
	a->port.in_end = real.in_end;
	a->current = &a->job;
	return e == -EPIPE ? -ESHUTDOWN : e;
}

/* Runs a whole job in a process of its own, with its own control group: all
 * steps of init and the kernel from JOB to EXIT, without the interpreter. */
static int heat_warmup_program(struct agent *a, const char *const *argv,
			       const struct heat_program *n)
{
	struct runner *r = &a->warmup_program[WIRE_RUN_EXEC];
	auto_buf struct buf frames = {0};
	struct job job;
	int e = job_open(&job, NULL);

	if (e)
		return e;
	e = runner_start(r, WIRE_RUN_EXEC, "job-heat", NULL);
	if (!e)
		e = runner_wait(r->control, ROUND_MS);
	if (!e)
		e = add_frames(&frames, WIRE_RUN_EXEC, argv, n);
	if (!e)
		e = run_warmup_program(a, &job, &frames);
	if (e && r->pid > 0)
		kill(r->pid, SIGKILL);
	take_file(&job.files, n);
	job_close(&job);
	runner_close(r);
	return e;
}

/* Runs the usual program in the runner itself, exactly as in a job; the runner
 * ends with it. */
static int spend(struct agent *a, struct runner *r)
{
	const struct runner_kind *kind = &runner_kinds[r->kind];
	struct heat_program n = kind->nothing;
	auto_buf struct buf frames = {0};
	struct job job;
	int e = job_open(&job, NULL);

	if (e)
		return e;
	if (kind->usual)
		n.text = kind->usual;
	e = add_frames(&frames, r->kind, n.argv, &n);
	if (!e) {
		a->spends = true;
		e = run_warmup_program(a, &job, &frames);
		a->spends = false;
	}
	take_file(&job.files, &n);
	job_close(&job);
	return e;
}

/* Runs one round. text NULL: the runner's usual program. */
static int heat_round(struct agent *a, struct runner *r, const char *text)
{
	const struct runner_kind *kind = &runner_kinds[r->kind];
	struct heat_program n = kind->nothing;
	int e;

	if (r->kind == WIRE_RUN_EXEC)
		return heat_warmup_program(a, n.argv, &n);
	if (text)
		n.text = text;
	else if (r->heats && kind->usual)
		n.text = kind->usual;
	e = put_file(&a->job.files, &n);
	if (!e)
		e = heat_runner(a, r);
	take_file(&a->job.files, &n);
	if (e)
		return e;
	r->heats++;
	return heat_warmup_program(a, warmup_argv, &n);
}

/*
 * Waits until the kernel has stopped its tick. It restarts the tick when the
 * host sends something; the emulator then translates that code, which each job
 * needs first.
 */
static void rest(void)
{
	poll(NULL, 0, REST_MS);
}

/*
 * Returns how many rounds to run. A runner that learns keeps what its engine learns in
 * each round. The others heat in a child or in the warm-up program: of that only the
 * kernel keeps something, after the first round. A template holds no translated code,
 * so there one round is enough for them.
 */
static uint32_t rounds_of(const struct agent *a, const struct runner *r,
			  uint32_t rounds)
{
	return a->owned || runner_kinds[r->kind].learns || !rounds ? rounds : 1;
}

int heat_runners(struct agent *a, uint32_t mask, uint32_t rounds)
{
	int heated = 0, cold;

	for (int i = 0; !mask && i < WIRE_RUN_MAX; i++)
		if (a->owned && a->runners[i].pid && !a->runners[i].own)
			/* otherwise the runner would do this when the job comes, and
			 * the job would wait */
			own_runner(&a->runners[i]);
	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		const struct runner_kind *kind = &runner_kinds[i];
		struct runner *r = &a->runners[i];
		bool restored = r->heats; /* heated before, in the template */
		int e = 0;

		if (!(mask & 1u << i) || !r->pid)
			continue;
		if (!rounds)
			e = spend(a, r);
		for (uint32_t n = rounds_of(a, r, rounds); !e && n; n--)
			e = heat_round(a, r, NULL);
		if (!e && restored && rounds > 2 && kind->thorough)
			e = heat_round(a, r, kind->thorough);
		if (e == -ESHUTDOWN)
			return e;
		if (e)
			kill(r->pid, SIGKILL);
		else
			heated |= 1 << i;
	}
	if (!rounds || !mask)
		return heated;
	cold = a->net->on ? 0 : net_route_heat();
	if (cold)
		return cold;
	/* fork() of the warm-up programs has write-protected the pages of PID 1 */
	unprotect_self();
	if (heated)
		rest();
	return heated;
}
