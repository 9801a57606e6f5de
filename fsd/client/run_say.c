/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of fsd run, fsd submit and fsd sandbox new on standard error. They share code,
 * so the name of the command is kept here.
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
