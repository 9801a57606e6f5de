/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by notify*.c only: the daemon's notes and what the helper is told. */
#ifndef FSD_NOTIFY_INT_H
#define FSD_NOTIFY_INT_H

#include "fsd/handover/inherit.h"
#include "vm/os/spawn.h"
#include "keeper.h"
#include "notify.h"

/* --- between the daemon and the helper ------------------------------------- */

/* What the helper does to a row, and what a watcher sees of it. */
enum notify_action {
	NOTIFY_UNLINK, /* DELETE */
	NOTIFY_MAKE,   /* CREATE */
	NOTIFY_MKDIR,  /* CREATE,ISDIR */
	NOTIFY_GROW,   /* MODIFY */
	NOTIFY_CHANGE, /* MODIFY, CLOSE_WRITE */
	NOTIFY_WHOLE,  /* CREATE, CLOSE_WRITE */
	NOTIFY_FILLED, /* CREATE, MODIFY, CLOSE_WRITE */
	NOTIFY_CLOSE,  /* CLOSE_WRITE */
	NOTIFY_END,    /* MODIFY, CLOSE_WRITE */
	NOTIFY_ACTIONS
};

struct notify_step {
	uint8_t action, row;
};

#define NOTIFY_STEPS_MAX (2 * JOB_ROW_MAX)

/* One datagram; the first one after a release brings the mount's root as a
 * descriptor. The answer is a byte: 0, or 1 if there is no such job. */
struct notify_message {
	uint8_t count; /* of steps; 0: let go of the mount, and no answer */
	bool remove;   /* the job itself, and nothing else; count is 1 */
	struct notify_step steps[NOTIFY_STEPS_MAX];
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

struct notify {
	struct fsd *d;
	struct list ready, later; /* of struct job: ended, and still running */
	struct loop_timer due;    /* the first of them */
	struct loop_timer give_up; /* at the end: nobody waits longer */
	bool gave_up;
	bool at_it;               /* one job after the other is told of */
	struct job *job;          /* a reference: the one being told of, */
	struct note *note;        /* owned: and what; NULL: the helper is idle */
	struct notify_message message;
	/* notify_link.c */
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
	struct keeper_wait asks;  /* for a helper, or for the mount's root */
	uint64_t started_ns, pause_ns; /* pause_ns: from that to the next */
	bool has_mount;           /* the helper holds the mount's root, */
	bool is_clone;            /* which is no part of anybody's tree */
	bool knows_dev;
	uint32_t dev_major, dev_minor; /* of the mount, if known */
};

/* notify_link.c */
void notify_link_start(struct notify *n);
void notify_link_end(struct notify *n);
/* The helpers of the servers before: they may be in the middle of a call. */
void notify_link_take_over(struct notify *n);
bool notify_link_was(const struct notify *n, pid_t pid);
bool notify_link_is_up(const struct notify *n);
/* Return: 0: it is on its way; -ESTALE: our mount is not there any more; negative
 * errno: the link was given up, a new one will be there later. */
int notify_link_send(struct notify *n);
/* There is nothing to tell at present. */
void notify_link_rest(struct notify *n);

/* notify.c: the helper has answered (found: there was such a job), or died. */
void notify_answered(struct notify *n, bool found);
void notify_lost(struct notify *n);
/* What notify_link_send() has taken could not be sent after all; r as there. */
void notify_not_sent(struct notify *n, int r);
void notify_pump(struct notify *n);

#endif
