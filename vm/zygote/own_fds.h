/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces descriptors whose state is in the kernel: event counters, signal
 * descriptors, epoll sets. A fork shares them with its parent and its siblings,
 * so one process would take events of another. Each forked machine therefore
 * gets new ones, with the same numbers.
 */
#ifndef VM_ZYGOTE_OWN_FDS_H
#define VM_ZYGOTE_OWN_FDS_H

#include <signal.h>

/* Record a descriptor that was just made. Thread-safe. */
void own_fds_event(int fd);
void own_fds_signal(int fd, const sigset_t *mask);
/* Records an epoll set. The one that replaces it is empty: QEMU uses epoll only for more
 * descriptors than a machine has. */
void own_fds_poll(int fd);
/*
 * Replaces all recorded descriptors; call it in a forked machine. Skips those
 * that were closed.
 * Return: 0 or negative errno.
 */
int own_fds_renew(void);

#endif
