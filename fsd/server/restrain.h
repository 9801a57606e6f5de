/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights that a server gives up before it serves. It parses data of guests
 * and users, so an attacker who takes it over must gain little:
 *
 *   start    all rights of its user: opens image and state, starts the jailer
 *            and the broker, mounts
 *   serving  no capability except to write its own files; no new privileges;
 *            opens files only below the state directory and a few others
 *            (Landlock); starts no process, makes no socket, mounts nothing,
 *            reads and signals no other process, makes no setuid program
 *            (seccomp)
 */
#ifndef FSD_RESTRAIN_H
#define FSD_RESTRAIN_H

struct err;
struct own_walls;
struct mount_options;

/*
 * Gives the rights up; call it before there is another thread. Fills in *walls:
 * which walls stand. Return: 0, or negative errno with a sentence if a wall
 * cannot be built. A kernel without Landlock is no error.
 */
int restrain(const struct mount_options *options, struct own_walls *walls,
	     struct err *err);

#endif
