/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of errors: an errno of the mount, and what each protocol calls it.
 * Pure.
 */
#include "errors.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "layout/base/num.h"

static const struct surface surfaces[] = {
	{ EIO, 503, "unavailable", -3, -32603, false },
	{ EINTR, 503, "unavailable", -3, -32603, true }, /* the work was late */
	{ EAGAIN, 429, "resource_exhausted", -429, 0, true },
	{ EDQUOT, 429, "resource_exhausted", -429, 0, false },
	{ EMFILE, 429, "resource_exhausted", -429, 0, false },
	{ ENOSPC, 507, "resource_exhausted", -3, 0, false },
	{ EFBIG, 507, "resource_exhausted", -3, 0, false },
	{ EINVAL, 400, "invalid_argument", -3, 0, false },
	{ ENAMETOOLONG, 400, "invalid_argument", -3, 0, false },
	{ EILSEQ, 400, "invalid_argument", -3, 0, false },
	{ ENOENT, 404, "not_found", -3, 0, false },
	{ ESRCH, 404, "not_found", -3, 0, false },
	{ ENXIO, 404, "not_found", -3, 0, false }, /* the program has ended */
	{ EPIPE, 409, "failed_precondition", -3, 0, false },
	{ EEXIST, 409, "already_exists", -3, 0, false },
	{ ENOTDIR, 400, "invalid_argument", -3, 0, false },
	{ EISDIR, 400, "invalid_argument", -3, 0, false },
	{ ELOOP, 400, "invalid_argument", -3, 0, false },
	{ ENOTEMPTY, 409, "failed_precondition", -3, 0, false },
	{ EBUSY, 409, "failed_precondition", -3, 0, false },
	{ EACCES, 403, "permission_denied", -3, 0, false },
	{ EPERM, 403, "permission_denied", -3, 0, false },
	{ EROFS, 403, "permission_denied", -3, 0, false },
	{ ESTALE, 502, "unavailable", -3, 0, false },
	{ ESHUTDOWN, 503, "unavailable", -3, -32603, false },
	{ ENOTCONN, 503, "unavailable", -3, -32603, false },
	{ ENODEV, 503, "unavailable", -3, -32603, false },
	{ ENOMEM, 503, "unavailable", -3, -32603, false },
};

const struct surface *surface_of(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++)
		if (surfaces[i].error == -code)
			return &surfaces[i];
	return &surfaces[0];
}

static const struct {
	const char *code;
	unsigned status;
} statuses[] = {
	{ "invalid_argument", 400 },  { "unauthenticated", 401 },
	{ "permission_denied", 403 }, { "not_found", 404 },
	{ "already_exists", 409 },    { "failed_precondition", 400 },
	{ "resource_exhausted", 429 }, { "unimplemented", 501 },
	{ "internal", 500 },	      { "unavailable", 503 },
	{ "deadline_exceeded", 504 },
};

unsigned connect_status(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (!strcmp(statuses[i].code, code))
			return statuses[i].status;
	return 500;
}
