/* SPDX-License-Identifier: Apache-2.0 */
/* The service envd of a sandbox: its files and its processes. */
#ifndef GATEWAY_ENVD_H
#define GATEWAY_ENVD_H

#include <limits.h>
#include <sys/stat.h>

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

#define HOME "/home/user"

/* Guards: the token, and a user that there is. */
bool envd_guard(struct request *r);
bool envd_files_guard(struct request *r);
/* The same, and a body that is JSON, of Connect's calls and of its streams. */
bool envd_call_guard(struct request *r);
bool envd_stream_guard(struct request *r);

void get_envd_health(struct request *r);
void get_envs(struct request *r);
void get_envd_metrics(struct request *r); /* usage.c */
void get_sandbox_metrics(struct request *r); /* the same, of the control plane */

/* --- paths (envd_path.c) -------------------------------------------------------- */

struct envd_path {
	char sandbox[SANDBOX_NAME];
	char path[PATH_MAX];        /* in the machine: absolute, without ".." */
	char real[PATH_MAX];        /* the same without a link; set by envd_locate() */
	char mount[PATH_MAX + 128]; /* in the mount */
	bool home;                  /* in /home/user */
};

/* Resolves a path as clients give it: "~" and relative ones are of HOME. Pure.
 * Return: 0 or -ENAMETOOLONG. */
int envd_resolve(const char *sandbox, const char *text, struct envd_path *ret);
/*
 * The same, where its symbolic links lead (envd_links.c), for a worker: mount is of real,
 * path is as it was given. last: the last name may be a link, too; else it is what it is.
 * Return: 0 or negative errno with a sentence.
 */
int envd_locate(struct gateway *g, const char *sandbox, const char *text, bool last,
		struct envd_path *ret, struct err *err);
/* The last name of its path; "/" of the root. */
const char *envd_name(const struct envd_path *p);
/* Makes the directories that it lies in, mode 0755. */
int envd_make_parents(struct gateway *g, const struct envd_path *p,
		      struct err *err);

/* --- files ------------------------------------------------------------------------ */

#define ENTRIES_MAX 100000u /* of a list */
#define ENTRY_BYTES 2048u   /* of memory, for one and its text */
/* envd_entry.c. Why there is no list: -EAGAIN: its client has no memory for it; -EDQUOT: it is too long. */
void envd_list_failed(struct request *r, int code);
/* One as the calls show it. */
json_t *envd_entry(const struct envd_path *p, const struct stat *st);

void get_files(struct request *r);  /* download.c */
void post_files(struct request *r); /* upload.c: the end of the body, */
int post_files_chunk(struct request *r, const char *data, size_t len);

void fs_stat(struct request *r); /* filesystem.c */
void fs_move(struct request *r);
void fs_make_dir(struct request *r);
void fs_remove(struct request *r);
void fs_list_dir(struct request *r);

/* The mount does not show links (links.c). Does an open directory have some? */
bool links_hidden(int dir);
/* Does the directory that it lies in? */
bool links_beside(struct gateway *g, const struct envd_path *p);
/* Those calls, made by the machine's programs; the last that a handler does. */
void links_stat(struct request *r, const struct envd_path *p);
void links_move(struct request *r, const struct envd_path *from,
		const struct envd_path *to);
void links_remove(struct request *r, const struct envd_path *p);
/* Takes entries, and adds the links. */
void links_list(struct request *r, const struct envd_path *p, unsigned depth,
		json_t *entries);

void watch_dir(struct request *r); /* watch.c */
void watch_create(struct request *r);
void watch_events(struct request *r);
void watch_remove(struct request *r);

#endif
