/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence that a command ends with, on standard error. A server calls this too
 * before the mount answers; then its standard error is still that of fsd mount.
 */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

#include "layout/layout.h"

int complain(const char *command, int code, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%sfsd %s: ", log_priority(code ? LOG_ERROR : LOG_WARN), command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}
