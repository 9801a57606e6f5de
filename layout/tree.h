/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as two tables: what a job directory holds, what .fsd holds. */
#ifndef LAYOUT_TREE_H
#define LAYOUT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "state.h"

enum vfile_kind {
	VFILE_TEXT, /* short text made at open; a read never blocks */
	VFILE_STREAM, /* a growing file */
	VFILE_FOLLOW, /* the same bytes; a read blocks until more or the end */
	VFILE_WAIT, /* a read blocks until the job has ended */
	VFILE_FILE, /* a whole file in the store */
	VFILE_CTL,  /* written verbs */
	VFILE_FEED, /* what is written is the program's input; a write blocks */
	VFILE_DIR,
};

enum job_vfile {
	JOB_VFILE_STATE = 1, /* 0 is the job's directory itself */
	JOB_VFILE_ERROR,
	JOB_VFILE_LOG,
	JOB_VFILE_CTL,
	JOB_VFILE_STDOUT,
	JOB_VFILE_STDERR,
	JOB_VFILE_STDOUT_FOLLOW,
	JOB_VFILE_STDERR_FOLLOW,
	JOB_VFILE_WAIT,
	JOB_VFILE_HOLD,
	JOB_VFILE_EVENTS,
	JOB_VFILE_OUTPUT,
	JOB_VFILE_RESULT,
	JOB_VFILE_EXIT_CODE,
	JOB_VFILE_STDIN_FEED,
	JOB_VFILE_MAX
};

enum fsd_vfile {
	FSD_VFILE_README = 1, /* 0 is .fsd itself */
	FSD_VFILE_VERSION,
	FSD_VFILE_HEALTH,
	FSD_VFILE_SECURITY,
	FSD_VFILE_STATS,
	FSD_VFILE_LAST_ERROR,
	FSD_VFILE_CTL,
	FSD_VFILE_TEMPLATES,
	FSD_VFILE_SESSIONS,
	FSD_VFILE_SANDBOXES,
	FSD_VFILE_LOST,
	FSD_VFILE_MAX
};

struct vfile {
	const char *name;
	enum vfile_kind kind;
	mode_t mode;     /* S_IFREG | 0600 ... , before the owner's umask */
	unsigned states; /* 1 << enum job_state: when it exists; 0: always */
	bool listed;     /* in directory listings */
	bool result;     /* belongs to a run: a copy into a draft is accepted
			    and has no effect; vanishes when run again */
	const char *help; /* one line for manuals */
};

extern const struct vfile job_vfiles[JOB_VFILE_MAX];
extern const struct vfile fsd_vfiles[FSD_VFILE_MAX];

#define FSD_DIR_NAME ".fsd"

/* The row of a name, whatever the state; 0 if the name is no virtual file's. */
enum job_vfile job_vfile_by_name(const char *name);
enum fsd_vfile fsd_vfile_by_name(const char *name);
bool job_vfile_exists(enum job_vfile vfile, enum job_state state);

/*
 * A job's name: valid UTF-8, 1..200 bytes, no control characters, no "/", not
 * ".", "..", ".fsd". Return: 0, -ENAMETOOLONG, -EILSEQ, -EPERM (.fsd), -EINVAL.
 */
int job_name_check(const char *name);
/* The name of a file or directory in a job: 1..255 bytes, any but "/" and NUL,
 * not "." or "..". Return: 0, -ENAMETOOLONG, -EINVAL. */
int file_name_check(const char *name);
/*
 * A path of a file that is put into a job for its program: relative, each part as
 * file_name_check() wants it, the first part none that the job has by itself
 * (job_vfiles, config.json, the program). Return: 0, -EINVAL, -ENAMETOOLONG, with a sentence.
 */
struct err;
int job_path_check(const char *path, struct err *err);
/* ".code.py.swp": vim writes to it for as long as it has the file open. */
bool file_is_swap(const char *name);
/* A name that begins with "." is being prepared and never starts. */
static inline bool job_name_is_draft(const char *name)
{
	return name[0] == '.';
}

bool utf8_valid(const char *text, size_t len);

/* Verbs of ctl: "start", "interrupt", "kill", "signal NAME"; of .fsd/ctl: drain, resume. */
enum ctl_verb {
	CTL_START,
	CTL_INTERRUPT,
	CTL_KILL,
	CTL_SIGNAL, CTL_EOF,
	CTL_DRAIN,
	CTL_RESUME
};

struct ctl_command {
	enum ctl_verb verb;
	unsigned signal; /* CTL_SIGNAL */
};

/* One write to ctl, with or without its newline. appliance: .fsd/ctl.
 * Return: 0 or -EINVAL with a sentence that lists what is allowed. */
int ctl_parse(const char *data, size_t len, bool appliance,
	      struct ctl_command *ret, struct err *err);

#endif
