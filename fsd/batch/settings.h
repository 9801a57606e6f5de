/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `fsd batch` as numbers. */
#ifndef FSD_BATCH_SETTINGS_H
#define FSD_BATCH_SETTINGS_H

#include "batch.h"

#define SIZES_MOST 16u
#define JOBS_MOST 100000u
#define TRIES_MOST 100u

enum keep { KEEP_ALL, KEEP_FAILED, KEEP_NONE };
enum progress { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_LINES, PROGRESS_NONE };

struct settings {
	unsigned jobs;        /* most jobs at a time; 0: as many as the mount has
			       * machines */
	unsigned tries;       /* most failed runs of an input */
	unsigned halt;        /* number of failures that halt the batch; 0: it never
			       * halts */
	bool halt_percent;    /* halt is a percentage of the ended runs */
	bool halt_now;        /* a halt also kills the running jobs */
	enum keep keep;
	enum progress progress;
	unsigned part, parts; /* this process does part `part` of `parts`, from 1 */
	unsigned sizes;       /* elements in memory_mb, ascending; 0: use the default */
	unsigned memory_mb[SIZES_MOST];
};

/* Return: 0, or 2, and standard error has the sentence. */
int settings_take(struct settings *s, const struct batch_options *o);

#endif
