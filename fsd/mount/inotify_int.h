/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of inotify: shared by inotify*.c: the server's notes, and the
 * messages to the helper.
 */
#ifndef FSD_INOTIFY_INT_H
#define FSD_INOTIFY_INT_H

#include "fsd/handover/handover.h"
#include "vm/os/spawn.h"
#include "broker.h"
#include "inotify.h"

/* --- between the server and the helper ---------------------------------- */

/* The helper's action on a virtual file, and the events that a watcher gets. */
enum inotify_action {
	INOTIFY_UNLINK, /* causes DELETE */
	INOTIFY_MAKE,  /* causes CREATE */
	INOTIFY_MKDIR, /* causes CREATE,ISDIR */
	INOTIFY_GROW,  /* causes MODIFY */
	INOTIFY_CHANGE, /* causes MODIFY, CLOSE_WRITE */
	INOTIFY_WHOLE, /* causes CREATE, CLOSE_WRITE */
	INOTIFY_FILLED, /* causes CREATE, MODIFY, CLOSE_WRITE */
	INOTIFY_CLOSE, /* CLOSE_WRITE */
	INOTIFY_END,   /* MODIFY, CLOSE_WRITE */
	INOTIFY_ACTIONS
};

struct inotify_step {
	uint8_t action, vfile;
};

#define INOTIFY_STEPS_MAX (2 * JOB_VFILE_MAX)

/*
 * A message to the helper, one datagram. The first one after a release brings a
 * descriptor of the mount's root. The answer is a byte: 0, or 1 if the helper could
 * not enter the job's directory, or not remove it.
 */
struct inotify_message {
	/* number of steps; 0: close the mount's root, no answer */
	uint8_t count;
	bool remove; /* remove the job itself; count is 1 */
	struct inotify_step steps[INOTIFY_STEPS_MAX];
	char job[LIMIT_FILE_NAME + 1]; /* the job's present name */
};

/* --- the server's side -------------------------------------------------- */

/* Pending events of one job, sent together; each a set of 1 << virtual file. */
struct note {
	struct list node; /* link in job->inotify.notes */
	unsigned gone, made, grew, closed;
	bool urgent;      /* the job has ended */
	bool remove; /* the helper must remove the job; this is its last note */
};

#define INOTIFY_HELPERS 8u /* processes that are known at a time */

struct inotify {
	struct fsd *d;
	/* Jobs with notes (struct job). ready: they have ended; later: they still run. */
	struct list ready, later;
	struct loop_timer due; /* fires for the first job that is due */
	struct loop_timer give_up; /* limits the wait at the server's end */
	bool gave_up;
	bool at_it; /* notes are being sent, one job after the other */
	struct job *job; /* owns a reference: the job of `note` */
	/* owned: the note being sent; NULL: the helper is idle */
	struct note *note;
	struct inotify_message message;
	/* --- used by inotify_link.c ------------------------------------- */
	int sock, pidfd; /* descriptors of the helper; owned, or -1 */
	pid_t pid; /* the helper's; 0: there is none */
	unsigned place; /* the helper's index in helpers_record.pid */
	struct former { /* a helper that an earlier server started */
		pid_t pid;        /* 0: there is none */
		int pidfd;        /* owned */
		struct loop_fd src;
	} former[INOTIFY_HELPERS];
	struct loop_fd sock_src, end_src;
	struct loop_timer restart, release;
	/* a question for a helper, or for the mount's root */
	struct broker_wait asks;
	/* when the helper was started; pause before the next one */
	uint64_t started_ns, pause_ns;
	bool has_mount; /* the helper has the mount's root open */
	bool is_clone; /* the helper has it as a clone, which is in no directory tree */
	bool knows_dev;
	uint32_t dev_major, dev_minor; /* device of the mount, if knows_dev */
};

/* functions of inotify_link.c */
void inotify_link_start(struct inotify *n);
void inotify_link_end(struct inotify *n);
/* Takes over the helpers of earlier servers: they may be in the middle of a
 * call. */
void inotify_link_take_over(struct inotify *n);
bool inotify_link_was(const struct inotify *n, pid_t pid);
bool inotify_link_is_up(const struct inotify *n);
/* Sends the message. Return: 0: it will be sent; -ESTALE: our mount is gone;
 * another negative errno: the link is closed, a new one comes later. */
int inotify_link_send(struct inotify *n);
/* Tells the link that no note is pending at present. */
void inotify_link_rest(struct inotify *n);

/* inotify.c: the helper has answered (found: the byte was 0), or died. */
void inotify_answered(struct inotify *n, bool found);
void inotify_lost(struct inotify *n);
/* Call it when a message that inotify_link_send() had accepted could not be sent. r: a
 * negative errno, as that function returns it. */
void inotify_not_sent(struct inotify *n, int r);
void inotify_pump(struct inotify *n);

#endif
