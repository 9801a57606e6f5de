/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of QEMU's monitor over a socket that QEMU was given. Every command
 * has an id, a slot and a time limit; when the connection ends, every command
 * that is not answered fails at once. Commands may be sent before QEMU has
 * even started: they wait in the socket.
 */
#ifndef VM_QMP_H
#define VM_QMP_H

#include "vm/os/loop.h"

struct qmp;

struct qmp_reply {
	int code;          /* 0, -EIO (QEMU refused), -ETIMEDOUT, -EPIPE */
	char status[32];   /* the answer's "status", if it has one */
	char text[256];    /* QEMU's sentence when it refused */
};

struct qmp_events {
	/* status: the event's data.status or data.reason, or "". */
	void (*event)(void *arg, const char *name, const char *status);
	/* The peer closed, or spoke no JSON. Commands have failed before. */
	void (*closed)(void *arg, const char *why);
};

typedef void qmp_reply_fn(void *arg, const struct qmp_reply *reply);

/* Consumes fd also when it fails. */
int qmp_new(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	    struct qmp **ret);
/* The same of a monitor that another process has spoken with, and perhaps heard
 * half a line of. */
int qmp_adopt(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	      struct qmp **ret);
int qmp_fd(const struct qmp *q); /* borrowed */
/* No event and no reply is delivered any more. May be called from either. */
void qmp_free(struct qmp *q);
/*
 * arguments is a JSON object as text, or NULL. fn may be NULL.
 * Return: 0, -EPIPE (closed), -ENOBUFS (too many are pending).
 */
int qmp_send(struct qmp *q, const char *command, const char *arguments,
	     uint64_t timeout_ns, qmp_reply_fn *fn, void *arg);
/* The same, and fd (borrowed) travels with the command. One at a time. */
int qmp_send_fd(struct qmp *q, const char *command, const char *arguments,
		int fd, uint64_t timeout_ns, qmp_reply_fn *fn, void *arg);

#endif
