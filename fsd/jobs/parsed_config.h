/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's config.json, parsed once for each content: every closing of a file
 * looks at it, and a large one takes tens of milliseconds, so it can also be
 * parsed by the chores' thread beforehand.
 */
#ifndef FSD_PARSED_CONFIG_H
#define FSD_PARSED_CONFIG_H

#include "job.h"

struct parsed_config {
	unsigned refs;
	int result;        /* of config_parse() */
	bool unread;       /* or of the disk, which may give it later */
	bool misplaced;    /* or of the environments, of which there may be others
			      later; config is valid all the same */
	bool empty;        /* there is no word in it; the result is -ENODATA */
	struct err *err;   /* owned: the sentence if result < 0, or NULL; it is
			      larger than all the rest, and few jobs have one */
	struct job_config config; /* valid if result == 0, or misplaced */
};

/* The defaults, as of `{}`; a new reference or NULL without memory. */
struct parsed_config *parsed_config_defaults(const struct job *job);
/* A new reference to what node holds now; NULL without memory. */
struct parsed_config *parsed_config_get(struct job *job, struct node *node);
/* The same of one that nobody writes to any more: an empty one counts as `{}`,
 * unless a write to it has failed. */
struct parsed_config *parsed_closed(struct job *job, struct node *node);
/* The node of the job's config.json (borrowed), or NULL. */
struct node *parsed_config_node(struct job *job);
/* Returns a new reference to the config of a job whose run has begun, or to the
 * defaults if it has none. The config is valid; its environments may be gone. The fiber
 * waits until the files are loaded. NULL: there is no valid config, or no memory. */
struct parsed_config *parsed_begun(struct job *job);
/* Of a result < 0: is it what the text says? Else this host could not tell. */
bool parsed_config_is_wrong(const struct parsed_config *p);
/* True if parsed_config_get() would be slow now. */
bool parsed_config_is_slow(const struct job *job, const struct node *node);
/*
 * Parses on the chores' thread, then calls done(arg) on the loop, while job is
 * still referred to. Return: 0 or negative errno (done is not called).
 */
int parsed_config_prefetch(struct job *job, struct node *node, void (*done)(void *arg),
			   void *arg);
/* The same if parsed_config_get() would be slow; the fiber, if any, waits for it. */
void parsed_config_prepare(struct job *job, struct node *node);
/* Return: p, with one more reference. p is not NULL. */
struct parsed_config *parsed_config_ref(struct parsed_config *p);
void parsed_config_unref(struct parsed_config *p); /* NULL is fine */

#endif
