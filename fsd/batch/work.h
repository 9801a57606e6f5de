/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch at work. The steps of one run, each of which a later start recognizes:
 *
 *   .batch-ID-KEY-TRY     a draft in the mount                          flight.c
 *   batch-ID-KEY-TRY      renamed: the job is accepted
 *   r/.new-...            its results are copied and synced             publish.c
 *   r/PATH                renamed: this is the result
 *   a line of the journal
 *   the job is removed
 *
 * ID is the batch's, KEY the input's, TRY the number of the run. For an input whose results
 * get no directory the line is the result.
 */
#ifndef FSD_BATCH_WORK_H
#define FSD_BATCH_WORK_H

#include "batch.h"
#include "fsd/client/client_mount.h"
#include "fsd/client/job_draft.h"
#include "journal.h"
#include "list.h"
#include "identity.h"
#include "out.h"
#include "record.h"
#include "settings.h"
#include "vm/os/loop.h"

#define ENDED_MOST 64u   /* runs whose results are not published yet */
#define TOLD_MOST 10u    /* failures that the end lists */

enum step {
	STEP_FREE,
	STEP_RUNS,    /* its job is in the mount: queued, running or just ended */
	STEP_ENDED,   /* its job has ended; the results wait to be copied */
	STEP_COPIED,  /* the copy waits for the rename */
	STEP_PLACED,  /* results are published, or there are none; its journal line
		       * waits */
	STEP_LOGGED,  /* its line is written; the job waits for its removal */
};

/* A run of the batch whose job is in the mount. */
struct flight {
	uint32_t entry;
	uint16_t run;
	uint8_t step;          /* enum step */
	bool final, failed;    /* final: no run follows; failed: the last run has
			        * failed */
	bool repeated;         /* fsd failed, and has run the job again itself */
	int wait;              /* owned: the job's file `wait`, or -1 */
	int dir;               /* owned: the job's directory, once it has ended, or -1 */
	int hold;              /* owned: the job is removed when this closes; or -1 */
	unsigned memory_mb;
	struct stamp stamp;    /* state of the input when it was copied */
	struct buf line;       /* owned: for the journal */
	char made[OUT_TEMPORARY]; /* name in r/ of the directory with the copied
				   * results */
};

struct counts {
	uint32_t total;    /* inputs of this part */
	uint32_t before;   /* inputs that had a result when this start began */
	uint32_t done;     /* inputs that have a result now */
	uint32_t failed;   /* inputs whose exit code is not 0, or that cannot be read */
	uint32_t unread;   /* inputs that cannot be read */
	uint32_t ended;    /* runs of this start after which no other run of the input
			    * follows */
	uint32_t bad;      /* how many of `ended` have failed */
	uint32_t repeated; /* inputs that fsd once failed, and that a later run
			    * completed */
};

struct batch {
	const struct batch_options *o;
	struct settings set;
	struct run_client run;   /* o->run, plus the settings for every job */
	char memory[16];         /* the argument of option -m */
	struct program program;
	struct batch_list list;
	struct out out;
	struct identity identity;
	struct journal journal;
	struct client_mount mount;
	struct client_signals signals;
	bool held;               /* jobs are removed when this process ends */
	char suffix[24];         /* end of the names of such jobs */
	int poll;                /* owned: epoll of the signals and of each wait, or -1 */

	struct fields *fields;   /* owned: flight.c's */
	struct flight *flight;   /* owned */
	unsigned flights;        /* elements in flight */
	unsigned running, ending; /* flights in STEP_RUNS; flights in a later step */
	uint32_t next;           /* entries before this one were started */
	uint32_t *again;         /* owned: indexes of the entries that run again */
	unsigned agains, again_room;
	struct counts n;
	char *told[TOLD_MOST];   /* owned: sentences about the first failures, for the
				  * end */
	unsigned tolds;

