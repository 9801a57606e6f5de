/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of job.h and their changes: frames come in (job_begin to job_kill), turns
 * look at what is due (job_check, job_step), and the end is reported (finish). It runs in
 * PID 1 for a machine's only job and in the agent of a lane for the jobs of that lane;
 * `job->lane` tells which. Nothing here waits, but for a runner that must start first.
 */
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "guest/os/clone.h"
#include "guest/files/collect.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "lane.h"
#include "guest/os/mounts.h"
#include "guest/os/sys.h"
#include "runner_kind.h"

#define LINGER_LOOK_MS 10 /* interval: no event reports the close of a file */

int job_open(struct job *job, struct err *err)
{
	memset(job, 0, sizeof(*job));
	job->step.input = -1;
	strcpy(job->dir, STEP_DIRECTORY);
	for (int i = 0; i < STREAM_MAX; i++)
		job->stream[i].fd = -1;
	if (input_open(&job->input, -1))
		return err_set(err, -ENOMEM, "no memory for the input");
	return files_open(&job->files, err);
}

/* Resets the job after a step; the next one may come. */
static void begin_anew(struct job *job)
{
	step_end(job);
	input_reset(&job->input);
	wire_job_done(&job->spec);
	files_forget(&job->files);
	job->runner = NULL;
	/* keep `how`, which stays true for the session */
	job->begun.coming = false;
	job->status = 0;
	job->starved = job->asked = job->unasked = false;
	job->left = 0;
	job->let_go = 0;
	job->interrupt.next = 0;
	job->again = true;
	job->phase = JOB_NONE;
}

void job_close(struct job *job)
{
	for (int i = 0; i < STREAM_MAX; i++)
		fd_close(&job->stream[i].fd);
	input_reset(&job->input);
	free(job->input.bytes);
	files_close(&job->files);
	wire_job_done(&job->spec);
}

/* An error r other than -EPROTO ends the job: sends FAILED with the sentence of err. */
static int give_up(struct job *job, struct port *port, int r, struct err *err)
{
	if (!r || r == -EPROTO)
		return r;
	if (job->runner && job->runner->pid)
		cgroup_kill(&job->runner->cgroup, SIGKILL);
	port_send_text(port, WIRE_FAILED,
		       job->step.on && r == -ESRCH ? WIRE_FAILED_ENDED
						   : WIRE_FAILED_JOB,
		       err ? err->text : "");
	job->phase = JOB_DONE;
	return 0;
}

/* Gives the runner's pipes to the job. */
static void attach(struct job *job, struct runner *runner)
{
	const struct wire_job *spec = &job->spec;

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
	job->step.on = wire_mode_is_step(job->spec.mode);
	r = job->lane ? lane_begin(job, runners, err) : 0;
	if (r)
		return give_up(job, port, r, err);
	runner = job->lane	? &runners[job->kind]
		 : job->step.on ? step_runner(runners, &job->spec)
				: &runners[job->spec.runner];
	if (!runner->pid) {
		r = err_set(err, -ESRCH, runner->living
			    ? "the session's interpreter has ended"
			    : "the %s runner is not there",
			    runner_name(job->spec.runner));
		return give_up(job, port, r, err);
	}
	job->runner = runner;
	if (runner->kind == WIRE_RUN_EXEC)
		job->begun.how = WIRE_BEGUN_ITSELF;
	if (!job->step.on)
		attach(job, runner);
	r = job->step.on ? step_begin(job, err) : 0;
	/* Not for a living interpreter: its clock must never go back. */
	if (!r && !runner->living && !job->lane)
		r = clone_set_early_clock(&job->spec, err);
	if (!r)
		r = cgroup_limit(&runner->cgroup, &job->spec, err);
	if (!r && !job->lane)
		r = mounts_fit(job->spec.memory_bytes, err);
	return give_up(job, port, r, err);
}

