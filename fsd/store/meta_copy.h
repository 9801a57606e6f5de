/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of each job's record (struct job_meta) in memory shared with the next server
 * (handover.h), which then need not read every record from the disk. While a record is
 * written the two differ, and `torn` is set. The disk is the authority; a reader checks
 * the copy. job_results.c stores there what the disk does not have: which virtual files
 * are hidden or copied.
 */
#ifndef FSD_META_COPY_H
#define FSD_META_COPY_H

#include "store.h"
#include "fsd/handover/handover.h"

/* A job, for the next server: what its meta says (store.h), and facts that no file
 * has. */
struct job_record {
	uint32_t live;
	uint32_t torn;   /* the disk may have another record, or none */
	uint64_t no;
	uint32_t uid, gid, mode, state, run, exit_code;
	uint32_t attempt, retry, retain_s;
	uint32_t hidden, hidden_run; /* hidden of struct job_results, for run
				      * hidden_run */
	uint16_t copied;
	uint8_t sink;                /* 1: the job has a sink/ */
	uint8_t tries;               /* job->leftover.tries */
	uint32_t held;
	uint32_t due; /* 1: draft.c must still log what the job waits for */
	uint64_t created_ns, changed_ns, queued_no, ended_ns;
	char name[208];
};

#define JOB_RECORDS_VERSION 1
extern const struct handover_table job_records;

/* Adds a copy, torn, for a job whose record is about to be made. On the loop's thread.
 * Return: borrowed from the table, until meta_copy_free(); NULL: the table is full. */
struct job_record *meta_copy_new(struct handover *in, uint64_t no);
/* Call it before meta is written or removed: sets `torn`. Here and below k may be NULL.
 * On the thread that writes meta. */
void meta_copy_begin(struct job_record *k);
/* Call one of these when the disk has m, or no record any more. On the thread that writes
 * meta. */
void meta_copy_end(struct job_record *k, const struct job_meta *m);
void meta_copy_gone(struct job_record *k);
/* Frees the table's slot, when the job is freed. On the loop's thread. */
void meta_copy_free(struct handover *in, struct job_record *k);

/* Reads and checks a copy. Return: 0: *ret is what the disk has, ret->name is borrowed
 * from k; -EAGAIN: it is torn, read the disk; -EINVAL: a field is out of range. */
int meta_copy_read(struct job_record *k, struct job_meta *ret);

#endif
