/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner: a process that waits to become the program. It is a direct child
 * of init, already without privilege and in its own control group, and blocks
 * in a read of its control socket. One message turns it into the program; no
 * fork lies between the host's RUN and the program's first instruction.
 *
 * Its descriptors, and no others:
 *   0, 1, 2   pipes; they become the program's
 *   3         control: messages in, one byte back for "ready" and "heated";
 *             see begun.h and step.h for what else is said
 *   4         RESULT pipe, the write end
 * 3 and 4 are close-on-exec once the interpreter runs.
 *
 * An interpreter may have a second process on its memory that only sleeps, the
 * holder (runners/hold.h). It has a control group of its own.
 *
 * A message is a le32 length and that many bytes: texts, each ended by NUL:
 * verb ("run", "file", "heat", "own"), mode ("script", "call", "session", "cell"), function
 * name, "fresh" or "", where to go first or "", number of arguments, the arguments, the
 * environment. Bash gets the
 * verb's first letter and nothing else. "file" is "run" with RUNNER_INPUT as standard input, in place
 * of the pipe.
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
#define RUNNER_WARMUP_PROGRAM "" /* argv[0] that no job has: see warmup_program.h */

struct runner {
	enum wire_runner kind;
	pid_t pid;             /* 0: it has ended, or never began */
	bool own;              /* has secrets that no clone has */
	bool living;           /* it takes steps: see step.h */
	const struct wire_strings *fresh; /* borrowed, or NULL: the environment of
				one that has nothing loaded and does not wait */
	unsigned heats;        /* rounds of heat in this machine */
	int control;           /* owned */
	int pipe[PIPE_MAX];    /* owned; init's ends, nonblocking */
	int theirs[PIPE_MAX];  /* owned until the process has them */
	struct cgroup cgroup;
};

/*
 * Starts the process, a fresh one if r->fresh is set before. It has its pipes
 * and the control group of that name, but is not ready: runner_wait().
 */
int runner_start(struct runner *r, enum wire_runner kind, const char *group,
		 struct err *err);
/* As one that never began. */
void runner_clear(struct runner *r, enum wire_runner kind);
void runner_close(struct runner *r);
/* Waits for one byte, timeout_ms at most. */
int runner_wait(int control, int timeout_ms);
/*
 * Waits until sys_now() is end for its first "R". A runner may say before which
 * modules of the environment it could not load: "L", a line of printable ASCII,
 * NUL. Each line goes to cold; those beyond its cap are lost.
 */
int runner_wait_ready(int control, uint64_t end, struct buf *cold);
/* Waits until a runner that was started is ready, or sys_now() is end. */
int runner_await(struct runner *r, uint64_t end, struct buf *cold,
		 struct err *err);
/* Sends the message that makes it the program ("run", "file"), warms it ("heat") or
 * has it draw its secrets anew ("own"). */
int runner_send(const struct runner *r, const char *verb,
		const struct wire_job *job);
/* For cgroup_mark_code(): bytes of heap that its interpreter has when it is
 * started without us. */
uint64_t runner_plain_heap(enum wire_runner kind);
const char *runner_name(enum wire_runner kind);
const char *runner_mode(uint32_t mode); /* as in a message */

#endif