int job_file(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err)
{
	int r;

	if (job->phase == JOB_DONE || job->phase == JOB_ENDING)
		return 0; /* the host sent the frame before it knew that the job had ended */
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

int job_abort(struct job *job, struct err *err)
{
	if (job->phase == JOB_DONE || job->phase == JOB_NONE)
		return 0; /* the job failed before the ABORT came */
	if (job->phase != JOB_LOADING || !job->lane || !job->step.on)
		return err_set(err, -EPROTO, "an ABORT that breaks the rules");
	for (int i = 0; i < STREAM_MAX; i++)
		fd_close(&job->stream[i].fd);
	lane_clean(job);
	begin_anew(job);
	return 0;
}

static void say_started(const struct job *job, struct port *port)
{
	uint8_t bytes[4];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	wire_put_u32(&w, (uint32_t)job->runner->pid);
	port_send(port, WIRE_STARTED, 0, bytes, w.used);
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
	if (job->lane)
		r = lane_check_cwd(job, err);
	else
		r = job->runner->living
			    ? 0
			    : clone_set_clock(&job->spec, job->received, err);
	if (!r && job->step.on && !job->lane) {
		r = files_seal_all(&job->files, job->spec.argv.item[0]);
		if (r)
			err_sys(err, r, "cannot read the session's files");
	}
	if (r)
		return give_up(job, port, r, err);
	if (!job->step.on && !job->lane)
		files_seal(&job->files);
	job->started = sys_now();
	job->phase = JOB_RUNNING;
	job->launch = true;
	thrash_begin(&job->thrash, job->started);
	/* a session's interpreter reports its start itself */
	if (!job->step.on)
		say_started(job, port);
	return 0;
}

int job_launch(struct job *job, struct port *port, struct err *err)
{
	struct runner *runner = job->runner;
	int r;

	if (!job->launch)
		return 0;
	job->launch = false;
	if (job->step.on)
		return give_up(job, port, step_launch(job, err), err);
	if (job->lane && job->files.given)
		r = input_from(&job->input, job->files.given_at);
	else
		r = 0;
	if (!r)
		r = runner_send(runner, job->files.given && !job->lane ? "file"
								       : "run",
				&job->spec);
	/* a runner with says_begun sends how it has begun, so keep its control socket */
	if (!runner_kinds[runner->kind].says_begun)
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

	if (job->phase == JOB_NONE && job->again)
		return 0; /* the frame was sent before the step ended */
	if (job->phase == JOB_NONE)
		return err_set(err, -EPROTO, "STDIN without a job");
	if (job->lane && job->files.given && !job->step.on)
		return 0; /* standard input has come as a file */
	if (frame->header.type == WIRE_STDIN_END)
		input_end(&job->input);
	else
		r = input_add(&job->input, frame->payload,
			      frame->header.length);
	if (r)
		return err_set(err, r, "STDIN beyond the window");
	if (!job->step.on || job->step.started)
		input_pump(&job->input, port);
	return 0;
}

/* Returns whether all three pipes have ended. */
static bool pipes_ended(const struct job *job)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (job->stream[i].fd >= 0)
			return false;
	return true;
}

/* Returns whether no process has the program's output open. */
static bool is_let_go(const struct job *job)
{
	return job->stream[STREAM_OUT].fd < 0 &&
	       job->stream[STREAM_ERR].fd < 0;
}

static uint64_t linger_end(const struct job *job)
{
	return job->ended + job->spec.linger_ms * 1000000ull;
}

/* Returns the sooner of two timeouts; -1: never. */
static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

int job_check_due(const struct job *job)
{
	uint64_t now, end;
	int ms;

	now = sys_now();
	if (job->phase == JOB_RUNNING)
		return sooner(thrash_due(&job->thrash, now),
			      interrupt_due(&job->interrupt, now));
	if (job->phase != JOB_LINGERING)
		return -1;
	end = linger_end(job);
	ms = end > now ? (int)((end - now) / 1000000u) + 1 : 0;
	return is_let_go(job) ? MIN(ms, LINGER_LOOK_MS) : ms;
}

/* Ends the job but no process: its streams end with what the pipes have now. */
static void leave_all(struct job *job)
{
	job->phase = JOB_ENDING;
	if (!job->step.on && !cgroup_is_empty(&job->runner->cgroup))
		for (int i = 0; i < STREAM_MAX; i++)
			stream_last(&job->stream[i]);
}

