/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the tables of the files in a job's directory and in .fsd, the rules for names and
 * paths, and the parser of ctl.
 *
 * A row gives the file's mode, the states in which it exists, and its description. The
 * tables are constant; there is no state.
 */
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/dots.h"
#include "layout/base/err.h"
#include "layout/base/num.h"
#include "layout/base/utf8.h"
#include "lang.h"
#include "limits.h"

#define IN(state) (1u << (state))
#define STARTED (IN(JOB_RUNNING) | IN(JOB_DONE))
#define ENDED IN(JOB_DONE)

/*
 * Modes are those of ordinary files, although most of these cannot be written:
 * copying a whole job opens each of them for writing, and `rm -r` would ask
 * about every file that its owner may not write.
 */
#define FILE_MODE (S_IFREG | 0666)

const struct vfile job_vfiles[] = {
	[0] = { ".", VFILE_DIR, S_IFDIR | 0777, 0, true, false, "the job" },
	[JOB_VFILE_STATE] = { "state", VFILE_TEXT, FILE_MODE, 0, true, false,
			    "draft, queued, running, done or refused" },
	[JOB_VFILE_ERROR] = { "error", VFILE_TEXT, FILE_MODE, 0, true, false,
			    "why it was refused or could not be run" },
	[JOB_VFILE_LOG] = { "log", VFILE_STREAM, FILE_MODE, 0, true, false,
			  "the job's timeline, one event a line" },
	[JOB_VFILE_CTL] = { "ctl", VFILE_CTL, FILE_MODE, 0, true, false,
			  "verbs: start, interrupt, kill, signal NAME, eof, port N" },
	[JOB_VFILE_STDOUT] = { "stdout", VFILE_STREAM, FILE_MODE, STARTED, true,
			     true, "standard output, as it grows" },
	[JOB_VFILE_STDERR] = { "stderr", VFILE_STREAM, FILE_MODE, STARTED, true,
			     true, "standard error, as it grows" },
	[JOB_VFILE_STDOUT_FOLLOW] = { "stdout.follow", VFILE_FOLLOW, FILE_MODE, 0,
				    false, false,
				    "standard output; a read blocks for more" },
	[JOB_VFILE_STDERR_FOLLOW] = { "stderr.follow", VFILE_FOLLOW, FILE_MODE, 0,
				    false, false,
				    "standard error; a read blocks for more" },
	[JOB_VFILE_WAIT] = { "wait", VFILE_WAIT, FILE_MODE, 0, false, false,
			   "a read blocks until the end, then the exit code" },
	[JOB_VFILE_HOLD] = { "hold", VFILE_WAIT, FILE_MODE, 0, false, false,
			   "the job goes with the last one who has it open" },
	[JOB_VFILE_EVENTS] = { "events", VFILE_FOLLOW, FILE_MODE, 0, false, false,
			     "what happens, in order; a read blocks for more" },
	[JOB_VFILE_OUTPUT] = { "output", VFILE_DIR, S_IFDIR | 0777, ENDED, true,
			     true, "the files that the program made" },
	[JOB_VFILE_RESULT] = { "result.json", VFILE_FILE, FILE_MODE, ENDED, true,
			     true, "everything there is to know" },
	[JOB_VFILE_EXIT_CODE] = { "exit_code", VFILE_FILE, FILE_MODE, ENDED, true,
				true, "appears last; then all is final" },
	[JOB_VFILE_STDIN_FEED] = { "stdin.feed", VFILE_FEED, FILE_MODE, 0, false,
				 false, "what is written is standard input" },
};
_Static_assert(ARRAY_SIZE(job_vfiles) == JOB_VFILE_MAX, "a row per file");

#define SHOWN_MODE (S_IFREG | 0444)

