/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "stream.h"
#include "sys.h"

#define ROUND_MS 60000

/* What a round runs: the least that still prints. */
struct nothing {
	const char *file, *text;
	const char *argv[3];
};

static const struct nothing nothings[WIRE_RUN_MAX] = {
	[WIRE_RUN_PYTHON] = {"code.py", "print(1)\n", {HOME "/code.py"}},
	[WIRE_RUN_NODE] = {"code.js", "console.log(1)\n", {HOME "/code.js"}},
	[WIRE_RUN_TYPESCRIPT] = {"code.ts", "console.log(1 as number)\n",
				 {HOME "/code.ts"}},
	[WIRE_RUN_EXEC] = {"code.sh", "echo 1\n",
			   {"/bin/bash", HOME "/code.sh"}},
};

static const char *const heat_env[] = {"HOME=" HOME, "LANG=C.UTF-8"};

static void describe(enum wire_runner kind, struct wire_job *ret_job)
{
	const struct nothing *n = &nothings[kind];
	const char **argv = (const char **)(uintptr_t)n->argv;

	*ret_job = (struct wire_job){
		.runner = kind,
		.cpus = UINT32_MAX,
		.processes = 4096,
		.memory_bytes = 1ull << 40,
		.call = "",
		.argv = {n->argv[1] ? 2 : 1, argv},
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

/* Waits until watched is readable, with the pipes kept empty. */
static int wait_for(struct runner *r, struct port *port, int watched)
{
	uint64_t end = sys_now() + ROUND_MS * 1000000ull;
	struct pollfd p[] = {
		{.fd = watched, .events = POLLIN},
		{.fd = port->fd}, /* POLLHUP only */
		{.fd = r->pipe[PIPE_OUT], .events = POLLIN},
		{.fd = r->pipe[PIPE_ERR], .events = POLLIN},
	};

	for (;;) {
		uint64_t now = sys_now();

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(p, ARRAY_SIZE(p),
			 (int)((end - now) / 1000000u) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
		if (p[1].revents & POLLHUP)
			return -ESHUTDOWN;
		drain(r, port);
		if (p[0].revents)
			return 0;
	}
}

/* The runner itself answers. */
static int heat_runner(struct runner *r, struct port *port,
		       const struct wire_job *job)
{
	int e = runner_send(r->control, "heat", job);

	if (!e)
		e = wait_for(r, port, r->control);
	if (!e)
		e = runner_wait(r->control, 0);
	return e;
}

/* A second process of its kind runs to its end. */
static int heat_spare(struct runner *r, struct port *port,
		      const struct wire_job *job)
{
	auto_close int control = -1;
	pid_t pid = runner_spare(r, &control, NULL);
	int e, status;

	if (pid < 0)
		return pid;
	auto_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	e = pidfd < 0 ? -errno : runner_wait(control, ROUND_MS);
	if (!e)
		e = runner_send(control, "run", job);
	if (!e)
		e = wait_for(r, port, pidfd);
	if (e)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	drain(r, port);
	return e;
}

static int heat_round(struct runner *r, struct files *files,
		      struct port *port)
{
	const struct nothing *n = &nothings[r->kind];
	struct wire_exit usage;
	struct wire_job job;
	int e;

	describe(r->kind, &job);
	e = cgroup_limit(&r->cgroup, &job, NULL);
	if (!e)
		e = put_file(files, n);
	if (!e) {
		cgroup_mark(&r->cgroup);
		e = r->kind == WIRE_RUN_EXEC ? heat_spare(r, port, &job)
					     : heat_runner(r, port, &job);
		cgroup_usage(&r->cgroup, &usage);
	}
	take_file(files, n);
	return e;
}

int heat_runners(struct runner *runners, struct files *files,
		 struct port *port, uint32_t mask, uint32_t rounds)
{
	int heated = 0;

	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		struct runner *r = &runners[i];
		int e = 0;

		if (!(mask & 1u << i) || !r->pid)
			continue;
		for (uint32_t n = 0; !e && n < rounds; n++)
			e = heat_round(r, files, port);
		if (e == -ESHUTDOWN)
			return e;
		if (e)
			kill(r->pid, SIGKILL);
		else
			heated |= 1 << i;
	}
	return heated;
}
