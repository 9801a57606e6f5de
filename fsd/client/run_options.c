/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of run_options.h as an array, and the words by which messages name an option.
 * The command line is read by cli/cmd_run.c.
 */
#include "run_options.h"

#include <stdio.h>

#define ROW(number, letter, name, arg, kind, key, ...) \
	[number] = { letter, name, arg, kind, key },

const struct run_option run_options[RUN_OPTIONS] = { RUN_OPTION_TABLE(ROW) };

const char *run_option_word(enum run_opt opt, char room[32])
{
	const struct run_option *o = &run_options[opt];

	if (o->letter)
		snprintf(room, 32, "-%c", o->letter);
	else
		snprintf(room, 32, "--%s", o->name);
	return room;
}