const struct vfile fsd_vfiles[] = {
	[0] = { FSD_DIR_NAME, VFILE_DIR, S_IFDIR | 0555, 0, true, false,
		"the appliance itself" },
	[FSD_VFILE_README] = { "README", VFILE_TEXT, SHOWN_MODE, 0, true, false,
			     "how to use this mount" },
	[FSD_VFILE_VERSION] = { "version", VFILE_TEXT, SHOWN_MODE, 0, true, false,
			      "one line" },
	[FSD_VFILE_HEALTH] = { "health", VFILE_TEXT, SHOWN_MODE, 0, true, false,
			     "ok, or what is wrong and the remedy" },
	[FSD_VFILE_SECURITY] = { "security", VFILE_TEXT, SHOWN_MODE, 0, true,
			       false, "which walls stand, one a line" },
	[FSD_VFILE_STATS] = { "stats", VFILE_TEXT, SHOWN_MODE, 0, true, false,
			    "figures in Prometheus text format" },
	[FSD_VFILE_LAST_ERROR] = { "last_error", VFILE_TEXT, SHOWN_MODE, 0, true,
				 false, "your last refusal on this mount" },
	[FSD_VFILE_CTL] = { "ctl", VFILE_CTL, S_IFREG | 0644, 0, true, false,
			  "verbs: drain, resume" },
	[FSD_VFILE_TEMPLATES] = { "templates", VFILE_DIR, S_IFDIR | 0555, 0, true,
				false, "what can be run" },
	[FSD_VFILE_SESSIONS] = { "sessions", VFILE_DIR, S_IFDIR | 0555, 0, true,
			       false, "living sessions" },
	[FSD_VFILE_SANDBOXES] = { "sandboxes", VFILE_DIR, S_IFDIR | 0777, 0, true,
				false, "living machines that jobs share" },
	[FSD_VFILE_PORTS] = { "ports", VFILE_DIR, S_IFDIR | 0500, 0, false, false,
			    "where fsd binds the sockets of ports" },
	[FSD_VFILE_LOST] = { "lost+found", VFILE_DIR, S_IFDIR | 0555, 0, true,
			   false, "what was found damaged, and why" },
	[FSD_VFILE_NETWORK] = { "network", VFILE_TEXT, SHOWN_MODE, 0, true, false,
				"servers that your jobs may reach, and the limits" },
};
_Static_assert(ARRAY_SIZE(fsd_vfiles) == FSD_VFILE_MAX, "a row per file");

static unsigned row_by_name(const struct vfile *rows, unsigned count,
			    const char *name)
{
	for (unsigned i = 1; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return i;
	return 0;
}

enum job_vfile job_vfile_by_name(const char *name)
{
	return (enum job_vfile)row_by_name(job_vfiles, JOB_VFILE_MAX, name);
}

enum fsd_vfile fsd_vfile_by_name(const char *name)
{
	return (enum fsd_vfile)row_by_name(fsd_vfiles, FSD_VFILE_MAX, name);
}

bool job_vfile_exists(enum job_vfile vfile, enum job_state state)
{
	unsigned states;

	if ((unsigned)vfile >= JOB_VFILE_MAX || (unsigned)state >= JOB_STATE_MAX)
		return false;
	states = job_vfiles[vfile].states;
	return !states || (states & IN(state));
}

bool utf8_valid(const char *text, size_t len)
{
	return utf8_span(text, len) == len;
}

static int bytes_check(const char *name, size_t max)
{
	size_t len = strnlen(name, max + 1);

	if (!len || is_dots(name))
		return -EINVAL;
	if (len > max)
		return -ENAMETOOLONG;
	return memchr(name, '/', len) ? -EINVAL : 0;
}

static int text_check(const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < len;) {
		int step = utf8_step(name + at, len - at);

		if (step <= 0 || utf8_is_control(name + at))
			return -EILSEQ;
		at += (size_t)step;
	}
	return 0;
}

int job_name_check(const char *name)
{
	int r;

	if (!strcmp(name, FSD_DIR_NAME))
		return -EPERM;
	r = bytes_check(name, LIMIT_JOB_NAME);
	return r < 0 ? r : text_check(name);
}

int file_name_check(const char *name)
{
	return bytes_check(name, LIMIT_FILE_NAME);
}

/* Returns whether fsd gives the name a meaning, so that it cannot be a file of
 * the program. */
static bool is_own(const char *name)
{
	return job_vfile_by_name(name) || !strcmp(name, "config.json") ||
	       code_kind(name) != CODE_NO;
}

static int part_check(const char *path, const char *part, size_t len, bool first,
		      struct err *err)
{
	char name[LIMIT_FILE_NAME + 1];

	if (len > LIMIT_FILE_NAME)
		return err_set(err, -ENAMETOOLONG, "the path \"%.80s...\" has a "
			       "part of more than %u bytes", path,
			       LIMIT_FILE_NAME);
	memcpy(name, part, len);
	name[len] = '\0';
	if (!len || is_dots(name))
		return err_set(err, -EINVAL, "the path \"%.200s\" is not a "
			       "relative one of plain names: no part may be "
			       "empty, \".\" or \"..\"", path);
	if (first && is_own(name))
		return err_set(err, -EINVAL, "the path \"%.200s\" begins with "
			       "\"%s\", which fsd has in each job itself; choose "
			       "another name", path, name);
	return 0;
}

