/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's outputs: every regular file below the home that the program made
 * or changed, and every directory that it made, as FILE frames, names sorted.
 * The tree is the program's, so hostile: links are never followed, nothing
 * but regular files is opened, and a bound stands on everything. No process
 * of the job lives any more.
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
