/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of a run from its result.json, and makes the journal's line for it. */
#ifndef FSD_BATCH_RECORD_H
#define FSD_BATCH_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/layout.h"

#define RECORD_VALUE_MOST (64u << 10) /* bytes of a value that the journal takes */

struct facts {
	char job[NAME_MAX + 1];  /* the job's name in the mount */
	char id[40];
	char status[24];         /* "exited", "timeout", ... */
	int exit_code;
	/* runs of the job: more than 1 if fsd or a machine failed one; -1: not known */
	int64_t attempts;
	int64_t wall_ms, cpu_ms, peak_bytes, queued_ms; /* -1: not known */
	char started[32], ended[32];
	struct buf value;        /* owned: JSON in one line, or empty */
};

/* Reads result.json in the directory. Return: 0; -ENOENT; -EINVAL: it is no result.json;
 * or another negative errno. Call facts_done() also after an error. */
int facts_read(int dir, struct facts *ret);
void facts_done(struct facts *f);

/* The state of an input, to find changes for --changed. For a directory: of all its files
 * together. */
struct stamp {
	bool known;
	uint64_t size, inode;
	int64_t mtime_ns;
};

/* Adds the state of the file or directory at path to s. Return: 0 or negative errno. */
int stamp_add(struct stamp *s, const char *path);

struct record {
	const char *input; /* the line of the list */
	uint64_t key;
	unsigned run;      /* number of the run, from 1; 0: it has not run */
	bool final;        /* no run follows */
	bool placed;       /* the results are in OUT */
	const char *status;
	const struct facts *facts; /* NULL: there are no facts */
	const struct stamp *stamp; /* NULL: there is no stamp */
	unsigned memory_mb;        /* 0: not known */
	const char *message;       /* NULL: there is no message */
};

/* Appends the line. */
void record_add(struct buf *out, const struct record *r);

#endif
