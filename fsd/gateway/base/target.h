/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the target of a request, "/files?path=a%20b". Pure. */
#ifndef GATEWAY_TARGET_H
#define GATEWAY_TARGET_H

#include <stddef.h>

#define TARGET_PARTS 12u
#define TARGET_QUERIES 40u

struct target_query {
	char *name, *value; /* decoded */
};

/* The parsed target of a request. Its texts lie in `room`. */
struct target {
	char *room; /* owned */
	char *path; /* the path as it was sent, without the query */
	unsigned parts;
	char *part[TARGET_PARTS]; /* decoded parts of the path; no "." and no ".." */
	unsigned queries;
	struct target_query query[TARGET_QUERIES];
};

/* Parses and decodes each text once. Return: 0; -EINVAL: a NUL, a bad %XX or a
 * control character in the path; -E2BIG: too many parts or queries; -ENOMEM. */
int target_parse(const char *uri, struct target *ret);
void target_done(struct target *t);

/* Returns the value of the first query of that name, or NULL. */
const char *target_query(const struct target *t, const char *name);

/* Decodes %XX in place, and in a query "+" as a blank. Return: 0 or -EINVAL. */
int target_decode(char *text, int is_query);

#endif
