/* SPDX-License-Identifier: Apache-2.0 */
#include "run_say.h"

#include <stdarg.h>
#include <stdio.h>

int client_complain(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("fsd run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}
