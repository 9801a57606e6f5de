/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that have a state of their own in the kernel: event counters,
 * signals that are read, polled sets. A fork shares them with its parent and
 * its siblings, so that what one is told another hears; so each child gets its
 * own, under the same numbers.
 */
#ifndef VM_ZYGOTE_OWN_FDS_H
#define VM_ZYGOTE_OWN_FDS_H

#include <signal.h>

/* fd has just been made. Thread-safe. */
void own_fds_event(int fd);
void own_fds_signal(int fd, const sigset_t *mask);
/* QEMU polls so only with more descriptors than a machine has: it is empty. */
void own_fds_poll(int fd);
/* In a child. Those that have been closed are left alone. Return: 0 or negative
 * errno. */
int own_fds_renew(void);

#endif
