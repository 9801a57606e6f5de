/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results that a job shows, and which of its virtual files exist now. Only
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
	bool has;            /* a run has ended, and no later one was queued; in any
				state of the job */
	struct node *output; /* owned: output/ of the newest run, or NULL */
	bool output_unseen;  /* job_output() has not searched the store yet */
	struct node *sink;   /* owned: the output/ that a user copied into this
				draft, or NULL */
	unsigned hidden;     /* 1 << vfile: results that the user removed */
	unsigned copied;     /* 1 << vfile: results that the user copied into the draft */
	bool renamed;        /* the job was removed while results were open: its record
			      * has a name in STATE/unlinked; job.c sets this */
};

/* --- output/ ---------------------------------------------------------------- */

/* Return: the output/ of the newest run (borrowed), or NULL. The first call searches the
 * store. */
struct node *job_output(struct job *job);
/* Like job_output(), but the job gives up the node: the caller owns it from now on. */
struct node *job_take_output(struct job *job);
/* Makes output/ of that run, if it does not exist. Return: 0 or negative errno. */
int job_output_make(struct job *job, unsigned run);
/* Searches the store again: the run of another server may have made output/. */
void job_output_find(struct job *job);
/* Call it before the results of the newest run are removed from the store: those that
 * users have open get names in STATE/unlinked for the next server, if possible. */
void job_keep_results(struct job *job);

/* An open stream, log or result.json; embedded in its open file. */
struct open_vfile {
	struct list node; /* link in job->rows */
	uint64_t fh;      /* handle of the open file */
	uint64_t *ino;    /* inode number in its record for the next server; set to 0: the
			   * file is lost */
	unsigned vfile, run;
	bool renamed;     /* it has a name in STATE/unlinked, made by OPEN_ROW_FMT from
			   * fh */
};
#define OPEN_ROW_FMT "f%016" PRIx64
/* Call it when the file is closed: deletes its name in STATE/unlinked. */
void job_vfile_closed(struct job *job, struct open_vfile *vfile);

/* --- a run's end and the next one -------------------------------------------- */

/* For job.c. They set the results from the job's record, set them from shared memory, and
 * free them. */
void job_results_find(struct job *job);
void job_results_adopt(struct job *job);
void job_results_free(struct job *job);
/* For job_state.c, when a run that was queued is taken back: shows the results of the run
 * before. has: there is such a run, and it has left results. */
void job_results_take_back(struct job *job, bool has);
/* Shows the results of the run that has ended. recorded false: the record does not have
 * that end, so result.json and output/ stay hidden. */
void job_results_show(struct job *job, bool recorded);
/* Takes the results out of the tree: the store has removed them, or another run
 * begins. */
void job_results_hide(struct job *job);

/* --- copies and virtual files ------------------------------------------------ */

/* Make and remove sink/, the directory for an output/ that a user copies into the
 * draft. */
int job_sink_make(struct job *job);
void job_sink_drop(struct job *job);
/* Call them when the user has removed this result, or copied one into a draft. */
void job_vfile_hide(struct job *job, enum job_vfile vfile);
void job_vfile_copied(struct job *job, enum job_vfile vfile);
/* job_keep() writes hidden, copied, sink and leftover.tries to shared memory for the next
 * server, because no file has them. job_kept_hidden() returns the hidden results of the newest run, as an
 * earlier server has written them there. */
void job_keep(struct job *job);
unsigned job_kept_hidden(const struct job *job);

bool job_is_frozen(const struct job *job); /* queued or running */
bool job_takes_copies(const struct job *job); /* draft or refused: users may copy results
					       * into it, and fsd ignores them */
/* Return: true if the virtual file exists now. */
bool job_has_vfile(const struct job *job, enum job_vfile vfile);
/* Return: true if the job is queued, and its newest run had begun before, under this
 * server or an earlier one. */
bool job_was_put_back(const struct job *job);
/* Return: true if the job is between two attempts, and the previous one showed the
 * file. */
bool job_had_vfile(const struct job *job, enum job_vfile vfile);

#endif
