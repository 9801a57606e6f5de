/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs rounds of heat in PID 1: in the runner itself, which forks for it if it can, then
 * in a warmup program that goes the way of a whole job with frames made here. Blocks until all
 * rounds are over. The port's input is swapped for these frames meanwhile, and what the
 * agent answers is forgotten.
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
#include "guest/run/runner_kind.h"
#include "guest/run/stream.h"
#include "guest/os/sys.h"

#define ROUND_MS 60000
#define REST_MS 12 /* three ticks */

static const char *const heat_env[] = {WIRE_BASE_ENV};
static const char *const warmup_argv[] = {RUNNER_WARMUP_PROGRAM, NULL};

/* The job that says nothing: no limit binds, the clock is as it was. */
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
		.output_limit = 1, /* to look for some is part of every job */
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

/* Makes the program's file in the way in which a job's inputs are made. */
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

/* Empties the pipes and forgets what came. */
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

/* Polls p until end; p[0] must be the port. Return: 0, -ESHUTDOWN (the host
 * has gone), -ETIMEDOUT or an errno. */
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

/* Those that keep secrets draw them anew now rather than in the job. */
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

/* The runner itself answers; its pipes are kept empty meanwhile. */
static int heat_runner(struct agent *a, struct runner *r)
{
	struct port *port = &a->port;
	uint64_t end = sys_now() + ROUND_MS * 1000000ull;
	struct pollfd p[] = {
		{.fd = port->fd}, /* POLLHUP only */
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
	/*
	 * After a fork. The others need it only once, in the template: done in
	 * a clone it makes the host copy all their pages.
	 */
	if (!e && (!a->owned || kind->settles))
		unprotect_memory(r->pid);
	cgroup_mark(&r->cgroup);
	cgroup_mark_code(&r->cgroup, runner_plain_heap(r->kind));
	return e;
}

/* As the host would: a job with one file, then its start. */
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

/* The agent takes the frames for the host's, and nobody hears its answers. */
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

/*
 * A whole job on a process of its own, with its own control group: all that
 * init and the kernel do for one, from JOB to EXIT, but for the interpreter.
 */
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

/* The runner itself runs what most programs do, exactly as in a job, and is
 * gone. */
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

/* text NULL: what is due. */
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
 * The kernel stops its tick when it is idle and starts it again when the host
 * sends something: that has a way of its own, and it is the first of each job.
 */
static void rest(void)
{
	poll(NULL, 0, REST_MS);
}

/*
 * A runner that learns keeps what each round has taught its engine. The others heat in
 * a child or in a warmup program, of which only the kernel keeps something, and all of that
 * the first time; translated code is not in a template.
 */
static uint32_t rounds_of(const struct agent *a, const struct runner *r,
			  uint32_t rounds)
{
	return a->owned || runner_kinds[r->kind].learns || !rounds ? rounds : 1;
}

int heat_runners(struct agent *a, uint32_t mask, uint32_t rounds)
{
	int heated = 0;

	for (int i = 0; !mask && i < WIRE_RUN_MAX; i++)
		if (a->owned && a->runners[i].pid && !a->runners[i].own)
			own_runner(&a->runners[i]); /* else the job does it */
	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		const struct runner_kind *kind = &runner_kinds[i];
		struct runner *r = &a->runners[i];
		bool restored = r->heats; /* the template was heated before */
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
	unprotect_self(); /* it has forked the ghosts */
	if (heated)
		rest();
	return heated;
}
