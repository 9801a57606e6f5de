/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares the directory of a step, starts the session with its first step, and hears
 * from the interpreter when a step has begun and ended. It changes the fields of its
 * struct job and sends no frame: job.c reports what it finds there.
 */
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/os/environment.h"
#include "job.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/env.h"
#include "guest/os/sys.h"
#include "runner_kind.h"

#define PATH_ROOM 64 /* length of a path in the job's directory */
#define FIFO_SIZE (256 << 10)
#define ROUNDS 64 /* most messages read in one turn */

enum { FIFO_IN, FIFO_OUT, FIFO_ERR, FIFO_RESULT, FIFO_MAX };

static const char *const fifos[FIFO_MAX] = {
	[FIFO_IN] = "in",
	[FIFO_OUT] = "out",
	[FIFO_ERR] = "err",
	[FIFO_RESULT] = "result",
};

struct place {
	char path[PATH_ROOM];
};

static struct place place_of(const struct job *job, const char *name)
{
	struct place p;

	snprintf(p.path, sizeof(p.path), "%s/%s", job->dir, name);
	return p;
}

/* Returns whether a step sets a variable that could run other code at the start
 * of its interpreter. */
static bool is_hijack(const char *assignment)
{
	char name[64]; /* longer than all known names */

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(assignment, "="),
		 assignment);
	return env_is_hijack(name);
}

/* Returns whether a session needs a fresh process: a waiting Node cannot
 * start a fresh one itself. */
static bool needs_start(const struct wire_job *spec)
{
	const struct wire_strings *env = &spec->envp;
	const char *const *obeys = runner_kinds[spec->runner].obeys;

	if (!obeys)
		return false;
	for (uint32_t i = 0; i < env->count; i++)
		for (size_t k = 0; obeys[k]; k++)
			if (!strncmp(env->item[i], obeys[k], strlen(obeys[k])) &&
			    !is_hijack(env->item[i]))
				return true;
	return spec->fresh;
}

enum wire_runner step_kind(const struct wire_job *spec)
{
	return needs_start(spec) ? WIRE_RUN_EXEC : runner_kinds[spec->runner].session;
}

struct runner *step_runner(struct runner *runners, const struct wire_job *spec)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++)
		if (runners[i].living)
			return &runners[i];
	return &runners[step_kind(spec)];
}

/* Opens a new fifo for reading and writing, so that it never ends and never
 * blocks. */
static int make_fifo(const char *path)
{
	int fd;

	unlink(path);
	if (mkfifo(path, 0600) || chown(path, USER_ID, USER_ID))
		return -errno;
	fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETPIPE_SZ, FIFO_SIZE);
	return fd;
}

/* Writes the texts to a file, each with its NUL, except the first skip. */
static int put_texts(const struct job *job, const char *name,
		     const struct wire_strings *texts, uint32_t skip)
{
	struct place file = place_of(job, name);
	auto_close int fd = -1;

	unlink(file.path);
	fd = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	for (uint32_t i = skip; i < texts->count; i++) {
		size_t length = strlen(texts->item[i]) + 1;

		if (write(fd, texts->item[i], length) != (ssize_t)length)
			return -ENOSPC;
	}
	return 0;
}

static int make_fifos(struct job *job)
{
	struct wire_job *spec = &job->spec;
	int fd[FIFO_MAX];

	for (int i = 0; i < FIFO_MAX; i++) {
		fd[i] = make_fifo(place_of(job, fifos[i]).path);
		for (int k = 0; fd[i] < 0 && k < i; k++)
			close(fd[k]);
		if (fd[i] < 0)
			return fd[i];
	}
	job->step.input = fd[FIFO_IN];
	job->stream[STREAM_OUT] = (struct stream){
		.fd = fd[FIFO_OUT], .type = WIRE_OUT,
		.limit = spec->stdout_limit,
	};
	job->stream[STREAM_ERR] = (struct stream){
		.fd = fd[FIFO_ERR], .type = WIRE_ERR,
		.limit = spec->stderr_limit,
	};
	job->stream[STREAM_RESULT] = (struct stream){
		.fd = fd[FIFO_RESULT], .type = WIRE_RESULT,
		.limit = WIRE_RESULT_MAX,
	};
	return 0;
}

/* Writes the start directory, if the job has one: else the interpreter stays
 * where it is. */
static int put_cwd(const struct job *job)
{
	const char *cwd = job->spec.cwd;
	struct wire_strings one = {1, &cwd};

	if (cwd && cwd[0])
		return put_texts(job, "cwd", &one, 0);
	unlink(place_of(job, "cwd").path);
	return 0;
}

int step_begin(struct job *job, struct err *err)
{
	const struct environment_vars *base = environment_vars();
	const struct wire_job *spec = &job->spec;
	int r = 0;

	job->step = (struct step){.on = true, .input = -1};
	if (!runner_kinds[spec->runner].session_argv[0])
		return err_set(err, -EINVAL, "there are no sessions of %s",
			       runner_kinds[spec->runner].name);
	if (mkdir(job->dir, 0755) && errno != EEXIST)
		r = -errno;
	if (!r)
		r = make_fifos(job);
	if (!r)
		r = put_texts(job, "args", &spec->argv, 1);
	if (!r)
		r = put_texts(job, "env", &spec->envp, 0);
	if (!r)
		r = put_cwd(job);
	if (!r && !job->runner->living)
		r = put_texts(job, "was", &(struct wire_strings){
			base->count, base->item}, 0);
	if (job->runner->living)
		cgroup_mark(&job->runner->cgroup);
	job->files.replace = true;
	return r ? err_sys(err, r, "cannot prepare the session's step") : 0;
}

