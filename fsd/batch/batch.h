/* SPDX-License-Identifier: Apache-2.0 */
/* fsd batch: one program, many inputs, one job for each. */
#ifndef FSD_BATCH_H
#define FSD_BATCH_H

#include <stdbool.h>

#include "fsd/client/run_client.h"
#include "list.h"

/* The options as they were given; NULL: not given. */
struct batch_options {
	struct run_client *run;  /* the program, its ARGs, and the options for every
				  * job */
	const char *out;
	struct list_source source;
	const char *jobs;        /* -j */
	const char *tries;
	const char *halt;
	const char *keep;
	const char *part;
	const char *progress;
	bool as_stdin;
	bool failed, changed, again; /* --failed, --changed, --again: which results are
				      * replaced */
	bool dry_run;
	bool no_sync;
	bool json;               /* batch_status() prints JSON */
	/* Return: how many machines a private mount for so many jobs can have at a time;
	 * 0: no private mount is possible, and standard error has the sentence. */
	unsigned (*private_machines)(unsigned jobs);
};

/* Return: the exit code. */
int batch_run(const struct batch_options *o);
int batch_status(const struct batch_options *o);
int batch_table(const struct batch_options *o);
int batch_cat(const struct batch_options *o);

#endif
