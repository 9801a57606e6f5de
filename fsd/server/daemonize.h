/* SPDX-License-Identifier: Apache-2.0 */
/* fsd mount --daemon: a service in the background. */
#ifndef FSD_DAEMONIZE_H
#define FSD_DAEMONIZE_H

struct mount_options;

/*
 * Starts hold() in a child of its own session and waits until the mount
 * answers, or the child has ended with its sentence on our standard error;
 * later lines go to STATE/fsd.log. Return: 0 or an exit code.
 */
int hold_in_background(const struct mount_options *options);

#endif
