/* SPDX-License-Identifier: Apache-2.0 */
/* fsd mount --daemon: a service in the background. */
#ifndef FSD_DAEMONIZE_H
#define FSD_DAEMONIZE_H

struct mount_options;

/*
 * Starts hold() in a child process with a session of its own. Returns when the
 * mount answers, or when the child has failed and has printed why on our
 * standard error. Later lines of the log go to fsd.log in the state directory.
 * Return: 0 or an exit code.
 */
int hold_in_background(const struct mount_options *options);

#endif
