/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors over a local socket. */
#ifndef VM_FDPASS_H
#define VM_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MAX 16

/* Sends all of bytes with count descriptors (borrowed, at most FDPASS_MAX) as
 * one message; flags as of sendmsg(2), and MSG_NOSIGNAL. Allocates nothing.
 * Return: bytes sent or a negative errno. */
ssize_t fdpass_send(int sock, const void *bytes, size_t size, const int *fds,
		    unsigned count, int flags);
/* Receives one message; descriptors are the caller's, close-on-exec, and
 * *count of them, at most max. Return: its size, 0 at the end, or a negative
 * errno. */
ssize_t fdpass_receive(int sock, void *bytes, size_t size, int *fds,
		       unsigned max, unsigned *count, int flags);

#endif
