/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a job: the inputs as they were at the start, the leased machine,
 * the growing streams, the collected output tree, the published result. A run
 * lives from the commit to the publication; afterwards the store has it all.
 */
#ifndef FSD_RUN_H
#define FSD_RUN_H

#include "fsd/jobs/job.h"
#include "fsd/jobs/job_watch.h"

/* What a run needs to know of the job's inputs; made by submit.c. */
struct run_spec {
	struct parsed_config *parsed; /* a reference; its result is 0 */
	const struct job_config *config; /* inside parsed */
	const struct lang *lang;    /* NULL: a #! program or a command */
	struct node *code;          /* borrowed; NULL: a command */
	uint64_t code_skip;         /* a byte order mark at its start */
};

/*
 * Takes spec (also on failure), asks for a machine, has it on record that the
 * job is queued (or running, if a machine is at hand), drops the old results,
 * posts EV_SUBMIT. In a fiber that holds the job. A job that is queued already,
 * by a daemon before this one, stays as it is and only asks.
 * Return: 0 or negative errno with a sentence, -EINVAL only for what the config
 * asks for; then nothing has changed.
 */
int run_start(struct job *job, struct run_spec *spec, struct err *err);
void run_spec_done(struct run_spec *spec);

/* inputs.c: a file of the job is about to be removed. True if the run, or one that may
 * follow it, is to have it all the same: removed_files_take(). In a fiber that holds the
 * job. */
bool run_needs_input(struct job *job, const struct node *node);

/* A program is being written under this name: a run is likely soon. */
void run_expect(struct fsd *d, uid_t uid, const char *name);

/* It has no timeout, and is not waited for by a server that ends. */
bool run_is_endless(const struct job *job);
/* Ends it as "cancelled"; what it wrote so far is kept. */
void run_kill(struct job *job);
/* After that: what is on record as queued runs after a restart, so who has it
 * cancelled is told whether that is. The fiber lets go of all that it holds, and
 * waits. Return: 0, or negative errno: it is tried again. */
int run_killed(struct job *job);
/* Its open standard input, "stdin_open". Return: 0; -ENXIO: its program is not
 * running, or has no such input. */
int run_feed_open(const struct job *job);
/* unique: of the request, by which one that is done again is known; 0: none. Return:
 * bytes taken; -EAGAIN: none now; -EPIPE: never again. */
ssize_t run_feed_write(struct job *job, const void *data, size_t size,
			uint64_t unique);
/* As poll(2): POLLOUT, POLLERR; POLLPRI: the program has read all that was written. */
unsigned run_feed_events(struct job *job);
/* Calls told, soon, when that has changed; room: also when more can be written. */
void run_feed_watch(struct job *job, void (*told)(struct job *job), bool room);
/* Ends it. -ESRCH as run_signal(). */
int run_feed_end(struct job *job);
/* -ESRCH if its program is not running now. */
int run_signal(struct job *job, unsigned signal);
/* As Ctrl-C in a terminal: SIGINT to all of its process group. A step of a session
 * ends, and its interpreter stays. -ESRCH as run_signal(). */
int run_interrupt_program(struct job *job);
/* A job that is removed loses its run: the machine dies, and no result is published.
 * If the removal fails, the job ends as "cancelled". */
extern const struct job_watcher run_watcher;
/* The daemon is about to end. What is queued stays so; what runs ends as
 * "interrupted", or is queued again if it may. */
void run_interrupt(struct job *job);
/* The service ends: what only another server could have begun is told. */
void run_stop_without_jailer(struct job *job);
/* A job that a dead daemon left running: likewise. */
void run_recover(struct job *job);
/* A job that was accepted and cannot be run any more ends as "failed". */
void run_reject(struct job *job, const char *message);
/* One of which that is on record by a promise of its close alone. */
void run_reject_promised(struct job *job, const char *message);

/*
 * Bytes of a stream of the newest run at offset, from memory or store.
 * Return: count, 0 at the present end (or before any run), negative errno;
 * -EAGAIN as job_pread().
 */
int run_read(struct job *job, enum vm_stream stream, char *room, size_t size,
	     uint64_t offset);
/* Opens it for reading. Return: fd; -ENOENT: it is over and was empty. */
int run_open(struct job *job, enum vm_stream stream);
/* Its size now. */
uint64_t run_stream_size(const struct job *job, enum vm_stream stream);

#endif
