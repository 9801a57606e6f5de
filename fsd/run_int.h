/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by run*.c only. */
#ifndef FSD_RUN_INT_H
#define FSD_RUN_INT_H

#include "arena.h"
#include "chores.h"
#include "run.h"
#include "sessions.h"

struct run_stream {
	int fd;           /* owned: append and read */
	uint64_t size;    /* bytes kept */
	uint64_t dropped; /* bytes over the limit */
	uint64_t limit;
};

/* A result on its way into the store. */
struct run_end {
	struct task task;
	struct job_result res;
	uint64_t no;       /* the job's */
	char id[STORE_ID_SIZE];
	char *name;        /* owned: the job's; it may be removed meanwhile */
	char message[700];
	struct result_attempt attempts[LIMIT_RETRY];
	char *attempts_text; /* owned: their messages */
	uint64_t stored;   /* bytes of result.json */
};

struct run {
	struct job *job;    /* owns us; NULL: it was removed while publishing */
	struct fsd *d;
	unsigned number;
	struct run_spec spec;
	struct vm_lease *lease; /* owned, vm_end(); or the session's */
	struct session *session; /* borrowed: where it waits or is, or NULL */
	struct list in_session;
	struct vm_job vm_job;
	struct vm_input *inputs;  /* owned; their paths are in texts */
	struct node **input_nodes; /* owned array; references; NULL: input.json */
	unsigned input_count, input_room;
	struct arena texts;       /* paths of inputs and of files */
	struct turn collect;      /* inputs, until there is a lease */
	struct node *dir;         /* borrowed: whose turn it is, or NULL */
	struct walk walk;         /* in it */
	unsigned next_dir;        /* the input that may be listed next */
	bool root_listed;
	struct node *stdin_node;  /* a reference, or NULL */
	struct wire_strings argv, envp; /* owned arrays of owned strings */

	struct run_stream stream[2]; /* VM_OUT, VM_ERR */
	struct buf guest_json;       /* RESULT */
	bool guest_overflow;

	bool stored;     /* there is a place for its results */
	bool running;    /* granted and told to run */
	bool started;    /* the program's first instruction */
	bool ended;      /* exit is valid */
	bool complete;   /* the machine has given all of its output */
	bool timed_out, cancelled;
	bool final;      /* another run of the job would end like this one */
	bool publishing; /* its end is known and nobody else may change it */
	struct run_end end;
	bool counted;    /* in fsd->running */
	bool over_quota; /* something was left out for that reason */
	struct quota_slot slot; /* of its owner's */
	struct wire_exit exit;
	struct loop_timer timer; /* the timeout, then the grace */

	/* the output tree */
	struct result_file *files; /* owned; their paths are in texts */
	unsigned file_count, file_room;
	uint64_t output_bytes, output_dropped;
	uint64_t path_bytes;       /* of all that were announced */
	unsigned entries;          /* made, and those on the way to them */
	struct node *file;         /* borrowed: the one being written */
	int file_fd;               /* its fd, or -1 */
	uint64_t file_left;

	uint64_t queued_ns, granted_ns, started_ns, exited_ns; /* MONOTONIC */
	uint64_t started_real_ns;
	const char *source, *accel; /* borrowed constants */
	char template_id[32];
};

extern const struct vm_events run_events;

/*
 * run_prepare.c: fills vm_job from the spec and the job's files, but for the
 * inputs. run_collect() adds those until now_ns() has reached until.
 * Return: 0; run_collect: 1 if there are more; negative errno.
 */
int run_prepare(struct run *run, struct err *err);
int run_collect(struct run *run, uint64_t until, struct err *err);
void run_unprepare(struct run *run);
int run_open_input(struct run *run, unsigned i);
uint64_t run_memory_need(const struct run *run);

/* run_output.c: one entry of the output tree. */
int run_output_file(struct run *run, uint32_t kind, uint32_t mode,
		    uint64_t size, const char *path);
int run_output_data(struct run *run, const void *data, size_t len);
int run_output_end(struct run *run);
/* No more will come: what is not whole yet goes. */
void run_output_cut(struct run *run);
void run_output_done(struct run *run);

/*
 * run_result.c: renders, publishes, posts the last event, frees the run. A
 * large result is rendered by the chores' thread, so all but the first happens
 * later.
 */
void run_finish(struct run *run, enum job_status status, const char *message);

/* run_again.c: if the appliance failed the run and the job may have another
 * one, that one begins. Return: true if so; then run is freed. */
bool run_again(struct run *run, enum job_status status, const char *message);

/* run.c: number: of the run. Takes spec. NULL without memory. */
struct run *run_new(struct job *job, struct run_spec *spec, unsigned number);
/* run.c: it collects its inputs, then asks for a machine. */
void run_collect_later(struct run *run);
/* run.c: the results of the job's newest run leave the tree, */
void run_hide_old(struct job *job);
/* and run `number`'s the store. */
void run_drop(struct job *job, unsigned number);

/* run_events.c: a machine is there. */
void run_begin(struct run *run, struct vm_lease *lease);
/* run.c: gives up the machine, or the place in a session. */
void run_leave(struct run *run);
/* run.c: makes the place for its results, if there is none yet, and says so if
 * that cannot be. Return: 0 or negative errno. */
int run_store(struct run *run);

/* run.c: 0 or negative errno; then its fd is there. */
int run_stream_make(struct run *run, enum vm_stream stream);
/* run_events.c: something does not fit into the owner's quota of bytes. */
void run_over_quota(struct run *run);
#define RUN_OVER_QUOTA "the owner's quota of bytes (--quota-bytes) is used up"

void run_free(struct run *run);

#endif
