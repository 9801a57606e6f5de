/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request, "/files?path=a%20b", taken apart. Pure. */
#ifndef GATEWAY_TARGET_H
#define GATEWAY_TARGET_H

#include <stddef.h>

#define TARGET_PARTS 12u
#define TARGET_QUERIES 40u

struct target_query {
	char *name, *value; /* decoded */
};

/* Its texts lie in `room`. */
struct target {
	char *room; /* owned */
	char *path; /* as it was sent, without the query */
	unsigned parts;
	char *part[TARGET_PARTS]; /* of the path, decoded; no "." and no ".." */
	unsigned queries;
	struct target_query query[TARGET_QUERIES];
};

/*
 * Decodes each text once. Return: 0; -EINVAL: a NUL, a bad %XX or a control
 * character in the path; -E2BIG: more parts or queries than there may be; -ENOMEM.
 */
int target_parse(const char *uri, struct target *ret);
void target_done(struct target *t);

/* The value of the first of that name, or NULL. */
const char *target_query(const struct target *t, const char *name);

/* Decodes %XX, and "+" as a blank if it is a query's, in place. Return: 0 or
 * -EINVAL. */
int target_decode(char *text, int is_query);

#endif
