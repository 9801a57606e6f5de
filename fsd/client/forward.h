/* SPDX-License-Identifier: Apache-2.0 */
/* fsd forward: a TCP port of this host's loopback leads to a port of a machine. */
#ifndef FSD_FORWARD_H
#define FSD_FORWARD_H

/*
 * Listens on 127.0.0.1 and serves until a signal ends the process. dir: the directory of
 * the job, session or sandbox; borrowed. what: its name, for messages. port: of the
 * machine. local: the port of this host; 0: the kernel chooses one. Prints the URL on
 * standard output. Return: an exit code, and standard error has the sentence.
 */
int forward(int dir, const char *what, unsigned port, unsigned local);

#endif
