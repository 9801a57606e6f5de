/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies a service manager (systemd) as sd_notify(3) describes it: one datagram to the
 * socket that $NOTIFY_SOCKET names, for example when the mount answers.
 */
#ifndef FSD_SERVICE_MANAGER_H
#define FSD_SERVICE_MANAGER_H

#include "layout/layout.h"

/* Takes $NOTIFY_SOCKET out of the environment, so that no child tells the manager anything.
 * Return: its text, owned by the caller; NULL: no manager waits, or no memory. For the
 * start, before there is a thread. */
char *service_manager_take(void);
/* Sends what (such as "READY=1") to socket: an absolute path, or "@NAME" for an abstract
 * one. It waits 5 s at most. Return: 0, or negative errno with a sentence in err. */
int service_manager_tell(const char *socket, const char *what, struct err *err);

#endif
