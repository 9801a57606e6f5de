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
	STEP_RUNS,    /* its job is queued, runs or has ended */
	STEP_ENDED,   /* its results wait for the copy */
	STEP_COPIED,  /* the copy waits for the rename */
	STEP_PLACED,  /* its line waits for the journal; also without results */
	STEP_LOGGED,  /* its job waits for its removal */
};

/* One job of the batch in the mount. */
struct flight {
	uint32_t entry;
	uint16_t run;
	uint8_t step;          /* enum step */
	bool final, failed;    /* of its end */
	bool repeated;         /* the appliance failed, and ran it again */
	int wait;              /* owned: its file, or -1 */
	int dir;               /* owned: its directory, from its end on, or -1 */
	int hold;              /* owned: it goes with this process, or -1 */
	unsigned memory_mb;
	struct stamp stamp;    /* of its input when it was copied */
	struct buf line;       /* owned: for the journal */
	char made[OUT_TEMPORARY]; /* what was copied, in r/ */
};

struct counts {
	uint32_t total;    /* inputs of this part */
	uint32_t before;   /* that had a result when it began */
	uint32_t done;     /* that have one, */
	uint32_t failed;   /* which is no exit code 0; or that cannot be read */
	uint32_t unread;   /* that cannot be read */
	uint32_t ended;    /* runs of this start that were final, */
	uint32_t bad;      /* and failed */
	uint32_t repeated; /* that the appliance failed, and a later run did not */
};

struct batch {
	const struct batch_options *o;
	struct settings set;
	struct run_client run;   /* o->run with what each job has */
	char memory[16];         /* its -m */
	struct program program;
	struct batch_list list;
	struct out out;
	struct identity identity;
	struct journal journal;
	struct client_mount mount;
	struct client_signals signals;
	bool held;               /* jobs go with this process */
	char suffix[24];         /* of the names of such jobs */
	int poll;                /* owned: epoll of the signals and of each wait, or -1 */

	struct fields *fields;   /* owned: flight.c's */
	struct flight *flight;   /* owned */
	unsigned flights;        /* of these */
	unsigned running, ending; /* flights in STEP_RUNS, and behind it */
	uint32_t next;           /* entries before this one were started */
	uint32_t *again;         /* owned: those that run again */
	unsigned agains, again_room;
	struct counts n;
	char *told[TOLD_MOST];   /* owned */
	unsigned tolds;

	unsigned losses;         /* times that the mount was lost since a run started */
	uint64_t publish_ns;     /* when it publishes what has ended; 0: there is none */
	uint64_t pause_ns;       /* it starts nothing until then */
	unsigned pause_s;        /* how long the last pause was */
	uint64_t begun_ns;
	uint64_t ended_ns;       /* when a run ended last */
	uint64_t health_ns;      /* when to ask for the mount's health */
	uint64_t sick_ns;        /* since when no machine can be had; 0: it is well */
	bool lost;               /* the mount has gone, or differs from what is known */
	bool stopping;           /* it starts no more */
	bool now;                /* and waits for no end */
	int code;                /* exit code that was decided, or 0 */
	struct report *report; /* owned */
};

/* resume.c: learns what was done from the journal and r/. */
/* Sets the entries' states by the journals alone. set: for the runs that follow a failure.
 * Return: 0 or negative errno. */
int states_read(struct batch_list *l, struct journals *j, const struct settings *set);
/* Sets them by r/ as well. Return: 0, or an exit code, and standard error has the
 * sentence. */
int batch_load(struct batch *b);
/* Revokes the results that --failed, --changed and --again name. With dry_run it only counts
 * them. Return: likewise. */
int batch_revoke(struct batch *b, bool dry_run, uint32_t *ret_count);
/* Decides what follows the end of a run. Return: true: no run follows. */
bool batch_is_final(const struct settings *s, struct entry *e, bool failed,
		    bool out_of_memory, unsigned memory_mb);

/* flight.c: jobs in the mount. */
struct fields *fields_new(void); /* or NULL */
void fields_free(struct fields *x); /* no-op on NULL */
/* Takes over the jobs of an earlier start, and removes its drafts. Return: 0 or negative
 * errno. */
int batch_attach(struct batch *b);
/* Starts a run of the input. */
void batch_start(struct batch *b, uint32_t entry);
/* The same, soon. */
void batch_start_again(struct batch *b, uint32_t entry);
/* The job has something to say: it has ended, is refused, or gone. */
void batch_on_end(struct batch *b, struct flight *f);
/* Opens the directory of its job. Return: 0 or negative errno. */
int flight_open(struct batch *b, struct flight *f);
/* Forgets a flight: its job stays, or goes if it is held. */
void flight_leave(struct batch *b, struct flight *f);
/* Kills and removes its job. */
void flight_kill(struct batch *b, struct flight *f);
void flight_done(struct batch *b, struct flight *f);
/* An error of the mount: starts nothing for a while, finds it again, or ends the batch.
 * what: the sentence. */
void batch_mount_failed(struct batch *b, int error, const char *what);
/* Starts nothing for a while, and says why. */
void batch_pause(struct batch *b, const char *why);
/* Starts no more, and ends with that code. */
void batch_stop(struct batch *b, int code);
/* A signal came: the first one stops, the next one ends at once. */
void batch_on_signal(struct batch *b, int number);

/* publish.c: results from the mount to OUT. */
/* Copies the results of a run that has ended. */
void batch_copy(struct batch *b, struct flight *f);
/* Publishes all that were copied, writes their lines, removes their jobs. */
void batch_publish(struct batch *b);
/* The input has not run, or its result is nowhere. The next start tries again. status: of its
 * line. */
void batch_unread(struct batch *b, uint32_t entry, const char *status, const char *why);

/* report.c: for people. */
void report_begin(struct batch *b);
/* When the next line is due. */
uint64_t report_due(const struct batch *b);
void report_tick(struct batch *b);
/* Prints the line now. */
void report_line(struct batch *b);
/* A sentence, not in the middle of the bar. */
int report_say(struct batch *b, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Keeps the words about a failure for the end. */
void report_failure(struct batch *b, const struct flight *f, const struct facts *facts);
void report_unread(struct batch *b, uint32_t entry, const char *why);
void report_dry_run(struct batch *b, uint32_t revoked);
/* The memory that a private mount asks for, with so many machines at a time. */
void report_private(const struct batch *b, unsigned machines);
/* results.tsv, failed.txt and the last words. */
void report_end(struct batch *b);
void report_done(struct batch *b);

/* table.c */
/* Writes results.tsv and failed.txt; the states of the list are read anew. Return: 0 or
 * negative errno. */
int table_write(struct out *out, struct batch_list *l);

#endif
