/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of fsd run, fsd submit and fsd sandbox new on standard error. These commands
 * share code, so this file has the name of the one that runs.
 */
#include "run_say.h"

#include <stdarg.h>
#include <stdio.h>

static const char *command = "run";

void client_speaks_as(const char *name)
{
	command = name;
}

int client_complain(int code, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "fsd %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}
