/* SPDX-License-Identifier: Apache-2.0 */
/* Open files, shared by ops_open.c (which makes them) and ops_file.c. */
#ifndef FSD_OPS_HANDLE_H
#define FSD_OPS_HANDLE_H

#include "ops.h"
#include "wait.h"

enum handle_kind {
	H_FILE,   /* fd: a stored file, stdout, stderr, log, result.json */
	H_TEXT,   /* text made at open and again at each read of offset 0 */
	H_WAIT,   /* wait, *.follow, events: may park */
	H_CTL,    /* verbs */
	H_SINK,   /* written bytes are accepted and dropped */
};

struct handle {
	struct list node; /* in fsd->handles */
	enum handle_kind kind;
	struct target t;  /* with references to its job and node */
	int fd;           /* owned, H_FILE */
	unsigned run;     /* H_WAIT, a stream: the run at open, 0 if none was under way */
	uint64_t end;     /* H_WAIT: behind the last byte read, for poll */
	bool writer;      /* counted in node->writers */
	pid_t opener;     /* of a writer: the thread that opened it */
	bool changed;     /* something was written through it */
	bool failed;      /* its close: what it completes does not start */
	pid_t closer;     /* who was told that it succeeded, */
	struct loop_timer doubt; /* and this long there is no release */
	int seen;         /* `state`: the one that was read last, -1 none */
	struct buf text;  /* H_TEXT */
	struct events_reader *events; /* owned, H_WAIT on `events` */
	struct wait_poll poll;
	struct quota_open open;
};

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

void ops_handle_free(struct handle *h);
/* A row's text as it is now. Return: 0 or negative errno. */
int ops_row_text(struct handle *h);

#endif
