/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "clone.h"
#include "collect.h"
#include "layout/base/cleanup.h"
#include "sys.h"

int job_open(struct job *job, struct err *err)
{
	memset(job, 0, sizeof(*job));
	for (int i = 0; i < STREAM_MAX; i++)
		job->stream[i].fd = -1;
	if (input_open(&job->input, -1))
		return err_set(err, -ENOMEM, "no memory for the input");
	return files_open(&job->files, err);
}

void job_close(struct job *job)
{
	for (int i = 0; i < STREAM_MAX; i++)
		fd_close(&job->stream[i].fd);
	fd_close(&job->input.fd);
	free(job->input.bytes);
	fd_close(&job->files.home);
	fd_close(&job->files.fd);
	free(job->files.list);
	free(job->files.only);
	wire_job_done(&job->spec);
}

/* The guest could not run it: the host gets the sentence, the job is over. */
static int give_up(struct job *job, struct port *port, int r, struct err *err)
{
	if (!r || r == -EPROTO)
		return r;
	if (job->runner && job->runner->pid)
		cgroup_kill(&job->runner->cgroup, SIGKILL);
	port_send_text(port, WIRE_FAILED, err ? err->text : "");
	job->phase = JOB_DONE;
	return 0;
}

/* The runner's pipes become the job's. */
static void attach(struct job *job, struct runner *runner)
{
	const struct wire_job *spec = &job->spec;

	job->runner = runner;
	job->input.fd = take_fd(&runner->pipe[PIPE_IN]);
	job->stream[STREAM_OUT] = (struct stream){
		.fd = take_fd(&runner->pipe[PIPE_OUT]),
		.type = WIRE_OUT,
		.limit = spec->stdout_limit,
	};
	job->stream[STREAM_ERR] = (struct stream){
		.fd = take_fd(&runner->pipe[PIPE_ERR]),
		.type = WIRE_ERR,
		.limit = spec->stderr_limit,
	};
	job->stream[STREAM_RESULT] = (struct stream){
		.fd = take_fd(&runner->pipe[PIPE_RESULT]),
		.type = WIRE_RESULT,
		.limit = WIRE_RESULT_MAX,
	};
}

int job_begin(struct job *job, struct port *port, struct runner *runners,
	      const struct frame *frame, struct err *err)
{
	struct runner *runner;
	int r;

	if (job->phase != JOB_NONE)
		return err_set(err, -EPROTO, "a second JOB");
	r = wire_job_get(frame->payload, frame->header.length, &job->spec);
	if (r)
		return err_set(err, r, "a JOB that cannot be read");
	job->received = sys_now();
	job->phase = JOB_LOADING;
	runner = &runners[job->spec.runner];
	if (!runner->pid) {
		r = err_set(err, -ESRCH, "the %s runner is not there",
			    runner_name(job->spec.runner));
		return give_up(job, port, r, err);
	}
	attach(job, runner);
	r = clone_set_early_clock(&job->spec, err);
	if (!r)
		r = cgroup_limit(&runner->cgroup, &job->spec, err);
	return give_up(job, port, r, err);
}

int job_file(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err)
{
	int r;

	if (job->phase == JOB_DONE || job->phase == JOB_ENDING)
		return 0; /* it failed while these were on their way */
	if (job->phase != JOB_LOADING)
		return err_set(err, -EPROTO, "a file without a job");
	if (frame->header.type == WIRE_FILE)
		r = files_begin(&job->files, frame->header.arg, frame->payload,
				frame->header.length, err);
	else if (frame->header.type == WIRE_FILE_DATA)
		r = files_data(&job->files, frame->payload,
			       frame->header.length, err);
	else
		r = files_end(&job->files, err);
	return give_up(job, port, r, err);
}

int job_run(struct job *job, struct port *port, const struct frame *frame,
	    struct err *err)
{
	int r;

	(void)frame;
	if (job->phase == JOB_DONE || job->phase == JOB_ENDING)
		return 0;
	if (job->phase != JOB_LOADING || job->files.fd >= 0)
		return err_set(err, -EPROTO, "RUN before the job is complete");
	r = clone_set_clock(&job->spec, job->received, err);
	if (r)
		return give_up(job, port, r, err);
	files_seal(&job->files);
	job->started = sys_now();
	job->phase = JOB_RUNNING;
	job->launch = true;
	port_send(port, WIRE_STARTED, 0, NULL, 0);
	return 0;
}

int job_launch(struct job *job, struct port *port, struct err *err)
{
	struct runner *runner = job->runner;
	int r;

	if (!job->launch)
		return 0;
	job->launch = false;
	r = runner_send(runner, "run", &job->spec);
	fd_close(&runner->control);
	if (r)
		err_sys(err, r, "the %s runner does not answer",
			runner_name(runner->kind));
	return give_up(job, port, r, err);
}

int job_stdin(struct job *job, struct port *port, const struct frame *frame,
	      struct err *err)
{
	int r = 0;

	if (job->phase == JOB_NONE)
		return err_set(err, -EPROTO, "STDIN without a job");
	if (frame->header.type == WIRE_STDIN_END)
		input_end(&job->input);
	else
		r = input_add(&job->input, frame->payload,
			      frame->header.length);
	if (r)
		return err_set(err, r, "STDIN beyond the window");
	input_pump(&job->input, port);
	return 0;
}

