/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of QEMU's monitor, over a socket that QEMU inherits. Every command
 * has an id, a slot and a timeout. When the connection ends, all unanswered
 * commands fail at once. Commands may be sent before QEMU has started: they
 * wait in the socket. All functions run on the loop.
 */
#ifndef VM_QMP_H
#define VM_QMP_H

#include "vm/os/loop.h"

struct qmp;

struct qmp_reply {
	int code; /* 0, -EIO (QEMU refused), -ETIMEDOUT, -EPIPE (closed) */
	char status[32];   /* the answer's "status", if it has one */
	char text[256]; /* QEMU's sentence, if it has refused the command */
};

struct qmp_events {
	/* status: the event's data.status or data.reason, or "". */
	void (*event)(void *arg, const char *name, const char *status);
	/* The peer closed the socket, or sent something that is not JSON. All
	 * commands have failed before. */
	void (*closed)(void *arg, const char *why);
};

typedef void qmp_reply_fn(void *arg, const struct qmp_reply *reply);

/* Makes a client. Consumes fd, also on failure. */
int qmp_new(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	    struct qmp **ret);
/*
 * Makes a client for a monitor that a dead process used. That process may have
 * read half a line, so the first line is ignored if it cannot be parsed.
 * Consumes fd.
 */
int qmp_adopt(struct loop *loop, int fd, const struct qmp_events *ev, void *arg,
	      struct qmp **ret);
int qmp_fd(const struct qmp *q); /* borrowed */
/*
 * Frees the client; no event and no reply follows. May be called inside either.
 */
void qmp_free(struct qmp *q);
/* Sends a command. arguments: a JSON object as text, or NULL. fn may be NULL.
 * Return: 0, -EPIPE (closed), -ENOBUFS (too many commands are pending). */
int qmp_send(struct qmp *q, const char *command, const char *arguments,
	     uint64_t timeout_ns, qmp_reply_fn *fn, void *arg);
/* Sends a command with fd (borrowed). Only one descriptor may be under way at a
 * time. Return: 0, -ENOBUFS (a descriptor is under way, or too many commands
 * are pending), -EPIPE (closed), or the negative errno of duplicating fd. */
int qmp_send_fd(struct qmp *q, const char *command, const char *arguments,
		int fd, uint64_t timeout_ns, qmp_reply_fn *fn, void *arg);

#endif
