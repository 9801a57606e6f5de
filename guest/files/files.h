/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's inputs: FILE frames become files of the user in its home. They
 * are remembered by inode, so that afterwards the program's own work can be told
 * from them. The clock stands a second early meanwhile
 * (clone_set_early_clock): no change by the program can carry the same ctime.
 * A change through a mapping may leave the times as they were; of an input that
 * was open for writing the contents are compared, by their digest.
 */
#ifndef GUEST_FILES_H
#define GUEST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "digest.h"
#include "layout/base/err.h"
#include "guest/wire/wire.h"
#include "written.h"

#define FILES_MAX 400000u /* the home has fewer inodes */

struct input {
	ino_t ino;
	off_t size;
	mode_t mode;
	struct timespec ctime;
	uint64_t digest;
	bool digested;   /* if not, a file that was open for writing counts as
			    changed */
};

/* An input that lies under another name: see lane.h. */
struct files_own {
	char name[64], alias[64]; /* "": there is none */
};

struct files {
	int home;        /* owned; the directory */
	int fd;          /* owned; the file that is being written, or -1 */
	uint64_t left;   /* bytes that it still lacks */
	struct wire_time mtime; /* that it is to have, if it is known */
	bool input;      /* it is standard input */
	bool given;      /* standard input has come, as a file */
	char given_at[48]; /* where it lies */
	struct files_own own[2];
	int own_dir;     /* owned; where these lie, -1: in the home */
	struct digest digest; /* of those that it has */
	struct input *list; /* owned */
	size_t count, size;
	bool sorted;
	bool replace;    /* what is there already may be replaced */
	char *only;      /* owned; the name of the only input, or NULL */
	struct timespec sealed; /* the home's ctime when all inputs were there */
	bool watched;    /* it is known what was open for writing since then */
	bool mapped;     /* memory of the program may still be there */
	struct written written;
	struct inodes open; /* for writing, at the end of the step before */
};

int files_open(struct files *f, struct err *err);
/* FILE, FILE_DATA, FILE_END. Return: 0, -EPROTO (the host broke a rule) or
 * what the file system said. */
int files_begin(struct files *f, uint8_t kind, const void *payload,
		size_t length, struct err *err);
int files_data(struct files *f, const void *data, size_t length,
	       struct err *err);
int files_end(struct files *f, struct err *err);
/* All inputs are there: the program may begin. */
void files_seal(struct files *f);
/*
 * The same for a step: whatever is in the home now is an input, and if it came
 * just now the clock ticks first. But for the program: that changes no file of
 * its own so soon. Return: 0 or negative errno.
 */
int files_seal_all(struct files *f, const char *program);
/*
 * The program has ended and nothing is written any more, but by a living
 * interpreter. mapped: its memory, or a mapping in it, may still be there.
 */
void files_settle(struct files *f, bool mapped);
/* As files_open() left it. */
void files_forget(struct files *f);
/*
 * True if nothing was made, changed or removed since: found without a walk, and
 * only for the commonest job, whose one input is a file.
 */
bool files_are_as_sealed(struct files *f);
/* True if name in dir, which is st, is an input that nobody has touched since.
 */
bool files_is_untouched(struct files *f, int dir, const char *name,
			const struct stat *st);
void files_close(struct files *f);

#endif
