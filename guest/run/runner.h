/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner: a process that waits to become the program. It is a direct child of
 * init, already without privileges and in its own control group, and blocks in
 * a read of its control socket. One message turns it into the program, so no
 * fork lies between the host's RUN and the program's first instruction.
 *
 * Its descriptors, and no others:
 *   0, 1, 2   pipes; they become the program's
 *   3         control: messages in; out: one byte for "ready" and "heated",
 *             and the messages of begun.h and step.h
 *   4         RESULT pipe, the write end
 * 3 and 4 are close-on-exec once the interpreter runs.
 *
 * An interpreter may have a second process on its memory that only sleeps, the
 * holder (runners/hold.h). It has a control group of its own.
 *
 * A message is a le32 length and that many bytes: texts that each end with NUL:
 * verb ("run", "file", "heat", "own"), mode ("script", "call", "session",
 * "cell"), function name, "fresh" or "", start directory or "", number of
 * arguments, the arguments, the environment. Bash gets only the verb's first
 * letter. "file" is "run" with RUNNER_INPUT as standard input, in place of the
 * pipe.
 */
#ifndef GUEST_RUNNER_H
#define GUEST_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/os/cgroup.h"
#include "layout/base/buf.h"
#include "guest/wire/wire.h"

enum runner_pipe { PIPE_IN, PIPE_OUT, PIPE_ERR, PIPE_RESULT, PIPE_MAX };

#define RUNNER_CONTROL_FD 3
#define RUNNER_RESULT_FD 4
/* argv[0] of the warm-up program, which no job has: see warmup_program.h */
#define RUNNER_WARMUP_PROGRAM ""

struct runner {
	enum wire_runner kind;
	pid_t pid;             /* 0: the runner has ended, or was never started */
	bool own;              /* the runner has drawn its own secrets */
	bool living;           /* the process runs steps: see step.h */
	/* Borrowed, or NULL: the environment of a Python runner that loads no modules and
	 * does not wait. */
	const struct wire_strings *fresh;
	unsigned heats;        /* rounds of heat in this machine */
	int control;           /* owned */
	int pipe[PIPE_MAX];    /* owned; init's ends, nonblocking */
	int theirs[PIPE_MAX]; /* owned: the ends of the process, until it has them */
	struct cgroup cgroup;
};

/*
 * Starts the process of a runner, with its pipes and the control group of that name. If
 * r->fresh is set before, the process is a fresh interpreter. It is not ready when the
 * call returns: call runner_await().
 */
int runner_start(struct runner *r, enum wire_runner kind, const char *group,
		 struct err *err);
/* Resets the struct to a runner that was never started. */
void runner_clear(struct runner *r, enum wire_runner kind);
void runner_close(struct runner *r);
/* Waits for one byte of the runner, at most timeout_ms. Return: 0 or a negative errno. */
int runner_wait(int control, int timeout_ms);
/*
 * Waits for the runner's "R" (ready), until sys_now() is end at the latest. Before that
 * a runner may report modules of the environment that it could not load: "L", a line of
 * printable ASCII, NUL. Each line is added to cold; lines beyond its cap are dropped.
 * Return: 0 or a negative errno.
 */
int runner_wait_ready(int control, uint64_t end, struct buf *cold);
/* Waits until a started runner is ready, or sys_now() is end. Moves its holder to the
 * holders' group, and leaves what the group has used until now out of the job's
 * figures. */
int runner_await(struct runner *r, uint64_t end, struct buf *cold,
		 struct err *err);
/* Sends a message: "run" or "file" make it the program, "heat" warms it, "own"
 * makes it draw new secrets. */
int runner_send(const struct runner *r, const char *verb,
		const struct wire_job *job);
/* Returns the bytes of heap that the kind's interpreter has without our runner;
 * UINT64_MAX: the table has none. For cgroup_mark_code(). */
uint64_t runner_plain_heap(enum wire_runner kind);
const char *runner_name(enum wire_runner kind);
const char *runner_mode(uint32_t mode); /* the mode's name in a message */

#endif
