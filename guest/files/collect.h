/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the job's outputs as FILE frames, sorted by name: every regular file and link
 * below the home that the program made or changed, and every directory that it made.
 * The tree is the program's, so hostile: links are never followed, only regular files
 * are opened, and everything has a bound. Call it when the program can no longer change
 * the tree.
 */
#ifndef GUEST_COLLECT_H
#define GUEST_COLLECT_H

#include "files.h"
#include "guest/os/port.h"
#include "guest/wire/wire.h"

/* Sends the tree and OUTPUT_END. Return: 0, or the port's error. */
int collect_send(struct port *port, struct files *files,
		 const struct wire_job *job);

#endif
