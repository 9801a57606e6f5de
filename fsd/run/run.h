/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a job: its inputs as they were at the start, its machine, its growing
 * streams, its output tree, its result. A run lives from run_start() until its result is
 * published; from then on the store has all of it.
 *
 * Context: the loop's thread, in a fiber or not. A call that needs the disk makes its
 * fiber wait; outside of a fiber it blocks. Errors are negative errnos.
 */
#ifndef FSD_RUN_H
#define FSD_RUN_H

#include "fsd/jobs/job.h"
#include "fsd/jobs/job_watch.h"

/* The program and the config of a run, as submit.c has found them. */
struct run_spec {
	struct parsed_config *parsed; /* owned reference; parsed->result is 0 */
	const struct job_config *config; /* borrowed: inside parsed */
	const struct lang *lang;    /* NULL: a #! program or a command */
	struct node *code;          /* borrowed; NULL: a command, or "code" has the text */
	uint64_t code_skip;         /* bytes of a byte order mark at the start of code */
};

/*
 * Starts a run: asks for a machine, records the job as queued (or as running, if a
 * machine is free now), hides the old results, posts EV_SUBMIT. If an earlier server has
 * queued the job, its record stays, and the call only asks for a machine. Takes spec,
 * also on failure. In a fiber that holds the job.
 * Return: 0, or negative errno with a sentence: the job is unchanged. -EINVAL is always
 * the config's fault.
 */
int run_start(struct job *job, struct run_spec *spec, struct err *err);
void run_spec_done(struct run_spec *spec);

/* inputs.c: call it before a file of the job is removed. Return: true if the job's run,
 * or a later one, still needs the file: call removed_files_take() then. In a fiber that
 * holds the job; the fiber may wait. */
bool run_needs_input(struct job *job, const struct node *node);

/* Call it when a user writes a program of this name: a run is likely soon, so the pool
 * makes a machine ready for its language. */
void run_expect(struct fsd *d, uid_t uid, const char *name);

/* True if the job's run has a machine and no timeout. A server that ends does not wait
 * for such a run. */
bool run_is_endless(const struct job *job);
/* Ends the job's run as "cancelled" and keeps its output so far. Does nothing if the
 * program has ended, or no run exists. */
void run_kill(struct job *job);
/* Waits until the end of a queued run is on the disk; call it after run_kill(). While the
 * record says "queued", a restart would run the job, so the cancellation is not certain.
 * Releases all jobs that the fiber holds. Return: 0, or negative errno: the disk has not
 * stored the end yet, and the run tries again. */
int run_killed(struct job *job);
/* Checks for an open standard input ("stdin_open"). Return: 0; -ENXIO: the job's program
 * is not running, or has no such input. */
int run_feed_open(const struct job *job);
/* Writes to it. unique: the number of the FUSE request, so that a repeated request is not
 * written twice; 0: none. Return: bytes taken; -EAGAIN: none now; -EPIPE: the input has
 * ended. */
ssize_t run_feed_write(struct job *job, const void *data, size_t size,
			uint64_t unique);
/* Events of poll(2): POLLOUT, POLLERR; POLLPRI: the program has read all that was
 * written. */
unsigned run_feed_events(struct job *job);
/* Sets the function that the run calls when these events have changed; room: also when
 * more can be written. */
void run_feed_watch(struct job *job, void (*told)(struct job *job), bool room);
/* Ends the input. Return: 0; -ESRCH: there is no open standard input now. */
int run_feed_end(struct job *job);
/* Sends a signal to the program's first process. Return: 0; -ESRCH: the program is not
 * running now. */
int run_signal(struct job *job, unsigned signal);
/* Interrupts the program like Ctrl-C in a terminal: SIGINT to its process group. A step
 * of a session ends, and the session's interpreter lives on. Return: as run_signal(). */
int run_interrupt_program(struct job *job);
/* Ends the run of a job that is removed: the machine dies, and no result is published.
 * If the removal fails, the job ends as "cancelled". */
extern const struct job_watcher run_watcher;
/* Call it before the server ends. A queued job stays queued. A running job ends as
 * "interrupted", or is queued again if it has attempts left. */
void run_interrupt(struct job *job);
/* Call it when the service ends. A run that lost its jailer waits for another server;
 * none comes, so the run fails. */
void run_stop_without_jailer(struct job *job);
/* Ends a job that a dead server left running, as "interrupted" or "cancelled"; or queues
 * it again if it has attempts left. */
void run_recover(struct job *job);
/* Ends an accepted job that cannot be run any more, as "failed". */
void run_reject(struct job *job, const char *message);
/* Like run_reject(), for a job that was accepted at close(2) (job->accept.promised) and
 * has not started. */
void run_reject_promised(struct job *job, const char *message);

/*
 * Reads bytes of a stream of the newest run, from offset on. Return: how many; 0: the
 * present end, or there was no run; negative errno; -EAGAIN as job_pread().
 */
int run_read(struct job *job, enum vm_stream stream, char *room, size_t size,
	     uint64_t offset);
/* Opens the stream for reading. Return: fd, the caller's; -ENOENT: the run is over and
 * the stream was empty; another negative errno. */
int run_open(struct job *job, enum vm_stream stream);
/* Return: the stream's size now, in bytes. */
uint64_t run_stream_size(const struct job *job, enum vm_stream stream);

#endif
