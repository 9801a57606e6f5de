/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One claimed entry: the directory run/INSTANCE/ID, which becomes done/NAME or failed/NAME.
 *
 *   input       what was dropped
 *   tries       a line `claimed NAME`, then a line for each begin of a step that handles
 *               the entry's files. It stays, so that a result tells its origin.
 *   submitted   the job may have been accepted; how often it may run again
 *   stdout stderr output result.json log error   results
 *   exit_code   the last of them
 *
 * claim_find() reads from the names that are there which step a start does next.
 */
#ifndef FSD_SPOOL_CLAIM_H
#define FSD_SPOOL_CLAIM_H

#include <limits.h>

#include "place.h"
#include "layout/layout.h"

#define CLAIM_ID 32
#define CLAIM_INPUT "input"
#define CLAIM_TRIES_MOST 3u /* begins of one step without an end */

/* The step that is done next. In brackets: the event for which it waits first. */
enum claim_step {
	STEP_CHECK,   /* is its input whole, and of a kind that may run? */
	STEP_PUT,     /* makes the job's draft, or that of the job that unpacks it */
	STEP_UNPACK,  /* (the unpacking job has ended) makes the draft of its output */
	STEP_SUBMIT,  /* (`submitted` is synced) renames the draft */
	STEP_RUN,     /* (the job has ended) */
	STEP_TAKE,    /* copies the results */
	STEP_PUBLISH, /* (the results are synced) renames the claim */
	STEP_REMOVE,  /* removes the job */
	STEP_OVER,
};

struct claim {
	struct list node;
	char id[CLAIM_ID];
	char name[NAME_MAX + 1]; /* the entry's name; any bytes */
	enum claim_step step;
	int dir;                 /* owned: run/INSTANCE/ID */
	int wait;                /* owned: the file `wait` of the claim's job; -1: none */
	bool ended;              /* `wait` was answered */
	bool unsynced;
	bool recovered;          /* the claim was found at the start: it may have
				  * drafts */
	uint64_t due_ns;         /* the step is not tried before this time */
	uint64_t first_ns;       /* when reading its input failed first; 0: it did not
				  * fail */
	unsigned tries;          /* how many equal lines the file `tries` ends with */
	const char *tried;       /* the word in these lines; or NULL */
	unsigned lost;           /* how often the claim's job was lost */
	unsigned retries;        /* how often it may be lost, by "retry" of its draft */
};

/*
 * Claims the entry `name` in new/. Return: 0; -ENOENT: another spool has it, or it was
 * removed; -EACCES, -EPERM: this user may not rename it; or another negative errno, about
 * DIR.
 */
int claim_make(const struct place *p, const char *name, struct claim **ret);
/* Renames the entry back to new/. Return: 0, and the claim is freed; -EEXIST: another
 * entry has that name now; or another negative errno. */
int claim_give_back(const struct place *p, struct claim *c);
/* Reads a claim's directory that a start has found. Return: 0; -ENOENT: the claim was not
 * complete, and was removed; or negative errno. */
int claim_find(const struct place *p, const char *id, struct claim **ret);
void claim_free(struct claim *c);

/* Call it before a step: adds a line to `tries`. word: a constant. Return: 0 or negative
 * errno. */
int claim_begin(struct claim *c, const char *word);
/* Call it when the step has ended without a result: it may be tried again. */
void claim_later(struct claim *c);
/* True if the spool has died too often in that step. */
bool claim_is_fatal(const struct claim *c, const char *word);

/* Makes or removes `submitted`. Return: 0 or negative errno. */
int claim_set_submitted(struct claim *c);
int claim_clear_submitted(struct claim *c);

/* Makes a file of the claim. Return: 0 or negative errno. */
int claim_write(struct claim *c, const char *name, const void *data, size_t len);
/* Writes results for an entry that has no job. Return: 0 or negative errno. */
int claim_fail(struct claim *c, enum job_status status, const char *sentence);
/* Prepares exit_code, which claim_publish() gives its name when the rest is synced. */
int claim_write_exit_code(struct claim *c, const char *text);
/* Removes files that an incomplete step has left. */
void claim_clear_results(struct claim *c);

/*
 * Renames the claim to done/NAME or failed/NAME. base: NAME, if that is free. ret_good:
 * it went to done/. Return: 0; -ENOENT: another instance has taken the claim over; or
 * negative errno.
 */
int claim_publish(const struct place *p, struct claim *c, const char *base,
		  bool keep_input, bool *ret_good);

#endif