int job_kill(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err)
{
	struct wire_cursor c;
	uint32_t number;
	int r = job_launch(job, port, err); /* it is the program that is killed */

	if (r)
		return r;
	wire_begin(&c, frame->payload, frame->header.length);
	number = wire_get_u32(&c);
	if (wire_end(&c) || number < 1 || number > 64 ||
	    frame->header.arg >= WIRE_KILL_SCOPE_MAX || job->phase == JOB_NONE)
		return err_set(err, -EPROTO, "a KILL that breaks the rules");
	/* After waitpid the pid may be another process's. */
	if (job->phase == JOB_DONE || !job->runner)
		return 0;
	if (frame->header.arg == WIRE_KILL_ALL)
		cgroup_kill(&job->runner->cgroup, (int)number);
	else if (job->runner->pid)
		kill(job->runner->pid, (int)number);
	return 0;
}

void job_reaped(struct job *job, int status)
{
	job->ended = sys_now();
	job->status = status;
	if (job->phase != JOB_LOADING && job->phase != JOB_RUNNING)
		return;
	if (job->phase == JOB_LOADING) /* killed before RUN */
		job->started = job->ended;
	fd_close(&job->runner->control);
	job->launch = false;
	job->phase = JOB_ENDING;
	if (!cgroup_is_empty(&job->runner->cgroup))
		cgroup_kill(&job->runner->cgroup, SIGKILL);
	/*
	 * The program could make a holder run, whose memory it shares. Such a
	 * one runs no further instruction. One that has slept all the time
	 * sleeps on: to end it is long, and for nothing.
	 */
	if (cgroup_holders_ran())
		cgroup_kill_holders();
}

bool job_is_young(const struct job *job)
{
	return job->phase == JOB_RUNNING &&
	       sys_now() < job->started + JOB_YOUNG_MS * 1000000ull;
}

static bool is_live(const struct job *job)
{
	return job->phase == JOB_RUNNING || job->phase == JOB_ENDING;
}

/* At their end all three pipes are -1. */
static bool pipes_ended(const struct job *job)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (job->stream[i].fd >= 0)
			return false;
	return true;
}

int job_poll(struct job *job, const struct port *port, struct pollfd *p)
{
	int n = 0;

	if (job->phase == JOB_NONE || job->phase == JOB_DONE)
		return 0;
	for (int i = 0; i < STREAM_MAX && !job_is_young(job); i++)
		if (job->stream[i].fd >= 0 && port_has_room(port))
			p[n++] = (struct pollfd){.fd = job->stream[i].fd,
						 .events = POLLIN};
	if (input_is_pending(&job->input) && port_can_answer(port))
		p[n++] = (struct pollfd){.fd = job->input.fd,
					 .events = POLLOUT};
	/* Processes that close their pipes and take their time to die. */
	if (job->phase == JOB_ENDING && pipes_ended(job))
		p[n++] = (struct pollfd){
			.fd = job->runner->cgroup.fd[CGROUP_EVENTS],
			.events = POLLPRI};
	return n;
}

static void describe_end(const struct job *job, struct wire_exit *ret)
{
	const struct stream *s = job->stream;

	memset(ret, 0, sizeof(*ret));
	if (WIFSIGNALED(job->status)) {
		ret->kind = WIRE_EXIT_SIGNAL;
		ret->value = (uint32_t)WTERMSIG(job->status);
	} else {
		ret->kind = WIRE_EXIT_CODE;
		ret->value = (uint32_t)WEXITSTATUS(job->status);
	}
	ret->wall_ns = job->ended - job->started;
	cgroup_usage(&job->runner->cgroup, ret);
	ret->stdout_bytes = s[STREAM_OUT].bytes;
	ret->stdout_dropped = s[STREAM_OUT].dropped;
	ret->stderr_bytes = s[STREAM_ERR].bytes;
	ret->stderr_dropped = s[STREAM_ERR].dropped;
	ret->result_dropped = s[STREAM_RESULT].dropped;
}

static int finish(struct job *job, struct port *port)
{
	uint8_t bytes[256];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	struct wire_exit e;

	describe_end(job, &e);
	wire_exit_put(&w, &e);
	port_send(port, WIRE_EXIT, 0, bytes, w.used);
	job->phase = JOB_DONE;
	return job->spec.output_limit
		       ? collect_send(port, &job->files, &job->spec)
		       : 0;
}

int job_step(struct job *job, struct port *port)
{
	if (job->phase == JOB_NONE || job->phase == JOB_DONE)
		return 0;
	input_pump(&job->input, port);
	for (int i = 0; i < STREAM_MAX && !job_is_young(job); i++) {
		struct stream *s = &job->stream[i];

		if (s->fd >= 0 && is_live(job) && stream_pump(s, port))
			fd_close(&s->fd);
	}
	if (job->phase == JOB_ENDING && pipes_ended(job) &&
	    cgroup_is_empty(&job->runner->cgroup) && port_has_room(port))
		return finish(job, port);
	return 0;
}