int job_path_check(const char *path, struct err *err)
{
	size_t at = 0, len;
	unsigned parts = 0;
	int r = 0;

	do {
		len = strcspn(path + at, "/");
		r = part_check(path, path + at, len, !parts, err);
		if (r == 0 && ++parts > LIMIT_DEPTH)
			r = err_set(err, -ENAMETOOLONG, "the path \"%.80s...\" "
				    "has more than %u parts", path, LIMIT_DEPTH);
		at += len + 1;
	} while (r == 0 && path[at - 1]);
	return r;
}

bool file_is_swap(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && name[0] == '.' && !memcmp(name + len - 4, ".sw", 3) &&
	       name[len - 1] >= 'a' && name[len - 1] <= 'p';
}

static int signal_of(const char *name, struct err *err)
{
	int number = signal_parse(name);

	return number < 0 ? err_set(err, -EINVAL,
				    "ctl: \"%.64s\" is not a signal; it must be a "
				    "name such as TERM or SIGUSR1, or a number from "
				    "1 to 64", name)
			  : number;
}

int ctl_port(const char *text, struct err *err)
{
	uint64_t port;

	return parse_u64(text, LIMIT_PORT_MIN, LIMIT_PORT_MAX, &port) < 0
		       ? err_set(err, -EINVAL,
				 "ctl: \"%.64s\" is not a port of a program; it must "
				 "be a number from %u to %u", text, LIMIT_PORT_MIN, LIMIT_PORT_MAX)
		       : (int)port;
}

static const struct {
	const char *name;
	enum ctl_verb verb;
	bool appliance;
	/* Reads the word behind the verb: a number or a negative errno. NULL: the verb
	 * stands alone. */
	int (*number)(const char *word, struct err *err);
} verbs[] = {
	{ "start", CTL_START, false, NULL },
	{ "interrupt", CTL_INTERRUPT, false, NULL },
	{ "kill", CTL_KILL, false, NULL },
	{ "signal", CTL_SIGNAL, false, signal_of },
	{ "port", CTL_PORT, false, ctl_port },
	{ "eof", CTL_EOF, false, NULL },
	{ "drain", CTL_DRAIN, true, NULL },
	{ "resume", CTL_RESUME, true, NULL },
	{ "reload-network", CTL_RELOAD_NETWORK, true, NULL },
};

/* Copies the line without leading and trailing blanks. */
static int ctl_line(const char *data, size_t len, char room[LIMIT_CTL_BYTES],
		    struct err *err)
{
	if (len >= LIMIT_CTL_BYTES)
		return err_set(err, -EINVAL,
			       "ctl: %zu bytes were written; a verb takes less "
			       "than %u", len, LIMIT_CTL_BYTES);
	while (len && strchr(" \t\r\n", data[len - 1]) && data[len - 1])
		len--;
	while (len && (*data == ' ' || *data == '\t')) {
		data++;
		len--;
	}
	for (size_t at = 0; at < len;) {
		int step = utf8_step(data + at, len - at);

		if (step <= 0 ||
		    (data[at] != '\t' && utf8_is_control(data + at)))
			return err_set(err, -EINVAL,
				       "ctl: byte %zu is not text; one write "
				       "is one verb on one line", at);
		at += (size_t)step;
	}
	if (len)
		memcpy(room, data, len);
	room[len] = '\0';
	return 0;
}

int ctl_parse(const char *data, size_t len, bool appliance,
	      struct ctl_command *ret, struct err *err)
{
	char line[LIMIT_CTL_BYTES];
	char *name;
	int r = ctl_line(data, len, line, err);

	if (r < 0)
		return r;
	name = line + strcspn(line, " \t");
	if (*name) {
		*name++ = '\0';
		name += strspn(name, " \t");
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (verbs[i].appliance != appliance ||
		    strcmp(verbs[i].name, line))
			continue;
		if (!verbs[i].number && *name)
			return err_set(err, -EINVAL,
				       "ctl: \"%s\" is followed by \"%.64s\"; "
				       "it must stand alone", line, name);
		r = verbs[i].number ? verbs[i].number(name, err) : 0;
		*ret = (struct ctl_command){ verbs[i].verb, r < 0 ? 0 : (unsigned)r };
		return r < 0 ? r : 0;
	}
	return err_set(err, -EINVAL,
		       "ctl: \"%.64s\" is not a verb; it must be %s", line,
		       appliance ? "drain, resume or reload-network"
				 : "start, interrupt, kill, signal NAME, eof or "
				   "port N");
}
