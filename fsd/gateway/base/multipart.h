/* SPDX-License-Identifier: Apache-2.0 */
/* Parses multipart/form-data as it arrives (RFC 7578). Pure. */
#ifndef GATEWAY_MULTIPART_H
#define GATEWAY_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "layout/base/buf.h"

#define MULTIPART_HEAD_MAX 8192u /* bytes of one part's headers */

struct multipart_ops {
	/* A negative result ends the parsing. name, filename: "" if absent. */
	int (*begin)(void *arg, const char *name, const char *filename);
	int (*data)(void *arg, const char *data, size_t len);
	int (*end)(void *arg);
};

struct multipart {
	const struct multipart_ops *ops;
	void *arg;
	char mark[80];    /* "\r\n--BOUNDARY" */
	struct buf rest; /* bytes; those after `used` were not parsed yet */
	size_t used;
	enum { MP_PREAMBLE, MP_MARK, MP_HEAD, MP_BODY, MP_OVER } at;
};

/* Starts with the boundary of a Content-Type. Return: 0, or -EINVAL: it has
 * none. */
int multipart_begin(struct multipart *m, const char *content_type,
		    const struct multipart_ops *ops, void *arg);
/* Parses bytes. Return: 0; -EINVAL: it is not multipart; -E2BIG: a part's head
 * is too long; or the result of ops. */
int multipart_add(struct multipart *m, const char *data, size_t len);
/* Returns whether the last boundary has come. */
bool multipart_over(const struct multipart *m);
void multipart_done(struct multipart *m);

#endif
