/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "settle.h"
#include "stream.h"
#include "sys.h"

#define ROUND_MS 60000

/* What a round runs: the least that still prints. */
struct nothing {
	const char *file, *text;
	const char *const argv[3];
};

static const struct nothing nothings[WIRE_RUN_MAX] = {
	[WIRE_RUN_PYTHON] = {"code.py", "print(1)\n", {HOME "/code.py"}},
	[WIRE_RUN_NODE] = {"code.js", "console.log(1)\n", {HOME "/code.js"}},
	[WIRE_RUN_TYPESCRIPT] = {"code.ts", "console.log(1 as number)\n",
				 {HOME "/code.ts"}},
	[WIRE_RUN_BASH] = {"code.sh", "echo 1\n", {HOME "/code.sh"}},
	[WIRE_RUN_EXEC] = {"code.sh", "echo 1\n",
			   {"/bin/bash", HOME "/code.sh"}},
};

static const char *const heat_env[] = {"HOME=" HOME, "LANG=C.UTF-8"};
static const char *const ghost_argv[] = {RUNNER_GHOST, NULL};

/* The job that says nothing: no limit binds, the clock is as it was. */
static void describe(const char *const *argv, struct wire_job *ret_job)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret_job = (struct wire_job){
		.runner = WIRE_RUN_EXEC,
		.cpus = UINT32_MAX,
		.processes = 4096,
		.memory_bytes = 1ull << 40,
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

/* Makes the program's file in the way in which a job's inputs are made. */
static int put_file(struct files *files, const struct nothing *n)
{
	uint8_t bytes[64];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	size_t length = strlen(n->text);
	int r;

	wire_put_u32(&w, 0644);
	wire_put_u64(&w, length);
	wire_put_str(&w, n->file);
	r = files_begin(files, WIRE_FILE_REG, bytes, w.used, NULL);
	if (!r)
		r = files_data(files, n->text, length, NULL);
	return r ? r : files_end(files, NULL);
}

static void take_file(struct files *files, const struct nothing *n)
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

	if (r->kind == WIRE_RUN_BASH || r->kind == WIRE_RUN_EXEC)
		return 0;
	describe(argv, &job);
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
	struct wire_job job;
	int e;

	describe(nothings[r->kind].argv, &job);
	e = a->owned && !r->own ? own_runner(r) : 0;
	if (!e)
		e = runner_send(r, "heat", &job);
	while (!e && !p[1].revents) {
		e = wait_until(p, ARRAY_SIZE(p), end);
		drain(r, port);
	}
	if (!e)
		e = runner_wait(r->control, 0);
	/*
	 * Python has forked. The others need it only once, in the template:
	 * done in a clone it makes the host copy all their pages.
	 */
	if (!e && (!a->owned || r->kind == WIRE_RUN_PYTHON))
		settle_memory(r->pid);
	cgroup_mark(&r->cgroup);
	return e;
}

/* As the host would: the job, then its start. */
static int begin_ghost(struct agent *a, struct job *job,
		       const char *const *argv)
{
	struct wire_job spec;
	struct wire_writer count = {NULL, 0, 0};
	struct frame frame = {.header = {.type = WIRE_JOB}};
	auto_free uint8_t *bytes = NULL;
	int e;

	describe(argv, &spec);
	wire_job_put(&count, &spec);
	bytes = malloc(count.used);
	if (!bytes)
		return -ENOMEM;
	struct wire_writer w = {bytes, count.used, 0};

	wire_job_put(&w, &spec);
	frame.payload = bytes;
	frame.header.length = (uint32_t)w.used;
	/* Its runner is found as a real one is. */
	e = job_begin(job, &a->port, a->ghost, &frame, NULL);
	if (!e)
		e = job_run(job, &a->port, &frame, NULL);
	if (!e)
		e = job_stdin(job, &a->port,
			      &(struct frame){.header.type = WIRE_STDIN_END},
			      NULL);
	return e ? e : job_launch(job, &a->port, NULL);
}

static int follow_ghost(struct agent *a, struct job *job)
{
	uint64_t end = sys_now() + ROUND_MS * 1000000ull;
	struct pollfd p[2 + JOB_POLL_MAX] = {
		{.fd = a->port.fd},
		{.fd = a->children, .events = POLLIN},
	};
	int e = 0;

	while (!e && job->phase != JOB_DONE) {
		int n = 2 + job_poll(job, &a->port, p + 2);

		e = wait_until(p, n, end);
		if (!e && p[1].revents)
			agent_reap(a);
		if (!e)
			e = job_step(job, &a->port);
		port_forget(&a->port);
	}
	return e;
}

/*
 * A whole job on a process of its own, with its own control group: all that
 * init and the kernel do for one, from JOB to EXIT, but for the interpreter.
 */
static int heat_ghost(struct agent *a, const char *const *argv)
{
	struct job job;
	int e = job_open(&job, NULL);

	if (e)
		return e;
	e = runner_start(&a->ghost[WIRE_RUN_EXEC], WIRE_RUN_EXEC, "heat", NULL);
	if (!e)
		e = runner_wait(a->ghost[WIRE_RUN_EXEC].control, ROUND_MS);
	a->current = &job;
	if (!e)
		e = begin_ghost(a, &job, argv);
	if (!e)
		e = follow_ghost(a, &job);
	a->current = &a->job;
	port_forget(&a->port);
	if (e && a->ghost[WIRE_RUN_EXEC].pid > 0)
		kill(a->ghost[WIRE_RUN_EXEC].pid, SIGKILL);
	job_close(&job);
	runner_close(&a->ghost[WIRE_RUN_EXEC]);
	return e;
}

static int heat_round(struct agent *a, struct runner *r)
{
	const struct nothing *n = &nothings[r->kind];
	int e = put_file(&a->job.files, n);

	if (!e && r->kind == WIRE_RUN_EXEC)
		e = heat_ghost(a, n->argv);
	else if (!e)
		e = heat_runner(a, r);
	take_file(&a->job.files, n);
	if (!e && r->kind != WIRE_RUN_EXEC)
		e = heat_ghost(a, ghost_argv);
	return e;
}

int heat_runners(struct agent *a, uint32_t mask, uint32_t rounds)
{
	int heated = 0;

	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		struct runner *r = &a->runners[i];
		int e = 0;

		if (!(mask & 1u << i) || !r->pid)
			continue;
		for (uint32_t n = 0; !e && n < rounds; n++)
			e = heat_round(a, r);
		if (e == -ESHUTDOWN)
			return e;
		if (e)
			kill(r->pid, SIGKILL);
		else
			heated |= 1 << i;
	}
	settle_self(); /* it has forked the ghosts */
	return heated;
}
