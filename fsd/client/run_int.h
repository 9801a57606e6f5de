/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations for the files of `fsd run` and of `fsd submit`.
 *
 *   job_draft.h    the door to the next five: one job of a program and its files
 *   run_program.c  which program, and under which name it is put into the job
 *   run_inputs.c   which inputs it may have, and their paths in the job
 *   run_config.c   the text of config.json
 *   run_put.c      what a draft gets: program, inputs, standard input, config.json
 *   run_job.c      the draft itself, its submission and its removal
 *
 *   run_client.c   the order of things; waits for the job
 *   run_stream.c   the client's own streams and signals; small files of the job
 *   run_input.c    standard input that comes while the job runs
 *   run_results.c  -o DIR
 *   run_get.c      -g PATH
 *   run_wait.c     what it waits for until there is a machine
 *   run_end.c      the job's end: what is said, the exit code
 */
#ifndef FSD_RUN_INT_H
#define FSD_RUN_INT_H

#include <poll.h>
#include <sys/stat.h>

#include "fsd/local/nonblocking_output.h"
#include "job_draft.h"
#include "run_say.h"
#include "vm/os/loop.h"

#define EXIT_KILLED 137    /* exit code for a job that a user has cancelled */
#define EXIT_NEVER_RAN 125 /* the job's exit_code if fsd or the machine has failed */

/* Standard input that is streamed. */
struct input {
	bool open;      /* standard input is streamed and has not ended */
	int state;      /* owned: the file `state` of the job, until the program runs */
	int feed;       /* owned: stdin.feed, from then on */
	bool copies;    /* bytes stay in standard input until the program reads them */
	int pipe[2];    /* owned: for copies of a pipe's bytes, or -1 */
	size_t sent;    /* bytes of standard input that were sent as copies */
	uint64_t read;  /* bytes of such copies that the program has read */
	size_t at, len; /* the bytes of data that the job has not taken yet */
	char data[65536];
};

struct client {
	const struct run_client *c;
	struct client_mount mount;
	struct client_signals signals;
	struct program program;
	struct job_draft draft; /* later the job */
	struct input input;
	unsigned interrupts;
	int early;         /* the signal that came before the program ran, or 0 */
	struct nonblocking_output out[2]; /* standard output, standard error */
	uint64_t begun_ns; /* when the job was submitted */
	uint64_t health_ns; /* when to print why the job does not run */
	char health[600];  /* the health that was printed last */
	char waits[512];   /* the last printed reason why the job waits */
	uint64_t failing_ns; /* since when no machine can be started; 0: machines start */
	bool lost;         /* some output could not be written: a sentence about it was
			    * printed */
	bool unread;       /* a reader of the output has gone */
	bool given_up;     /* a reader paused after a signal: the output was given up */
};

/* Functions that return int: 0, or the exit code, and standard error has the
 * sentence. */

/* run_program.c */
/* Checks the program's first bytes. Return: false: they do not say which language it is,
 * and ret has the sentence. */
bool program_check(const struct run_client *c, const struct program *p,
		   const char *data, size_t len, struct err *ret);

/* functions of run_config.c */
/* True if the option is on the command line. */
bool run_is_given(const struct run_client *c, enum run_opt opt);

/* run_inputs.c */
/* True if a job's directory has such a name, or a file of this name has a meaning
 * there. */
bool input_is_taken(const char *name);
/* True if this -i brings a file of this name. program: a file that it does not bring, or
 * "". */
bool input_has_name(const struct run_client *c, const char *path, const char *name,
		    const char *program);
/* Finds the path that an input gets in the job; "": the contents of a directory go to the
 * top. Return: false: no path in a job is possible. */
bool input_place(const struct run_client *c, const char *path, char ret[BELOW_PATH]);
static inline bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* functions of run_put.c */
bool project_has_config(const struct run_client *c);
/* Copies the project, the program, the inputs and standard input into the draft. */
int draft_put_files(struct job_draft *d);
/* Makes config.json: keys from the command line replace those of the project's file. */
int draft_make_config(struct job_draft *d, struct buf *ret);
/* Writes config.json, the last file of a draft. A refusal comes at a write or at the
 * close. */
int draft_put_config(struct job_draft *d, const struct buf *config);

/* run_input.c */
/* True if standard input is of a kind that is streamed. */
bool input_is_open(const struct run_client *c);
/* Call it after the job was submitted. */
void input_begin(struct client *k);
/* Fills *p with the descriptor for which the input waits. Return: how many were filled, 0
 * or 1. */
nfds_t input_poll(const struct client *k, struct pollfd *p);
/* Call it when poll(2) reports that descriptor. */
void input_go_on(struct client *k);
/* Call it when the program has ended: it has read so many bytes in total. The other bytes
 * stay in standard input, for other processes that share it. */
void input_end(struct client *k, uint64_t read);
void input_close(struct input *in);

/* functions of run_results.c */
int results_check(struct client *k);
int results_take(struct client *k);

/* run_get.c */
/* Checks -g, before there is a job. */
int gets_check(const struct run_client *c);
/* Copies the files of -g: all, or none unless a rename fails. For a job that has ended
 * well. */
int gets_take(struct client *k);

/* run_wait.c */
/* Sets when tell_waits() is called first. */
void waits_begin(struct client *k);
/* Says on standard error why there is no machine yet. Return: 0, or the exit code when
 * it waits no more. */
int waits_tell(struct client *k);

/* run_stream.c */
/* Reads a small file of the job as text. Return: its length, or -1 with errno. */
ssize_t client_read(struct client *k, const char *name, char *room, size_t size);
/* Writes a verb to the job's ctl. Return: false: there is no program that could have got
 * it. */
bool client_ctl(struct client *k, const char *verb);
/* Takes a signal that has come: the first one goes to the program, the next one ends the
 * job. A running job may not have its program yet. */
void client_on_signal(struct client *k);
/* Writes whole lines to standard error; its reader may be gone. */
void client_tell(struct client *k, const char *text);
/* Like client_complain(), for a client that has begun to copy output. */
int client_fail(struct client *k, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints to standard output, where the job's stdout goes, too. */
void client_print(struct client *k, const char *data, size_t len);
void client_print_error(struct client *k, const char *data, size_t len);
/* Copies from a descriptor to one of our own streams. Return: bytes copied; 0: the end;
 * -1: no bytes are there now. */
ssize_t client_pump(struct client *k, int from, int to);

/* functions of run_end.c */
int client_outcome(struct client *k);

static inline bool is_set(const struct run_client *c, enum run_opt opt)
{
	return c->value[opt] != NULL;
}

/* True if standard input is the program itself (FILE is "-"). */
static inline bool is_program_on_stdin(const struct run_client *c)
{
	return c->file && !strcmp(c->file, "-");
}

/* True if the job gets the client's standard input. */
static inline bool takes_stdin(const struct run_client *c)
{
	return !is_program_on_stdin(c) && !is_set(c, RUN_NO_STDIN);
}

#endif
