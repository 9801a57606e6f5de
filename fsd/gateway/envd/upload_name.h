/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that open uploads have: the last upload of a file to begin has its name. A
 * client that repeats an upload must not lose it to the end of its first attempt. On
 * workers.
 */
#ifndef GATEWAY_UPLOAD_NAME_H
#define GATEWAY_UPLOAD_NAME_H

#include <stdatomic.h>

#include "fsd/gateway/gateway.h"

struct upload_name {
	struct list node;      /* of all; under the lock */
	const char *path;      /* in the mount; borrowed until upload_name_leave() */
	bool removing;         /* under the lock */
	atomic_bool overtaken; /* a later upload has the name */
};

/* Return: 0 or -ENOMEM. */
int upload_names_open(struct gateway *g);
/* When no worker runs any more. */
void upload_names_close(struct gateway *g);

/* Takes the name path from any other upload; waits for one that removes its file. */
void upload_name_take(struct gateway *g, struct upload_name *n, const char *path);
void upload_name_leave(struct gateway *g, struct upload_name *n);
/* Before its file is removed. Return: true: the name is still its own, and no other upload
 * takes the name until upload_name_leave(). */
bool upload_name_hold(struct gateway *g, struct upload_name *n);

#endif