	unsigned losses;         /* times that the mount was lost since a run started */
	uint64_t publish_ns;     /* when ended runs are published next; 0: none waits */
	uint64_t pause_ns;       /* no run is started before this time */
	unsigned pause_s;        /* length of the last pause */
	uint64_t begun_ns;
	uint64_t ended_ns;       /* when a run ended last */
	uint64_t health_ns;      /* when to ask for the mount's health */
	uint64_t sick_ns;        /* since when no machine can be had; 0: it is well */
	bool lost;               /* the mount is gone, or not as we expect it */
	bool stopping;           /* no further run is started */
	bool now;                /* running jobs are not waited for either */
	int code;                /* exit code that was decided, or 0 */
	struct report *report; /* owned */
};

/* resume.c: learns what was done from the journal and r/. */
/* Sets the entries' states by the journals alone. set: for the runs that follow a
 * failure. Return: 0 or negative errno. */
int states_read(struct batch_list *l, struct journals *j, const struct settings *set);
/* Sets the entries' states by r/ as well. Return: 0, or an exit code, and standard error
 * has the sentence. */
int batch_load(struct batch *b);
/* Revokes the results that --failed, --changed and --again name. With dry_run it only
 * counts them. Return: as batch_load(). */
int batch_revoke(struct batch *b, bool dry_run, uint32_t *ret_count);
/* Decides what follows the end of a run. Return: true: no run follows. */
bool batch_is_final(const struct settings *s, struct entry *e, bool failed,
		    bool out_of_memory, unsigned memory_mb);

/* flight.c: jobs in the mount. */
struct fields *fields_new(void); /* Return: NULL without memory */
void fields_free(struct fields *x); /* NULL: does nothing */
/* Takes over the jobs of an earlier start, and removes its drafts. Return: 0 or negative
 * errno. */
int batch_attach(struct batch *b);
/* Starts a run of the input. */
void batch_start(struct batch *b, uint32_t entry);
/* Starts a run of the input a little later. */
void batch_start_again(struct batch *b, uint32_t entry);
/* Call it when the job has ended, was refused or is gone. */
void batch_on_end(struct batch *b, struct flight *f);
/* Opens the directory of the flight's job. Return: 0 or negative errno. */
int flight_open(struct batch *b, struct flight *f);
/* Forgets a flight. Its job continues, but a job that is held ends. */
void flight_leave(struct batch *b, struct flight *f);
/* Kills and removes the flight's job. */
void flight_kill(struct batch *b, struct flight *f);
void flight_done(struct batch *b, struct flight *f);
/* Handles an error of the mount: pauses, attaches to it again, or ends the batch. what:
 * the sentence. */
void batch_mount_failed(struct batch *b, int error, const char *what);
/* Starts nothing for a while, and says why. */
void batch_pause(struct batch *b, const char *why);
/* Starts no further run; fsd batch ends with that code. */
void batch_stop(struct batch *b, int code);
/* Handles a signal: the first one stops the batch, the next one ends it at once. */
void batch_on_signal(struct batch *b, int number);

/* publish.c: results from the mount to OUT. */
/* Copies the results of a run that has ended. */
void batch_copy(struct batch *b, struct flight *f);
/* Publishes all that were copied, writes their lines, removes their jobs. */
void batch_publish(struct batch *b);
/* Records that the input has not run, or that its result was lost: the next start tries
 * again. status: the status in its journal line. */
void batch_unread(struct batch *b, uint32_t entry, const char *status, const char *why);

/* report.c: for people. */
void report_begin(struct batch *b);
/* Return: when the next line of the report is due. */
uint64_t report_due(const struct batch *b);
void report_tick(struct batch *b);
/* Prints the line now. */
void report_line(struct batch *b);
/* Prints a sentence on a line of its own: removes the bar before. Return: code. */
int report_say(struct batch *b, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Keeps the words about a failure for the end. */
void report_failure(struct batch *b, const struct flight *f, const struct facts *facts);
void report_unread(struct batch *b, uint32_t entry, const char *why);
void report_dry_run(struct batch *b, uint32_t revoked);
/* Prints the memory that a private mount needs with so many machines at a time. */
void report_private(const struct batch *b, unsigned machines);
/* Writes results.tsv and failed.txt, and prints the last sentences. */
void report_end(struct batch *b);
void report_done(struct batch *b);

/* table.c */
/* Writes results.tsv and failed.txt, from the states in the journals. Return: 0 or
 * negative errno. */
int table_write(struct out *out, struct batch_list *l);

#endif
