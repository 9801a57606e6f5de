/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's config.json, parsed once for each content. Each close of a file needs it. Parsing
 * a large one takes tens of milliseconds; a worker thread does that before the loop needs
 * the result. On the loop's thread, unless a function says otherwise.
 */
#ifndef FSD_PARSED_CONFIG_H
#define FSD_PARSED_CONFIG_H

#include "job.h"

struct parsed_config {
	unsigned refs;
	int result;        /* result of config_parse() */
	bool unread;       /* the file could not be read: a later attempt may succeed */
	bool misplaced;    /* result is about environments, which may change later; config
			    * is valid */
	bool empty;        /* blanks only; the result is -ENODATA */
	struct err *err;   /* owned: the sentence if result < 0, or NULL; it is
			      larger than all the rest, and few jobs have one */
	struct job_config config; /* valid if result == 0, or misplaced */
};

/* Return: a new reference to the defaults, as for `{}`; NULL: out of memory. */
struct parsed_config *parsed_config_defaults(const struct job *job);
/* Return: a new reference to node's content, parsed; NULL: out of memory. */
struct parsed_config *parsed_config_get(struct job *job, struct node *node);
/* Like parsed_config_get(), for a file that no open handle can write to: an empty file
 * counts as `{}`, unless a write to it has failed. */
struct parsed_config *parsed_closed(struct job *job, struct node *node);
/* Return: the node of the job's config.json (borrowed), or NULL. */
struct node *parsed_config_node(struct job *job);
/* Returns a new reference to the config of a job whose run has begun, or to the
 * defaults if it has none. The config is valid; its environments may be gone. The fiber
 * waits until the files are loaded. NULL: there is no valid config, or no memory. */
struct parsed_config *parsed_begun(struct job *job);
/* Call it for a result < 0. Return: true if the text is wrong; false if this host could
 * not read or check it. */
bool parsed_config_is_wrong(const struct parsed_config *p);
/* True if parsed_config_get() would be slow now. */
bool parsed_config_is_slow(const struct job *job, const struct node *node);
/*
 * Parses on a worker thread, then calls done(arg) on the loop; until then it holds a
 * reference to the job. Return: 0 or negative errno (done is not called).
 */
int parsed_config_prefetch(struct job *job, struct node *node, void (*done)(void *arg),
			   void *arg);
/* Like parsed_config_prefetch(), but the calling fiber waits for the end. Does nothing if
 * parsed_config_get() would not be slow, or outside of fibers. */
void parsed_config_prepare(struct job *job, struct node *node);
/* Return: p, with one more reference. p is not NULL. */
struct parsed_config *parsed_config_ref(struct parsed_config *p);
void parsed_config_unref(struct parsed_config *p); /* NULL is fine */

#endif
