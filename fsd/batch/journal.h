/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a batch: a JSON line for each end of a run. It is an index: the directories
 * in r/ are the results. Each instance of `--part` has a journal of its own, and all are read.
 *
 *   {"input":"in/a","key":"0123456789abcdef","try":1,"final":true,"status":"exited",...}
 *
 * A line "status":"again" revokes the results of the runs up to its try.
 */
#ifndef FSD_BATCH_JOURNAL_H
#define FSD_BATCH_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/layout.h"

/* --- writing --------------------------------------------------------------------- */

struct journal {
	int fd;            /* owned, or -1 */
	struct buf lines;  /* lines that are not written yet */
	bool broken;       /* the file ends in a line without its end */
	bool syncs;
};
#define JOURNAL_NONE { .fd = -1 }

/* out: the directory. Return: 0 or negative errno. */
int journal_open(struct journal *j, int out, const char *name, bool syncs);
void journal_close(struct journal *j);
/* Writes the lines and syncs them. After a failure the file is as before, and the lines
 * wait for the next call. Return: 0 or negative errno. */
int journal_flush(struct journal *j);

/* --- reading --------------------------------------------------------------------- */

/* The place of a line: number of its file in the upper 16 bits, offset in the others. */
#define JOURNAL_AT(file, offset) ((uint64_t)(file) << 48 | (offset))

#define JOURNALS_MOST 4096

struct journals {
	int *fd;         /* owned: "journal" and "journal.*", in the order of their names */
	unsigned count;
	uint64_t ignored; /* lines that are no whole JSON object */
};

int journals_open(struct journals *j, int out);
/* Calls fn for each complete line, which ends with a NUL. Return: 0, negative errno, or
 * the value that fn returned. */
int journals_each(struct journals *j, int (*fn)(void *arg, uint64_t at, const char *line),
		  void *arg);
/* Reads one line. Return: 0 or negative errno. */
int journals_line(const struct journals *j, uint64_t at, struct buf *ret);
void journals_close(struct journals *j);

/* Finds a member of a line: a number, a word, or a text with its quotes. name: with
 * quotes and colon. Return: its text in the line, or NULL. */
const char *journal_member(const char *line, const char *name, size_t *len);
/* Return: the number, or -1. */
int64_t journal_number(const char *line, const char *name);
/* Return: true if the member is this text. text: with its quotes. */
bool journal_is(const char *line, const char *name, const char *text);

#endif
