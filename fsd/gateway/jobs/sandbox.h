/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox, and what the mount knows of it. Its id is a secret of its client; in the
 * mount it is called by the first digits of the id's sum.
 */
#ifndef GATEWAY_SANDBOX_H
#define GATEWAY_SANDBOX_H

#include "fsd/gateway/gateway.h"

#define SANDBOX_ID 20u
#define SANDBOX_TOKEN 32u
#define SANDBOX_NAME 17u /* 16 digits and a NUL */
#define SANDBOX_DEBUG "debug_sandbox_id"
#define SANDBOXES ".fsd/sandboxes"

struct sandbox {
	char id[64];
	char name[SANDBOX_NAME];
	json_t *config;    /* config.json, as it was when it was looked at */
	json_t *meta;      /* its member, or NULL; borrowed */
	const char *token; /* of meta, or "" */
};

void sandbox_hash(const char *id, char ret[SANDBOX_NAME]);
/* Reads it. On a worker. Return: 0, -ENOENT: there is none, or negative errno. */
int sandbox_open(struct gateway *g, const char *id, struct sandbox **ret,
		 struct err *err);
/* The same by its name in the mount. */
int sandbox_open_named(struct gateway *g, const char *name,
		       struct sandbox **ret, struct err *err);
/* One that was made just now: config is its config.json. Return: 0 or -ENOMEM. */
int sandbox_of(const char *name, json_t *config, struct sandbox **ret,
	       struct err *err);
void sandbox_free(struct sandbox *s);
/* Writes meta and what else of config.json may change. */
int sandbox_write(struct gateway *g, const char *name, json_t *config,
		  struct err *err);
/* Reads it, lets fn change its meta, and writes it: one worker at a time for each id. */
int sandbox_change(struct gateway *g, const char *id,
		   void (*fn)(json_t *meta, void *arg), void *arg,
		   struct err *err);
/* ".fsd/sandboxes/NAME/REST" into room; "" if that is too long, which every call of
 * mount.h refuses. */
const char *sandbox_path(const char *name, const char *rest, char room[128]);
/* Sets ret to the first line of one of its files, as mount_line(). On a worker. */
int sandbox_line(struct gateway *g, const char *name, const char *file,
		 struct buf *ret);
/* Would a job wait for a machine that sandboxes keep? name: its sandbox in the mount;
 * NULL: it is to have a machine of its own. On a worker. Return: 0, or -EDQUOT with
 * a sentence. */
int sandbox_check_machine(struct gateway *g, const char *name, struct err *err);

#endif
