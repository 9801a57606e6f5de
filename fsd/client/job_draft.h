/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is made of a program and its files: a draft in the mount, which one rename
 * submits.
 *
 *   struct program program;          found once: it serves any number of drafts
 *   struct job_draft d = JOB_DRAFT(&options, &program, &mount, &signals);
 *
 *   r = program_find(&options, &program);
 *   d.inputs = ..., d.args = ...     what this job has beside the others
 *   r = job_draft_make(&d, ".name", hold);      config.json is its last file
 *   r = job_draft_submit(&d, "name");
 *   if (r)
 *           d.fault, d.error, d.said            say why; it prints no sentence
 *   job_draft_done(&d, keep);
 *   program_done(&program);
 *
 * A draft holds no buffers: its files are copied by blocks on the stack. Functions that
 * return int give 0, or an exit code. After a failure of draft d, d.said has the
 * sentence.
 */
#ifndef FSD_JOB_DRAFT_H
#define FSD_JOB_DRAFT_H

#include <limits.h>

#include "client_mount.h"
#include "fsd/local/below.h"
#include "run_client.h"

struct program {
	int fd;           /* owned, or -1: there is nothing to be copied */
	const char *what; /* the name that the user gave it */
	char name[LIMIT_FILE_NAME + 1]; /* the name in the job: "hello.py", "code" */
	bool named;       /* config.json says so, as "main" */
	const char *interpreter; /* for --main: the command in config.json */
	bool itself;             /* for --main without an interpreter: the file itself is
				  * executed */
	bool python;      /* -c without -l */
};

/* Finds and opens the program that the options mean. Standard error has the sentence of
 * an error. Call program_done() also after an error. */
int program_find(const struct run_client *c, struct program *p);
void program_done(struct program *p);

/* Checks the options' -i and -C. Standard error has the sentence of an error. */
int inputs_check(const struct run_client *c);
/* Checks whether an input of a job may have this path. place: returns the input's path in
 * the job; "": the contents of a directory. It does not read the file. Return: 0, or
 * -EINVAL with a sentence. */
int input_check(const struct run_client *c, const char *path, char place[BELOW_PATH],
		struct err *err);

/* The arguments of a job, with the names of its inputs. All zeros at first; it may be
 * used for one job after the other. */
struct job_args {
	char *arg[LIMIT_ARGS]; /* borrowed: in text */
	unsigned count;
	struct buf text;       /* owned */
};
/*
 * Makes the options' ARGs the arguments of a job. An ARG that is {} becomes all names, {}
 * in a longer one becomes the first name. The names come last if no ARG has {}, and
 * `last`. Return: 0; -E2BIG: they are too many or too long for a job; -ENOMEM.
 */
int job_args_make(struct job_args *a, const struct run_client *c, const char *const *name,
		  unsigned count, bool last);
void job_args_done(struct job_args *a);

/* Appends the config.json of the options: it has a key only for an option that was given.
 * Standard error has the sentence of a wrong value. program: of zeros for a sandbox. */
struct job_draft;
int client_config(const struct job_draft *d, struct buf *ret);

enum draft_fault {
	DRAFT_FAILED = 1, /* the options' own files cannot be copied, or no memory */
	DRAFT_INPUT,      /* this job's inputs or standard input cannot be read */
	DRAFT_MOUNT,      /* a call on the mount has failed: see error */
	DRAFT_REFUSED,    /* the mount refuses the job's contents */
	DRAFT_SIGNAL,     /* a signal came */
};

struct job_draft {
	/* The caller sets these; they are borrowed. */
	const struct run_client *c;
	const struct program *program;
	const struct client_mount *mount;
	struct client_signals *signals; /* a signal ends the making */
	const char *const *inputs;      /* files or directories beside the options' -i */
	unsigned input_count;
	char *const *args;
	unsigned arg_count;
	const char *stdin_path;         /* the job's standard input; or NULL */
	bool streams_stdin;             /* standard input is sent while the job runs */

	/* The functions below set these. */
	char name[NAME_MAX + 1]; /* name in the mount; "": not made yet */
	int dir;          /* owned: the draft's directory, or -1 */
	int hold;         /* owned: the job is removed when this closes; or -1 */
	bool stdin_open;  /* ret: config.json says that standard input is streamed */
	bool copies_job;  /* the project is a job itself */

	/* The last failure: its kind, errno and sentence. */
	enum draft_fault fault; /* 0: none */
	int error;        /* errno of the call that failed, or 0 */
	char said[1200];  /* the sentence about a failure, without a full stop */
};
#define JOB_DRAFT(options, the_program, the_mount, the_signals)              \
	{ .c = (options), .program = (the_program), .mount = (the_mount),    \
	  .signals = (the_signals), .args = (options)->args,                 \
	  .arg_count = (options)->arg_count, .dir = -1, .hold = -1 }

/* Makes the directory `name`, which begins with ".", with all its files. hold: the job is
 * removed when this process ends. */
int job_draft_make(struct job_draft *d, const char *name, bool hold);
/* Renames the draft, which is then a job that starts. */
int job_draft_submit(struct job_draft *d, const char *name);
/* Closes the draft's descriptors. Removes the job if it was not submitted; a submitted
 * one, too, unless keep. */
void job_draft_done(struct job_draft *d, bool keep);

/* Appends text of the job's file `error`, with the words of the command line in place of
 * the job's. */
void job_draft_errors(const struct job_draft *d, const char *text, struct buf *ret);

/* Records a failure. Return: code. */
int job_draft_fail(struct job_draft *d, enum draft_fault fault, int code,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
