/* SPDX-License-Identifier: Apache-2.0 */
/* A survey: one examination of an entry by stat(2), for a directory with all its
 * files. */
#ifndef FSD_SPOOL_SURVEY_H
#define FSD_SPOOL_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "layout/layout.h"
#include "lease.h"

#define SURVEY_DEPTH 64 /* directories below each other */
#define SURVEY_PATH 256

/* The values that two examinations compare. */
struct sight {
	mode_t type;    /* bits of S_IFMT; 0: it was not examined yet */
	dev_t dev;
	ino_t ino;
	uint64_t content; /* a hash of size and mtime; of a directory, if the survey was
			   * deep: of names, types, inodes, sizes and times of all below it */
	uint64_t changed; /* ctime of a file; of a directory 0, since its rename sets it */
};

struct survey {
	bool deep;         /* read directories */
	bool ask_writers;  /* ask each file for writers; deep has to be set */
	const char *ready; /* a name to find in a directory; NULL: none */

	bool is_remote;      /* ret: another host may change it */
	struct sight sight;  /* ret */
	enum writer writer;  /* ret: the worst of all files; without ask_writers: unknown */
	bool has_code;       /* ret: a directory with a file code or code.* */
	bool has_ready;      /* ret: a directory with the file `ready` */
	char path[SURVEY_PATH]; /* ret, of an error or of odd: which one, below `dir` */
	mode_t odd;          /* ret: type of the first one found that is never opened */
};

/*
 * Examines the entry `name` of dir, without following a link. s: the first part set,
 * the rest 0.
 * Return: 0; -ENOENT: it is not there; -ENAMETOOLONG: deeper than
 * SURVEY_DEPTH; or negative errno.
 */
int survey_take(struct survey *s, int dir, const char *name);
bool sight_same(const struct sight *a, const struct sight *b);
/* True if both are the same file with the same content, even if a rename has set its
 * ctime. For directories both surveys must be deep. */
bool sight_same_content(const struct sight *a, const struct sight *b);
/* True if an error of survey_take() stays as long as the entry does not change. */
bool survey_is_lasting(int r);
/* Judges a claimed entry by a deep survey that asked for writers and has returned r.
 * Return: as entry_check(). */
int survey_judge(const struct survey *s, int r, const char *name, struct err *err);
/* Returns a text such as "a symbolic link", for a sentence. */
const char *survey_type_name(mode_t type);

#endif
