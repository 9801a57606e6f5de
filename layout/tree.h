/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that fsd provides, as two tables: those of a job's directory, those
 * of .fsd. Pure.
 */
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
	/* its bytes become the program's input; a write may block */
	VFILE_FEED,
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
	FSD_VFILE_NETWORK,
	FSD_VFILE_PORTS,
	FSD_VFILE_MAX
};

struct vfile {
	const char *name;
	enum vfile_kind kind;
	mode_t mode;     /* S_IFREG | 0600 ... , before the owner's umask */
	unsigned states; /* 1 << enum job_state in which it exists; 0: in all */
	bool listed; /* shown in directory listings */
	/* Belongs to a run. A copy of it into a draft is accepted without
	 * effect. It vanishes when the job runs again. */
	bool result;
	const char *help; /* one line of text for the manuals */
};

extern const struct vfile job_vfiles[JOB_VFILE_MAX];
extern const struct vfile fsd_vfiles[FSD_VFILE_MAX];

#define FSD_DIR_NAME ".fsd"

/* Returns the row of a name, in whatever state; 0: no such row. */
enum job_vfile job_vfile_by_name(const char *name);
enum fsd_vfile fsd_vfile_by_name(const char *name);
bool job_vfile_exists(enum job_vfile vfile, enum job_state state);

/*
 * Checks a job's name: valid UTF-8, 1..200 bytes, no control characters, no
 * "/", not ".", "..", ".fsd". Return: 0, -ENAMETOOLONG, -EILSEQ, -EPERM (.fsd),
 * -EINVAL.
 */
int job_name_check(const char *name);
/* Checks the name of a file or directory in a job: 1..255 bytes, no "/" and
 * NUL, not "." or "..". Return: 0, -ENAMETOOLONG, -EINVAL. */
int file_name_check(const char *name);
/*
 * Checks the path of a file to put into a job for its program: relative, each
 * part valid for file_name_check(), the first part not a file that fsd provides
 * (job_vfiles), config.json or the program. Return: 0, -EINVAL, -ENAMETOOLONG,
 * with a sentence.
 */
struct err;
int job_path_check(const char *path, struct err *err);
/* Returns true for ".code.py.swp": vim writes to it as long as it has the file
 * open. */
bool file_is_swap(const char *name);
/* Returns true if the name begins with ".": such a job is being prepared and
 * never starts. */
static inline bool job_name_is_draft(const char *name)
{
	return name[0] == '.';
}

bool utf8_valid(const char *text, size_t len);

/* Verbs of ctl: "start", "interrupt", "kill", "signal NAME", "eof", "port N"; of
 * .fsd/ctl: "drain", "resume", "reload-network". */
enum ctl_verb {
	CTL_START,
	CTL_INTERRUPT,
	CTL_KILL,
	CTL_SIGNAL, CTL_EOF, CTL_PORT,
	CTL_DRAIN,
	CTL_RELOAD_NETWORK,
	CTL_RESUME
};

struct ctl_command {
	enum ctl_verb verb;
	unsigned number; /* CTL_SIGNAL: the signal; CTL_PORT: the port */
};

/* Parses the N of "port N". Return: the port, or -EINVAL with a sentence. */
int ctl_port(const char *text, struct err *err);
/* Parses one write to ctl, with or without its newline. appliance: of .fsd/ctl.
 * Return: 0, or -EINVAL with a sentence that lists the allowed verbs. */
int ctl_parse(const char *data, size_t len, bool appliance,
	      struct ctl_command *ret, struct err *err);

#endif
