/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by node*.c only. */
#ifndef FSD_NODE_INT_H
#define FSD_NODE_INT_H

#include "node.h"

struct nodes {
	int jobs_fd; /* borrowed */
	struct hash by_ino, by_name;
	uint64_t versions, seq; /* given so far */
	struct list walks; /* of struct walk, in any directory */
};

/* The path below STATE/jobs. Return: length, -ESTALE or -ENAMETOOLONG. */
int node_path(const struct node *node, char *room, size_t size);

#endif
