/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results that a job shows, and which of its rows (virtual files) exist now. Only
 * job_results.c changes struct job_results; other rooms read it and call the verbs
 * below. Context: the loop or a fiber that holds the job.
 */
#ifndef FSD_JOB_RESULTS_H
#define FSD_JOB_RESULTS_H

#include <stdbool.h>

#include "layout/layout.h"

struct job;
struct node;

struct job_results {
	bool has;            /* of a run that is over: from its end until the next
				one is queued, whatever the state */
	struct node *output; /* owned: output/ of the newest run, or NULL */
	bool output_unseen;  /* a previous server's: job_output() looks for it */
	struct node *sink;   /* owned: the output/ that a copy brought into this
				draft, or NULL */
	unsigned hidden;     /* 1 << row: result files that the user removed */
	unsigned copied;     /* 1 << row: a copy of one was written here */
	bool renamed;        /* of a job that was removed: its record has a name in
				STATE/unlinked, since some are open; job.c's */
};

/* --- output/ ---------------------------------------------------------------- */

/* The output/ of the newest run (borrowed), or NULL; looks into the store once. */
struct node *job_output(struct job *job);
/* The same; the caller owns the node from now on. */
struct node *job_take_output(struct job *job);
/* Makes output/ of that run unless it is there. Return: 0 or negative errno. */
int job_output_make(struct job *job, unsigned run);
/* Looks into the store once more: another server's run may have left one. */
void job_output_find(struct job *job);
/* Before the results of the newest run are removed from the store, if they can: those
 * that users have open get names in STATE/unlinked for the next server. */
void job_keep_results(struct job *job);

/* A stream, a log or a result.json that is open, embedded in its open file. */
struct open_vfile {
	struct list node; /* in job->rows */
	uint64_t fh;      /* of the open file, */
	uint64_t *ino;    /* whose number for the next server is 0 if that has lost it */
	unsigned vfile, run;
	bool renamed;     /* it has a name in STATE/unlinked: OPEN_ROW_FMT of fh */
};
#define OPEN_ROW_FMT "f%016" PRIx64
/* It is closed: its name goes. */
void job_vfile_closed(struct job *job, struct open_vfile *vfile);

/* --- a run's end and the next one -------------------------------------------- */

/* For job.c: as the record says; with what a previous server left in memory. */
void job_results_find(struct job *job);
void job_results_adopt(struct job *job);
void job_results_free(struct job *job);
/* For job_state.c: the newest run was none; has: an earlier one left results. */
void job_results_take_back(struct job *job, bool has);
/* The run is over and its results are to be seen. recorded: the record says so; else
 * result.json and output/ are hidden, since no record vouches for them. */
void job_results_show(struct job *job, bool recorded);
/* The results leave the tree: the store has given them up, or another run begins. */
void job_results_hide(struct job *job);

/* --- copies and rows --------------------------------------------------------- */

/* Makes and drops the place for a copied output/. */
int job_sink_make(struct job *job);
void job_sink_drop(struct job *job);
/* The user removed this row, or wrote a copy of it into a draft. */
void job_vfile_hide(struct job *job, enum job_vfile vfile);
void job_vfile_copied(struct job *job, enum job_vfile vfile);
/* Copies hidden, copied and sink, which are in no file, to shared memory for the next
 * server. The second: what a server left there as hidden rows of the newest run. */
void job_keep(struct job *job);
unsigned job_kept_hidden(const struct job *job);

bool job_is_frozen(const struct job *job); /* queued or running */
bool job_takes_copies(const struct job *job); /* of results; they have no effect */
/* True if the row is to be seen now. */
bool job_has_vfile(const struct job *job, enum job_vfile vfile);
/* Is it queued although it was on record as running, by whichever server? */
bool job_was_put_back(const struct job *job);
/* It is between two attempts, and the previous one has shown the row. */
bool job_had_vfile(const struct job *job, enum job_vfile vfile);

#endif
