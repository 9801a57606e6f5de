/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane of E2B: sandboxes are made, listed, prolonged and ended. */
#ifndef GATEWAY_CONTROL_H
#define GATEWAY_CONTROL_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

void post_sandboxes(struct request *r);
void get_sandboxes(struct request *r); /* control_list.c */
void get_sandbox(struct request *r);
void delete_sandbox(struct request *r);
void post_timeout(struct request *r); /* control_time.c */
void post_connect(struct request *r);
void post_refreshes(struct request *r);
void post_pause(struct request *r);
void get_all_metrics(struct request *r);

/* The environment of a request that names none: --environment, else data if it is there now,
 * else base. On a worker. */
const char *gateway_environment(const struct gateway *g);

/* Finds the caller's own, by the id in the path; else 404. */
bool control_guard(struct request *r);

/* Makes a sandbox of that name in the mount, which counts for its owner: config is all
 * of config.json, with the owner in its meta. *ret is the sandbox; ret may be NULL. Return:
 * 0; -EDQUOT: the owner has as many as --max-sandboxes allows; -EEXIST; other negative
 * errno; all with a sentence. */
int control_make(struct gateway *g, const char *owner, const char *name,
		 json_t *config, struct sandbox **ret, struct err *err);

/* One of --debug-ports, which needs no token. */
int control_make_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err);
/* The one that all of them have; it is made if it is not there. */
int control_open_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err);

/* A paused one goes on if its maker lets it do so for any request. Return: false: it
 * has replied. */
bool control_wake(struct request *r);
/* A life that the body asks for. Return: seconds; 0: it has replied. */
uint64_t control_life(struct request *r, const json_t *body, const char *name,
		      uint64_t other);
/* As it is told to who makes it or connects to it. */
json_t *control_show_access(struct gateway *g, const struct sandbox *s);
/* One as GET shows it. Return: NULL: it has gone, or no memory. */
json_t *control_show(struct gateway *g, const struct sandbox *s);
/* "running", "paused"; NULL: it is lost or gone. */
const char *control_state(struct gateway *g, const struct sandbox *s);
/* Has it begun? It does at its first job, or use of its files. */
bool control_has_machine(struct gateway *g, const struct sandbox *s);
/* When it ends, ms since 1970; 0: never; -1: it has gone. */
int64_t control_end(struct gateway *g, const struct sandbox *s);

#endif
