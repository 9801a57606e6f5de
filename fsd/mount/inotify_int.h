/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by notify*.c only: the daemon's notes and what the helper is told. */
#ifndef FSD_INOTIFY_INT_H
#define FSD_INOTIFY_INT_H

#include "fsd/handover/inherit.h"
#include "vm/os/spawn.h"
#include "broker.h"
#include "inotify.h"

/* --- between the daemon and the helper ------------------------------------- */

/* What the helper does to a row, and what a watcher sees of it. */
enum inotify_action {
	INOTIFY_UNLINK, /* DELETE */
	INOTIFY_MAKE,  /* CREATE */
	INOTIFY_MKDIR, /* CREATE,ISDIR */
	INOTIFY_GROW,  /* MODIFY */
	INOTIFY_CHANGE, /* MODIFY, CLOSE_WRITE */
	INOTIFY_WHOLE, /* CREATE, CLOSE_WRITE */
	INOTIFY_FILLED, /* CREATE, MODIFY, CLOSE_WRITE */
	INOTIFY_CLOSE, /* CLOSE_WRITE */
	INOTIFY_END,   /* MODIFY, CLOSE_WRITE */
	INOTIFY_ACTIONS
};

struct inotify_step {
	uint8_t action, vfile;
};

#define INOTIFY_STEPS_MAX (2 * JOB_VFILE_MAX)

/* One datagram; the first one after a release brings the mount's root as a
 * descriptor. The answer is a byte: 0, or 1 if there is no such job. */
struct inotify_message {
	uint8_t count; /* of steps; 0: let go of the mount, and no answer */
	bool remove;   /* the job itself, and nothing else; count is 1 */
	struct inotify_step steps[INOTIFY_STEPS_MAX];
	char job[LIMIT_FILE_NAME + 1]; /* its name now */
};

/* --- the daemon's side ----------------------------------------------------- */

/* What is to be told of one job at once; each a set of 1 << row. */
struct note {
	struct list node; /* in job->inotify.notes */
	unsigned gone, made, grew, closed;
	bool urgent;      /* the job has ended */
	bool remove;      /* it is to go; its last one */
};

struct inotify {
	struct fsd *d;
	struct list ready, later; /* of struct job: ended, and still running */
	struct loop_timer due;    /* the first of them */
	struct loop_timer give_up; /* at the end: nobody waits longer */
	bool gave_up;
	bool at_it;               /* one job after the other is told of */
	struct job *job;          /* a reference: the one being told of, */
	struct note *note;        /* owned: and what; NULL: the helper is idle */
	struct inotify_message message;
	/* inotify_link.c */
	int sock, pidfd;          /* of the helper; owned, or -1 */
	pid_t pid;                /* 0: there is none */
	unsigned place;           /* of it, in inherit_head.helper */
	struct former {           /* one that has no server any more */
		pid_t pid;        /* 0: there is none */
		int pidfd;        /* owned */
		struct loop_fd src;
	} former[INHERIT_HELPERS];
	struct loop_fd sock_src, end_src;
	struct loop_timer restart, release;
	struct broker_wait asks;  /* for a helper, or for the mount's root */
	uint64_t started_ns, pause_ns; /* pause_ns: from that to the next */
	bool has_mount;           /* the helper holds the mount's root, */
	bool is_clone;            /* which is no part of anybody's tree */
	bool knows_dev;
	uint32_t dev_major, dev_minor; /* of the mount, if known */
};

/* inotify_link.c */
void inotify_link_start(struct inotify *n);
void inotify_link_end(struct inotify *n);
/* The helpers of the servers before: they may be in the middle of a call. */
void inotify_link_take_over(struct inotify *n);
bool inotify_link_was(const struct inotify *n, pid_t pid);
bool inotify_link_is_up(const struct inotify *n);
/* Return: 0: it is on its way; -ESTALE: our mount is not there any more; negative
 * errno: the link was given up, a new one will be there later. */
int inotify_link_send(struct inotify *n);
/* There is nothing to tell at present. */
void inotify_link_rest(struct inotify *n);

/* inotify.c: the helper has answered (found: there was such a job), or died. */
void inotify_answered(struct inotify *n, bool found);
void inotify_lost(struct inotify *n);
/* What inotify_link_send() has taken could not be sent after all; r as there. */
void inotify_not_sent(struct inotify *n, int r);
void inotify_pump(struct inotify *n);

#endif
