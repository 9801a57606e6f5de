/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's inputs: FILE frames become the user's files in the home. Each is
 * remembered by its inode, to recognize at the end the files that the program
 * has made or changed. The clock stands a second early meanwhile
 * (clone_set_early_clock()), so no change by the program can have the same
 * ctime. A change through a mapping may leave the times unchanged; so for an
 * input that was open for writing the digests are compared.
 *
 * Runs in init, or in a lane's agent.
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
	/* has a digest; without one, a file that was open for writing counts as
	 * changed */
	bool digested;
};

/* An input that is stored under another name: see lane.h. */
struct files_own {
	char name[64], alias[64]; /* name: the path in FILE, "" if unused; alias: the
				   * name that the file gets */
};

struct files {
	int home; /* owned; a descriptor of the directory */
	int fd; /* owned; the file being written, or -1 */
	uint64_t left; /* bytes of that file still to come */
	struct wire_time mtime; /* the modification time that the file must get, if known */
	bool input; /* the file that is being written is standard input */
	bool given; /* standard input has come, as a file */
	char given_at[48]; /* the path of that file */
	struct files_own own[2];
	int own_dir; /* owned; the directory of `own`; -1: the home */
	struct digest digest; /* digest of the bytes that have come so far */
	struct input *list; /* owned */
	size_t count, size;
	bool sorted;
	bool replace; /* existing files may be replaced */
	/* owned; name of the input if it is the only one, or NULL */
	char *only;
	struct timespec sealed; /* the home's ctime when all inputs had come */
	bool watched; /* fanotify has reported closes since then */
	bool mapped; /* a mapping of the program may still exist */
	struct written written;
	/* files that were open for writing at the end of the last step */
	struct inodes open;
};

int files_open(struct files *f, struct err *err);
/* Handle FILE, FILE_DATA, FILE_END. Return: 0, -EPROTO (the host broke a rule),
 * or an error of the filesystem. */
int files_begin(struct files *f, uint8_t kind, const void *payload,
		size_t length, struct err *err);
int files_data(struct files *f, const void *data, size_t length,
	       struct err *err);
int files_end(struct files *f, struct err *err);
/* Call it when all inputs have come, before the program starts. */
void files_seal(struct files *f);
/*
 * As files_seal(), for a session's step: every file in the home is an input. Waits for
 * a tick of the clock if a file was changed just now. It does not wait for `program`,
 * the step's own file, which the program does not change so soon. Return: 0 or
 * negative errno.
 */
int files_seal_all(struct files *f, const char *program);
/* Call it when the program has ended, before collect_send(): reads the last events
 * of fanotify. mapped: a mapping of the program may still exist, so contents are
 * compared. */
void files_settle(struct files *f, bool mapped);
/* Forgets the inputs of a step that has ended. From now on FILE replaces an existing
 * file of the same name. */
void files_forget(struct files *f);
/*
 * Returns true if no file was made, changed or removed since files_seal().
 * Needs no walk, but only finds this for the most common job, whose only input
 * is one file.
 */
bool files_are_as_sealed(struct files *f);
/*
 * Returns true if name in dir, whose attributes are st, is an unchanged input.
 */
bool files_is_untouched(struct files *f, int dir, const char *name,
			const struct stat *st);
void files_close(struct files *f);

#endif
