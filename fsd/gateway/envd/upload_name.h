/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which open upload has a file's name: the one that began last. So if a client repeats
 * an upload, the end of the first attempt cannot remove the file of the second. On
 * workers.
 */
#ifndef GATEWAY_UPLOAD_NAME_H
#define GATEWAY_UPLOAD_NAME_H

#include <stdatomic.h>

#include "fsd/gateway/gateway.h"

struct upload_name {
	struct list node; /* link in the list of all uploads; protected by the lock */
	const char *path;      /* path in the mount; borrowed until upload_name_leave() */
	bool removing; /* protected by the lock */
	atomic_bool overtaken; /* a later upload has the name */
};

/* Return: 0 or -ENOMEM. */
int upload_names_open(struct gateway *g);
/* Call it when no worker runs any more. */
void upload_names_close(struct gateway *g);

/* Takes the name from any other upload; waits for one that is removing its
 * file. */
void upload_name_take(struct gateway *g, struct upload_name *n, const char *path);
void upload_name_leave(struct gateway *g, struct upload_name *n);
/* Call it before removing the file. Return: true: this upload still has the
 * name, and no other one can take it until upload_name_leave(). */
bool upload_name_hold(struct gateway *g, struct upload_name *n);

#endif
