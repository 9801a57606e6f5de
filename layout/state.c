/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the tables of a job's states, events, statuses and of signals, with names in both
 * directions. state_next() is the only rule for a change of state.
 *
 * Signal numbers are those of the guest (Linux, x86-64), not of the host. All tables are
 * constant; there is no state in this file.
 */
#include "state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/num.h"

static const char *const state_names[] = {
	[JOB_DRAFT] = "draft",
	[JOB_QUEUED] = "queued",
	[JOB_RUNNING] = "running",
	[JOB_DONE] = "done",
	[JOB_REFUSED] = "refused",
};
_Static_assert(ARRAY_SIZE(state_names) == JOB_STATE_MAX, "a name per state");

static const char *const event_names[] = {
	[EV_SUBMIT] = "commit",
	[EV_REFUSE] = "refuse",
	[EV_REOPEN] = "reopen",
	[EV_GRANT] = "grant",
	[EV_END] = "end",
	[EV_FAIL] = "fail",
	[EV_AGAIN] = "again",
};
_Static_assert(ARRAY_SIZE(event_names) == JOB_EVENT_MAX, "a name per event");

/* Shifted by one, so that a missing cell is JOB_BAD and not a state. */
#define TO(state) (1 + (state))

static const uint8_t next[JOB_STATE_MAX][JOB_EVENT_MAX] = {
	[JOB_DRAFT] = {
		[EV_SUBMIT] = TO(JOB_QUEUED),
		[EV_REFUSE] = TO(JOB_REFUSED),
		[EV_REOPEN] = TO(JOB_DRAFT),
	},
	[JOB_QUEUED] = {
		[EV_GRANT] = TO(JOB_RUNNING),
		[EV_FAIL] = TO(JOB_DONE),
		[EV_AGAIN] = TO(JOB_QUEUED),
	},
	[JOB_RUNNING] = {
		[EV_END] = TO(JOB_DONE),
		[EV_FAIL] = TO(JOB_DONE),
		[EV_AGAIN] = TO(JOB_QUEUED),
	},
	[JOB_DONE] = {
		[EV_SUBMIT] = TO(JOB_QUEUED),
		/* done to refused: else old results would look like those of a new run */
		[EV_REFUSE] = TO(JOB_REFUSED),
		[EV_REOPEN] = TO(JOB_DRAFT),
	},
	[JOB_REFUSED] = {
		[EV_SUBMIT] = TO(JOB_QUEUED),
		[EV_REFUSE] = TO(JOB_REFUSED),
		[EV_REOPEN] = TO(JOB_DRAFT),
	},
};

enum job_state state_next(enum job_state state, enum job_event event)
{
	if ((unsigned)state >= JOB_STATE_MAX ||
	    (unsigned)event >= JOB_EVENT_MAX || !next[state][event])
		return JOB_BAD;
	return (enum job_state)(next[state][event] - 1);
}

const char *state_name(enum job_state state)
{
	return (unsigned)state < JOB_STATE_MAX ? state_names[state] : "?";
}

int state_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (!strcmp(state_names[i], name))
			return (int)i;
	return -1;
}

const char *event_name(enum job_event event)
{
	return (unsigned)event < JOB_EVENT_MAX ? event_names[event] : "?";
}

/* code 0: the program's own code is used */
static const struct {
	const char *name;
	unsigned code;
} statuses[] = {
	[STATUS_EXITED] = { "exited", 0 },
	[STATUS_SIGNALED] = { "signaled", 0 },
	[STATUS_TIMEOUT] = { "timeout", 124 },
	[STATUS_OUT_OF_MEMORY] = { "out_of_memory", 137 },
	[STATUS_CANCELLED] = { "cancelled", 137 },
	[STATUS_FAILED] = { "failed", 125 },
	[STATUS_INTERRUPTED] = { "interrupted", 125 },
};
_Static_assert(ARRAY_SIZE(statuses) == JOB_STATUS_MAX, "a row per status");

const char *status_name(enum job_status status)
{
	return (unsigned)status < JOB_STATUS_MAX ? statuses[status].name : "?";
}

unsigned status_exit_code(enum job_status status, unsigned value)
{
	if (status == STATUS_EXITED)
		return value & 0xff;
	if (status == STATUS_SIGNALED)
		return (128 + value) & 0xff;
	return (unsigned)status < JOB_STATUS_MAX ? statuses[status].code : 125;
}

/* The guest's numbers (Linux on x86-64), not the host's. 32 and 33 belong to
 * the C library; 34..64 are SIGRTMIN..SIGRTMAX. */
static const char *const signals[] = {
	[1] = "HUP",   [2] = "INT",     [3] = "QUIT",  [4] = "ILL",
	[5] = "TRAP",  [6] = "ABRT",    [7] = "BUS",   [8] = "FPE",
	[9] = "KILL",  [10] = "USR1",   [11] = "SEGV", [12] = "USR2",
	[13] = "PIPE", [14] = "ALRM",   [15] = "TERM", [16] = "STKFLT",
	[17] = "CHLD", [18] = "CONT",   [19] = "STOP", [20] = "TSTP",
	[21] = "TTIN", [22] = "TTOU",   [23] = "URG",  [24] = "XCPU",
	[25] = "XFSZ", [26] = "VTALRM", [27] = "PROF", [28] = "WINCH",
	[29] = "IO",   [30] = "PWR",    [31] = "SYS",
};
#define SIGNAL_MAX 64u
#define RTMIN 34u

const char *signal_name(unsigned number, char room[16])
{
	if (number < 1 || number > SIGNAL_MAX)
		return NULL;
	if (number < ARRAY_SIZE(signals))
		snprintf(room, 16, "SIG%s", signals[number]);
	else if (number < RTMIN)
		snprintf(room, 16, "SIG%u", number);
	else if (number == RTMIN)
		snprintf(room, 16, "SIGRTMIN");
	else
		snprintf(room, 16, "SIGRTMIN+%u", number - RTMIN);
	return room;
}

/* Parses "RTMIN", "RTMIN+3", "RTMAX", "RTMAX-3". */
static int realtime_parse(const char *name)
{
	bool from_max = !strncmp(name, "RTMAX", 5);
	uint64_t offset = 0;

	if (!from_max && strncmp(name, "RTMIN", 5))
		return -EINVAL;
	name += 5;
	if (*name && (*name != (from_max ? '-' : '+') ||
		      parse_u64(name + 1, 0, SIGNAL_MAX - RTMIN, &offset)))
		return -EINVAL;
	return (int)(from_max ? SIGNAL_MAX - offset : RTMIN + offset);
}

int signal_parse(const char *name)
{
	uint64_t number;

	if (!parse_u64(name, 1, SIGNAL_MAX, &number))
		return (int)number;
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 1; i < ARRAY_SIZE(signals); i++)
		if (!strcmp(signals[i], name))
			return (int)i;
	if (!strcmp(name, "POLL"))
		return 29;
	if (!strcmp(name, "32") || !strcmp(name, "33"))
		/* SIG32, SIG33: these have no other names */
		return name[1] == '2' ? 32 : 33;
	return realtime_parse(name);
}
