/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data, taken apart as it comes (RFC 7578). Pure. */
#ifndef GATEWAY_MULTIPART_H
#define GATEWAY_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "layout/base/buf.h"

#define MULTIPART_HEAD_MAX 8192u /* bytes of one part's headers */

struct multipart_ops {
	/* A result below 0 ends the parsing. name, filename: "" if absent. */
	int (*begin)(void *arg, const char *name, const char *filename);
	int (*data)(void *arg, const char *data, size_t len);
	int (*end)(void *arg);
};

struct multipart {
	const struct multipart_ops *ops;
	void *arg;
	char mark[80];    /* "\r\n--BOUNDARY" */
	struct buf rest;  /* bytes; those behind `used` are not decided on */
	size_t used;
	enum { MP_PREAMBLE, MP_MARK, MP_HEAD, MP_BODY, MP_OVER } at;
};

/* The boundary of a Content-Type. Return: 0, or -EINVAL: it has none. */
int multipart_begin(struct multipart *m, const char *content_type,
		    const struct multipart_ops *ops, void *arg);
/* Return: 0; -EINVAL: it is no multipart; -E2BIG: a head is too long; what ops gave. */
int multipart_add(struct multipart *m, const char *data, size_t len);
/* Did its last boundary come? */
bool multipart_over(const struct multipart *m);
void multipart_done(struct multipart *m);

#endif
