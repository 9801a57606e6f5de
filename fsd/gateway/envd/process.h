/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of a sandbox. Each is a job of the mount named "gw.H.p…" (H: the sandbox's
 * name in the mount), which is kept for a while after its end. There is no other table.
 */
#ifndef GATEWAY_PROCESS_H
#define GATEWAY_PROCESS_H

#include "envd.h"

#define COMMANDS_MAX 64u /* most running commands of a sandbox */
#define COMMAND_KEPT_S 60 /* seconds that a command's job is kept after its end */

struct command {
	char job[64];
	json_int_t pid; /* 0: the process has not started yet */
	json_t *config;    /* owned: config.json */
	json_t *result; /* owned; NULL: it has not ended */
	bool ended;
	int events; /* of the job's `events`, positioned after what was read; or -1 */
};
void command_done(struct command *c);

/* process_find.c; on a worker */

/*
 * Finds a command by {"pid": N} or {"tag": "T"} of the request. all: reads its
 * events to their present end, and its result if it has ended. Return: false:
 * it has replied.
 */
bool command_find(struct request *r, const json_t *selector, bool all,
		  struct command *ret);
/* Calls fn for each running command of the sandbox. */
int command_each(struct request *r, void (*fn)(void *arg, struct command *c),
		 void *arg, struct err *err);
/* Returns the pid in an event `running`; 0: not known. */
json_int_t command_pid(const json_t *event);
/* Returns {"cmd", "args", "envs", "cwd"} as the client gave it. */
json_t *command_show(const struct command *c);
const char *command_tag(const struct command *c);

/* handlers in process.c */
void process_start(struct request *r);
void process_connect(struct request *r);
/* handlers in process_calls.c */
void process_list(struct request *r);
void process_signal(struct request *r);
void process_input(struct request *r);
void process_stream_input(struct request *r);
void process_close_stdin(struct request *r);
void process_update(struct request *r);

#endif