/* Kills all processes that are left; on a lane they live on. */
static void end_all(struct job *job)
{
	if (job->lane) {
		leave_all(job);
		return;
	}
	job->phase = JOB_ENDING;
	if (!cgroup_is_empty(&job->runner->cgroup)) {
		job->left = cgroup_count(&job->runner->cgroup);
		cgroup_kill(&job->runner->cgroup, SIGKILL);
	}
	/*
	 * A program shares its memory with the holder and could make it run. A
	 * holder that has run is killed. One that has only slept sleeps on:
	 * killing it takes long and is not needed.
	 */
	if (cgroup_holders_ran())
		cgroup_kill_holders();
}

/*
 * Returns whether no process can produce output any more. On a lane that is so as soon
 * as the output pipes have no writer. Else it waits LINGER_LOOK_MS longer: a process
 * that ends leaves its control group after it has closed its files, and end_all() would
 * count it as left.
 */
static bool is_alone(struct job *job, uint64_t now)
{
	if (job->lane)
		return is_let_go(job);
	if (!job->let_go && is_let_go(job) && mounts_close_home())
		job->let_go = now;
	return job->let_go && now >= job->let_go + LINGER_LOOK_MS * 1000000ull;
}

static void linger(struct job *job)
{
	uint64_t now = sys_now();

	if (job->phase == JOB_LINGERING &&
	    (cgroup_is_empty(&job->runner->cgroup) || now >= linger_end(job) ||
	     is_alone(job, now)))
		end_all(job);
}

/* Sends a signal. The first process gets none after waitpid(): its pid may belong to
 * another process then. */
static void deliver(struct job *job, uint8_t scope, int number)
{
	struct runner *r = job->runner;

	if (scope == WIRE_KILL_ALL) {
		job->asked = true;
		if (job->phase == JOB_LINGERING && number == SIGKILL &&
		    !job->lane)
			end_all(job);
		else
			cgroup_kill(&r->cgroup, number);
	} else if (scope == WIRE_KILL_INTERRUPT && job->step.on &&
		   (!job->step.started || job->step.over)) {
		return; /* between two steps there is no program to interrupt */
	} else if (r->pid) {
		kill(scope == WIRE_KILL_FIRST ? r->pid : -r->pid, number);
		if (scope == WIRE_KILL_INTERRUPT && job->step.on &&
		    runner_kinds[job->spec.runner].forks_late)
			interrupt_begin(&job->interrupt);
	}
}

int job_kill(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err)
{
	struct wire_cursor c;
	uint32_t number;
	/* launch it first: the signal is for the program */
	int r = job_launch(job, port, err);

	if (r)
		return r;
	wire_begin(&c, frame->payload, frame->header.length);
	number = wire_get_u32(&c);
	if (wire_end(&c) || number < 1 || number > 64 ||
	    frame->header.arg >= WIRE_KILL_SCOPE_MAX ||
	    (job->phase == JOB_NONE && !job->again))
		return err_set(err, -EPROTO, "a KILL that breaks the rules");
	if (job->phase == JOB_DONE || !job->runner)
		return 0;
	deliver(job, frame->header.arg, (int)number);
	return 0;
}

void job_check(struct job *job)
{
	struct strain now;
	bool strained;

	if (job->phase == JOB_LINGERING)
		return; /* job_step() handles that */
	if (!interrupt_due(&job->interrupt, sys_now()))
		interrupt_check(&job->interrupt, job->runner);
	if (thrash_due(&job->thrash, sys_now()))
		return;
	strained = cgroup_strain(&job->runner->cgroup, &now);
	job->thrash.next = sys_now() + THRASH_LOOK_MS * 1000000ull;
	if (!strained || !thrash_judge(&job->thrash, &now))
		return;
	job->thrash.next = 0;
	job->starved = true;
	cgroup_kill(&job->runner->cgroup, SIGKILL);
}

void job_reaped(struct job *job, int status)
{
	job->ended = sys_now();
	job->status = status;
	if (job->phase != JOB_LOADING && job->phase != JOB_RUNNING)
		return;
	if (!job->step.on)
		begun_hear_all(&job->begun, job->runner->control);
	if (job->phase == JOB_LOADING) /* killed before RUN */
		job->started = job->ended;
	fd_close(&job->runner->control);
	job->launch = false;
	job->unasked = !job->asked;
	if (job->step.on)
		step_over(job);
	if (!job->step.on && job->spec.linger_ms &&
	    !cgroup_is_empty(&job->runner->cgroup))
		job->phase = JOB_LINGERING;
	else
		end_all(job);
}

