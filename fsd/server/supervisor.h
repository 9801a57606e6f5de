/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that a user starts and ends. It makes the mount, and keeps the
 * kernel's descriptor of it, the memory that servers share (handover.h) and the
 * sockets of machines (fdstore.h). It starts one server after the other. It serves
 * no request, and reads from a server only one byte or one struct fdstore_message
 * at a time, so little can make it fail; a server may be killed at any moment. One
 * thread.
 *
 *   server -> SUPERVISOR_PREPARED    the first one: the mount is made now
 *          <- struct supervisor_mount, with the kernel's descriptor; one byte
 *             from a supervisor of an older version
 *   server -> SUPERVISOR_READY       the mount answers
 *   server -> FDSTORE_KEEP ...    see fdstore.h
 *   exit 0, 1   the end of the service;  SUPERVISOR_NEXT, a signal   the next one
 *
 * SIGTERM, SIGINT: end now. SIGUSR1: end after the running jobs. SIGUSR2: the
 * next server runs the installed program, after the running jobs;
 * SUPERVISOR_NOW: at once. If the supervisor is killed its server ends the
 * service.
 *
 * A private mount reacts to SUPERVISOR_LEAVE instead of SIGTERM and the other
 * signals that end a service. A batch system sends SIGTERM to every process of
 * a job at once, and the program should have time to save: its mount must stay
 * until the client ends.
 */
#ifndef FSD_SUPERVISOR_H
#define FSD_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct mount_options;

#define SUPERVISOR_SERVES "serve" /* the command that starts a server */
enum {
	/* messages of one byte to the supervisor; fdstore.h has further messages */
	SUPERVISOR_PREPARED = 'P', SUPERVISOR_READY = 'R',
};
enum { SUPERVISOR_NEXT = 75 }; /* a server's exit code: start another server */
#define SUPERVISOR_NOW SIGRTMIN
#define SUPERVISOR_LEAVE (SIGRTMIN + 1) /* client/private.h */
/* A server's descriptors. */
enum { SUPERVISOR_FD_CONTROL = 3, SUPERVISOR_FD_HANDOVER };

struct supervisor_mount {
	uint32_t upgrade; /* enum supervisor_upgrade, if this server answers */
};

/* The process to notify when the mount answers. If that process has ended
 * meanwhile, the service ends. */
struct daemon_log;
struct ready {
	int fd; /* owned by hold(); gets one byte */
	bool root; /* send a descriptor of the mount's root with it */
	/* borrowed; becomes standard error then; NULL: standard error stays */
	struct daemon_log *log;
};

/* Runs the supervisor until the end of the service. ready may be NULL. Return:
 * exit code. */
int hold(const struct mount_options *options, struct ready *ready);

#endif
