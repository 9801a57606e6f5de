/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of fsd run, fsd submit and fsd sandbox new on standard error. These commands
 * share code, so this file has the name of the one that runs.
 */
#include "run_say.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

static const char *command = "run";

void client_speaks_as(const char *name)
{
	command = name;
}

int client_complain(int code, const char *fmt, ...)
{
	static char text[3 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* One call writes the whole line: other commands may write to the same terminal. */
	fprintf(stderr, "fsd %s: %s\n", command, text);
	return code;
}
