/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights that a server gives up before it serves. It parses data of guests and users,
 * so an attacker who takes it over must gain little:
 *
 *   start    as it was started: opens image and state, starts the jailer and
 *            the broker, mounts
 *   serving  no capability but to write what it owns; no new privileges; below
 *            the state directory it may do as before and nowhere else may it
 *            open a file (Landlock); it can start no process, make no socket,
 *            mount nothing, look into no other process nor signal it, and
 *            make no setuid program (seccomp)
 */
#ifndef FSD_RESTRAIN_H
#define FSD_RESTRAIN_H

struct err;
struct own_walls;
struct mount_options;

/* Gives the rights up. Call it before there is a thread. It fills *walls: which walls
 * stand. Return: 0, or negative errno with a sentence: a wall cannot be built. A
 * kernel without Landlock is no error. */
int restrain(const struct mount_options *options, struct own_walls *walls,
	     struct err *err);

#endif
