/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a batch. Each line of the list is one job:
 *
 *   operands      in/a.csv                   a file or a directory; TAB has no meaning
 *   --from        in/a.csv TAB in/a.json     the files of one job
 *   --from -0     in/a.csv NUL               one file; TAB has no meaning
 *   --args        30 TAB 0.5                 the arguments of one job, no file
 *
 * The key of a job is its line, so lines may be added, removed and reordered. Of --args it is
 * the number and the line, since the number is the name of its results.
 */
#ifndef FSD_BATCH_LIST_H
#define FSD_BATCH_LIST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsd/client/run_client.h"

enum list_kind {
	LIST_NAMES, /* a line is one file */
	LIST_FILES, /* TABs between files */
	LIST_ARGS,  /* TABs between arguments */
	LIST_KINDS,
};

enum entry_state {
	ENTRY_OPEN,     /* the entry has no result and needs a run */
	ENTRY_UNDERWAY, /* the mount has a job for the entry */
	ENTRY_DONE,     /* the entry has a result */
	ENTRY_UNREAD,   /* the input cannot be read; the next start tries again */
};

#define ENTRY_FAILED 1u /* flag: the result has an exit code that is not 0, or none */
#define ENTRY_AGAIN 2u  /* flag: the result was revoked, and may still be in OUT */
#define ENTRY_PLACED 4u /* flag: the entry's newest line says that OUT has its results */
#define ENTRY_ELSEWHERE 8u /* flag: the entry belongs to another part of the batch */
#define ENTRY_KNOWN 16u /* flag: the journal has a line for the entry */
#define ENTRY_NO_LINE UINT64_MAX

/* An entry has 32 bytes, because lists of 100,000 and more are usual. */
struct entry {
	uint64_t key;
	uint64_t newest;   /* place of the entry's newest line: its file and offset, as
			    * JOURNAL_AT() (journal.h); or ENTRY_NO_LINE */
	uint32_t line;     /* offset in the list's text */
	uint16_t run;      /* number of the last run that has a line in the journal; from
			    * 1 */
	uint8_t tries;     /* runs that failed since the entry began, or began again */
	uint8_t memory;    /* index of the memory size that the entry needs */
	uint8_t state;     /* enum entry_state */
	uint8_t flags;
};

struct batch_list {
	enum list_kind kind;
	struct entry *entry; /* owned, in the order of the list */
	uint32_t count;
	char *text;          /* owned: the lines, each with a NUL at its end */
	size_t size, room;   /* bytes of text: used, allocated */
	uint32_t *slot;      /* owned: hash table of keys, index + 1 */
	uint32_t slots;      /* a power of two */
};

/* The sources of a list: one of them. */
struct list_source {
	char **names;
	unsigned name_count;
	const char *from; /* a file, or "-" */
	bool args;        /* the list comes from --from and its lines have arguments */
	bool nul;         /* lines of that list end with a NUL, not a newline */
};

/*
 * Reads and checks the whole list. c: tells under which path the job gets an input;
 * as_stdin: the input is standard input, so it gets no path. Return: 0, or the exit code;
 * standard error has the sentence.
 */
int batch_list_read(struct batch_list *l, const struct list_source *s, const struct run_client *c,
	      bool as_stdin);
/* Reads a list that batch_list_write() wrote. Return: 0 or negative errno. */
int batch_list_read_from(struct batch_list *l, int fd);
int batch_list_write(const struct batch_list *l, int fd);
void batch_list_done(struct batch_list *l);

const char *batch_list_line(const struct batch_list *l, uint32_t i);
/* Splits a copy of line i into its fields. line: room for the copy, to which field[] points.
 * Return: the number of fields, at most LIST_FIELDS. */
#define LIST_FIELDS 1024 /* most arguments that a job may have */
#define LIST_LINE (128u << 10) /* bytes of a line, with the NUL */
unsigned batch_list_fields(const struct batch_list *l, uint32_t i, char line[LIST_LINE],
		     const char *field[LIST_FIELDS]);
/*
 * Writes the path of the results of entry i below r/: "in/a.csv", "%2E%2E/a", "17".
 * Return: 0; -EINVAL: the entry has none; -ENAMETOOLONG.
 */
int batch_list_path(const struct batch_list *l, uint32_t i, char ret[PATH_MAX]);
/* Return: the entry of a key, or NULL. */
struct entry *batch_list_find(const struct batch_list *l, uint64_t key);

#endif