bool job_is_young(const struct job *job)
{
	return job->phase == JOB_RUNNING && !job->step.on &&
	       sys_now() < job->started + JOB_YOUNG_MS * 1000000ull;
}

static bool is_live(const struct job *job)
{
	return job->phase == JOB_RUNNING || job->phase == JOB_LINGERING ||
	       job->phase == JOB_ENDING;
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
	if (job->step.on && job->phase == JOB_RUNNING)
		p[n++] = (struct pollfd){.fd = job->runner->control,
					 .events = POLLIN};
	if (input_is_awaited(&job->input) && port_can_answer(port))
		p[n++] = (struct pollfd){.fd = job->input.fd,
					 .events = POLLOUT};
	/* Processes live on after they have closed their pipes: poll for the last one. */
	if (job->phase == JOB_LINGERING ||
	    (job->phase == JOB_ENDING && pipes_ended(job)))
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
	ret->lives = job->step.lives;
	ret->unasked = job->unasked;
	ret->left = job->left;
	ret->begun = job->begun.how;
	memcpy(ret->begun_by, job->begun.by, sizeof(ret->begun_by));
	ret->wall_ns = job->ended - job->started;
	cgroup_usage(&job->runner->cgroup, ret);
	if (job->starved && (!ret->oom_kills || ret->oom_kills == WIRE_UNKNOWN))
		ret->oom_kills = 1;
	ret->stdout_bytes = s[STREAM_OUT].bytes;
	ret->stdout_dropped = s[STREAM_OUT].dropped;
	ret->stderr_bytes = s[STREAM_ERR].bytes;
	ret->stderr_dropped = s[STREAM_ERR].dropped;
	ret->result_dropped = s[STREAM_RESULT].dropped;
}

static int finish(struct job *job, struct port *port)
{
	uint8_t bytes[WIRE_EXIT_MAX];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	struct wire_exit e;
	int r = 0;

	input_report(&job->input, port);
	describe_end(job, &e);
	wire_exit_put(&w, &e);
	port_send(port, WIRE_EXIT, 0, bytes, w.used);
	job->phase = JOB_DONE;
	if (job->lane)
		r = lane_end(job, port);
	else if (job->files.watched)
		files_settle(&job->files,
			     job->step.on || cgroup_holders_live());
	if (job->spec.output_limit && !job->lane)
		r = collect_send(port, &job->files, &job->spec);
	if (e.lives)
		begin_anew(job);
	return r;
}

static void pump(struct job *job, struct port *port)
{
	input_pump(&job->input, port);
	for (int i = 0; i < STREAM_MAX && !job_is_young(job); i++) {
		struct stream *s = &job->stream[i];

		if (s->fd < 0 || !is_live(job))
			continue;
		if (!stream_pump(s, port))
			continue;
		if (job->lane && s->last && s->type != WIRE_RESULT)
			drain_add(&job->drain, s->fd);
		fd_close(&s->fd);
	}
}

static void hear_step(struct job *job, struct port *port)
{
	bool had_started = job->step.started;

	step_hear(job);
	if (job->step.started && !had_started)
		say_started(job, port);
}

int job_step(struct job *job, struct port *port)
{
	if (job->phase == JOB_NONE || job->phase == JOB_DONE)
		return 0;
	if (job->step.on)
		hear_step(job, port);
	if (job->step.over && !job->step.started) {
		port_send_text(port, WIRE_FAILED, WIRE_FAILED_ENDED,
			       "the session's interpreter ended before it "
			       "began");
		job->phase = JOB_DONE;
		return 0;
	}
	if (!job->step.on || job->step.started)
		pump(job, port);
	linger(job);
	/* a process may keep a pipe open: then poll() reports no end */
	if (job->phase == JOB_ENDING)
		pump(job, port);
	if (job->phase == JOB_ENDING && pipes_ended(job) &&
	    (job->step.lives || job->lane ||
	     cgroup_is_empty(&job->runner->cgroup)) &&
	    port_has_room(port))
		return finish(job, port);
	return 0;
}
