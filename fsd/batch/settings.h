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
	unsigned jobs;        /* most at a time; 0: as the mount has machines */
	unsigned tries;       /* most runs that fail */
	unsigned halt;        /* failures that halt; 0: none do */
	bool halt_percent;    /* it is a share of the ends */
	bool halt_now;        /* and kills what runs */
	enum keep keep;
	enum progress progress;
	unsigned part, parts; /* this one, from 1, of so many */
	unsigned sizes;       /* of memory, ascending; 0: the default */
	unsigned memory_mb[SIZES_MOST];
};

/* Return: 0, or 2, and standard error has the sentence. */
int settings_take(struct settings *s, const struct batch_options *o);

#endif
