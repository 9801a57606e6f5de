/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one server from start to end. */
#ifndef FSD_SERVE_H
#define FSD_SERVE_H

struct mount_options;

/* Runs the server for the supervisor at descriptor 3 (supervisor.h) until its
 * end. Call it before there is a thread. options: borrowed. Return: exit code. */
int serve(const struct mount_options *options);

#endif
