/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox, as the mount knows it. Its id is a secret of its client; in the
 * mount its name is the beginning of the id's checksum. On workers.
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
	json_t *config; /* config.json, as it was when it was read */
	json_t *meta; /* borrowed: the member "meta" of config, or NULL */
	const char *token; /* borrowed: of meta, or "" */
};

void sandbox_hash(const char *id, char ret[SANDBOX_NAME]);
/* Reads a sandbox. Return: 0, -ENOENT: there is none, or negative errno. */
int sandbox_open(struct gateway *g, const char *id, struct sandbox **ret,
		 struct err *err);
/* Opens the sandbox by its name in the mount. */
int sandbox_open_named(struct gateway *g, const char *name,
		       struct sandbox **ret, struct err *err);
/* Makes the object of a new sandbox; config: its config.json. Return: 0 or
 * -ENOMEM. */
int sandbox_of(const char *name, json_t *config, struct sandbox **ret,
	       struct err *err);
void sandbox_free(struct sandbox *s);
/* Writes meta, and other parts of config.json that may change. */
int sandbox_write(struct gateway *g, const char *name, json_t *config,
		  struct err *err);
/* Reads the sandbox's config, lets fn change its meta, and writes it: one worker at a
 * time for each id. */
int sandbox_change(struct gateway *g, const char *id,
		   void (*fn)(json_t *meta, void *arg), void *arg,
		   struct err *err);
/* Makes ".fsd/sandboxes/NAME/REST" in room; "" if that is too long, which every
 * call of mount.h refuses. */
const char *sandbox_path(const char *name, const char *rest, char room[128]);
/* Reads the first line of one of its files, as mount_line(). */
int sandbox_line(struct gateway *g, const char *name, const char *file,
		 struct buf *ret);
/*
 * Checks whether a job would wait for a machine that sandboxes keep. name: its
 * sandbox; NULL: it needs a machine of its own. Return: 0, or -EDQUOT with a
 * sentence.
 */
int sandbox_check_machine(struct gateway *g, const char *name, struct err *err);

#endif
