/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control plane of E2B: makes, lists, prolongs and ends sandboxes.
 * post_*(), get_*() and delete_*() are handlers, on workers.
 */
#ifndef GATEWAY_CONTROL_H
#define GATEWAY_CONTROL_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

void post_sandboxes(struct request *r);
void get_sandbox(struct request *r);
void delete_sandbox(struct request *r);
void get_all_metrics(struct request *r);
/* in control_list.c */
void get_sandboxes(struct request *r);
/* in control_time.c */
void post_timeout(struct request *r);
void post_connect(struct request *r);
void post_refreshes(struct request *r);
void post_pause(struct request *r);

/* Returns the environment for a request that names none: --environment, else
 * `data` if it exists now, else `base`. On a worker. */
const char *gateway_environment(const struct gateway *g);

/* Finds the caller's sandbox by the id in the path; else replies 404. */
bool control_guard(struct request *r);

/*
 * Makes a sandbox of that name in the mount, and counts it for its owner.
 * config: all of config.json, with the owner in its meta. *ret: the sandbox;
 * ret may be NULL. Return: 0; -EDQUOT: the owner has --max-sandboxes; -EEXIST;
 * other negative errno; all with a sentence.
 */
int control_make(struct gateway *g, const char *owner, const char *name,
		 json_t *config, struct sandbox **ret, struct err *err);

/* Makes a sandbox for --debug-ports; it needs no token. */
int control_make_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err);
/* Opens the sandbox that all --debug-ports share; makes it if it is missing. */
int control_open_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err);

/* Resumes the request's sandbox if it is paused and was made with autoResume. Return:
 * false: it has replied. */
bool control_wake(struct request *r);
/* Reads a lifetime from the member `name` of the body; `other` if there is none. Return:
 * seconds; 0: it has replied. */
uint64_t control_life(struct request *r, const json_t *body, const char *name,
		      uint64_t other);
/* Returns the answer for a client that makes the sandbox or connects to it. */
json_t *control_show_access(const struct request *r);
/* Returns the answer to GET. NULL: the sandbox is gone, or no memory. */
json_t *control_show(struct gateway *g, const struct sandbox *s);
/* Returns "running" or "paused"; NULL: the sandbox is lost or gone. */
const char *control_state(struct gateway *g, const struct sandbox *s);
/* Returns whether the sandbox's machine was started; that happens at its first job, or
 * use of its files. */
bool control_has_machine(struct gateway *g, const struct sandbox *s);
/* Returns when the sandbox ends, in ms since 1970; 0: never; -1: it is gone. */
int64_t control_end(struct gateway *g, const struct sandbox *s);

#endif
