/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service envd of a sandbox: its files and its processes. Handlers run on
 * workers.
 */
#ifndef GATEWAY_ENVD_H
#define GATEWAY_ENVD_H

#include <limits.h>
#include <sys/stat.h>

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

#define HOME "/home/user"

/* Guards: check the token, and that the user exists. */
bool envd_guard(struct request *r);
bool envd_files_guard(struct request *r);
/* The same; and for Connect's calls and streams, that the body is JSON. */
bool envd_call_guard(struct request *r);
bool envd_stream_guard(struct request *r);

void get_envd_health(struct request *r);
void get_envs(struct request *r);
void get_envd_metrics(struct request *r); /* handlers in usage.c */
void get_sandbox_metrics(struct request *r); /* the same figures for the control plane */

/* --- paths (envd_path.c) -------------------------------------------------------- */

struct envd_path {
	char sandbox[SANDBOX_NAME];
	char path[PATH_MAX]; /* path in the machine: absolute, without ".." */
	char real[PATH_MAX]; /* that path without links; set by envd_locate() */
	char mount[PATH_MAX + 128]; /* path in the mount */
	bool home; /* the path is below /home/user */
};

/* Resolves a path as clients give it: "~" and relative ones start at HOME.
 * Pure. Return: 0 or -ENAMETOOLONG. */
int envd_resolve(const char *sandbox, const char *text, struct envd_path *ret);
/*
 * Resolves a path and its symbolic links (envd_links.c); on a worker. ret->path keeps
 * the links; ret->real and ret->mount have none. last: also resolve the last name.
 * Return: 0 or negative errno with a sentence.
 */
int envd_locate(struct gateway *g, const char *sandbox, const char *text, bool last,
		struct envd_path *ret, struct err *err);
/* Returns the last name of its path; "/" for the root. */
const char *envd_name(const struct envd_path *p);
/* Makes the parent directories of the path, mode 0755. */
int envd_make_parents(struct gateway *g, const struct envd_path *p,
		      struct err *err);

/* --- files ------------------------------------------------------------------------ */

#define ENTRIES_MAX 100000u /* most entries of a list */
#define ENTRY_BYTES 2048u /* memory for one entry and its text */
/* envd_entry.c. Replies that there is no list: -EAGAIN: no memory for it now;
 * -EDQUOT: it is too long. */
void envd_list_failed(struct request *r, int code);
/* Returns a file in the JSON form of filesystem.Filesystem. */
json_t *envd_entry(const struct envd_path *p, const struct stat *st);

void get_files(struct request *r);  /* handlers in download.c */
void post_files(struct request *r); /* upload.c: called after the last piece */
int post_files_chunk(struct request *r, const char *data, size_t len); /* gets a piece */

void fs_stat(struct request *r); /* handlers in filesystem.c */
void fs_move(struct request *r);
void fs_make_dir(struct request *r);
void fs_remove(struct request *r);
void fs_list_dir(struct request *r);

/* links.c: links, fifos and devices, which the mount hides. Returns whether an open
 * directory has hidden entries. */
bool links_hidden(int dir);
/* Returns whether the directory that contains p has hidden entries. */
bool links_beside(struct gateway *g, const struct envd_path *p);
/* The calls of filesystem.c for hidden entries: programs in the machine do them. Last
 * action of a handler. */
void links_stat(struct request *r, const struct envd_path *p);
void links_move(struct request *r, const struct envd_path *from,
		const struct envd_path *to);
void links_remove(struct request *r, const struct envd_path *p);
/* Adds the links to entries, which it takes. */
void links_list(struct request *r, const struct envd_path *p, unsigned depth,
		json_t *entries);

void watch_dir(struct request *r); /* handlers in watch.c */
void watch_create(struct request *r);
void watch_events(struct request *r);
void watch_remove(struct request *r);

#endif