static bool is_set(const struct wire_strings *env, const char *assignment)
{
	size_t length = strcspn(assignment, "=") + 1;

	for (uint32_t i = 0; i < env->count; i++)
		if (!strncmp(env->item[i], assignment, length))
			return true;
	return false;
}

/*
 * Builds the environment of the first step: variables that an interpreter reads
 * only at its start, such as PYTHONHASHSEED, and none that would make it run
 * other code. A shell starts with the session's own script and gets the
 * variables later. Return: 0 or -ENOMEM; the caller owns the list.
 */
static int first_env(const struct wire_job *spec, struct wire_strings *ret)
{
	const struct environment_vars *base = environment_vars();
	uint32_t own = runner_kinds[spec->runner].late_env ? 0 : spec->envp.count;

	ret->item = calloc(own + base->count, sizeof(*ret->item));
	if (!ret->item)
		return -ENOMEM;
	ret->count = 0;
	for (uint32_t i = 0; i < own; i++)
		if (!is_hijack(spec->envp.item[i]))
			ret->item[ret->count++] = spec->envp.item[i];
	for (uint32_t i = 0; i < base->count; i++)
		if (!is_set(ret, base->item[i]))
			ret->item[ret->count++] = base->item[i];
	return 0;
}

/* Makes the runner the session. A runner of its language gets the step's
 * program, as for any job; the EXEC runner gets the command to start. */
static int begin_life(struct job *job)
{
	const struct wire_job *spec = &job->spec;
	const char *const *argv = runner_kinds[spec->runner].session_argv;
	struct wire_job start = {
		.mode = spec->mode, .call = "", .fresh = spec->fresh,
		.argv = {1, spec->argv.item},
	};
	int r = first_env(spec, &start.envp);

	if (job->runner->kind == WIRE_RUN_EXEC) {
		start.argv.item = (const char **)(uintptr_t)argv;
		while (argv[start.argv.count - 1])
			start.argv.count++;
		start.argv.count--;
	}
	job->runner->living = true;
	if (!r)
		r = runner_send(job->runner, "run", &start);
	free(start.envp.item);
	return r;
}

/* Replaces the fifo of standard input by a symbolic link to the file that has it: the
 * step opens the same name. */
static int put_input(const struct job *job)
{
	struct place in = place_of(job, fifos[FIFO_IN]);

	unlink(in.path);
	return symlink(job->files.given_at, in.path) ? -errno : 0;
}

int step_launch(struct job *job, struct err *err)
{
	char line[WIRE_PATH_MAX + 64];
	int n = snprintf(line, sizeof(line), "step %s %s %s%s\n",
			 runner_mode(job->spec.mode), job->spec.argv.item[0], job->dir,
			 runner_kinds[job->spec.runner].step_word);
	int r = job->files.given ? put_input(job) : 0;

	if (!r && !job->runner->living)
		r = begin_life(job);
	if (!r && send(job->runner->control, line, (size_t)n,
		       MSG_DONTWAIT | MSG_NOSIGNAL) != n)
		r = -ESRCH;
	return r ? err_sys(err, r, "the session does not answer") : 0;
}

static void start(struct job *job)
{
	struct input_stream *in = &job->input;

	if (job->step.started)
		return;
	job->step.started = true;
	job->started = sys_now();
	in->fd = take_fd(&job->step.input);
	if (in->ended)
		input_end(in);
}

void step_over(struct job *job)
{
	job->step.over = true;
	for (int i = 0; i < STREAM_MAX; i++)
		stream_last(&job->stream[i]);
}

static void hear(struct job *job, uint8_t said)
{
	if (!job->step.coming && begun_hear(&job->begun, said))
		return;
	if (job->step.coming) {
		job->step.coming = false;
		job->step.lives = true;
		step_over(job);
		job->status = said << 8; /* coded as waitpid() does */
		job->ended = sys_now();
		job->phase = JOB_ENDING;
	} else if (said == 'S') {
		start(job);
	} else if (said == 'E' && job->step.started) {
		job->step.coming = true;
	} /* R needs no answer */
}

void step_hear(struct job *job)
{
	uint8_t said;
	ssize_t n;

	/* A program that has found the socket may write for ever. */
	for (int i = 0; i < ROUNDS && job->phase == JOB_RUNNING &&
			job->runner->control >= 0; i++) {
		n = recv(job->runner->control, &said, 1, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) /* waitpid() reports the end */
			fd_close(&job->runner->control);
		else
			hear(job, said);
	}
}

void step_end(struct job *job)
{
	fd_close(&job->step.input);
	for (int i = 0; i < FIFO_MAX; i++)
		unlink(place_of(job, fifos[i]).path);
	job->step = (struct step){.input = -1};
}
