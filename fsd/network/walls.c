/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walls around the door, for .fsd/security. Those that the kernel shows are read from
 * the living process; the door itself says of the others. Owns no state. On the loop.
 */
#include "network_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>


/* A process that cannot be read has no wall. */
static struct proc_status status_of(pid_t pid)
{
	auto_close int fd = -1;
	char path[32], text[PROC_STATUS_MAX];
	struct proc_status status;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	proc_status_parse(text, &status);
	return status;
}

void network_walls(const struct network *n, struct buf *out)
{
	struct proc_status s;

	if (!n->use.start)
		return;
	if (n->door.sock < 0) {
		buf_str(out, "door  absent  the process that connects for jobs does not "
			     "run; another one is started\n");
		return;
	}
	s = status_of(n->door.pid);
	if (n->walls & DOOR_WALL_USER)
		buf_fmt(out, "door-user  active  what connects for jobs owns no file and "
			     "no process: uid %u\n", s.uid[0]);
	else
		buf_str(out, "door-user  degraded  what connects for jobs runs as fsd's "
			     "user; to have an own one: run fsd as root\n");
	buf_fmt(out, "door-capabilities  %s  nothing that root may do\n",
		s.caps ? "absent" : "active");
	buf_fmt(out, "door-seccomp  %s  system calls for sockets and time only\n",
		s.seccomp == 2 && s.no_new_privs ? "active" : "absent");
	buf_fmt(out, "door-landlock  %s  no file and no listener\n",
		n->walls & DOOR_WALL_LANDLOCK ? "active" : "absent");
}
