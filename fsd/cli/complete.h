/* SPDX-License-Identifier: Apache-2.0 */
/* The command that the shell's completion calls. */
#ifndef FSD_COMPLETE_H
#define FSD_COMPLETE_H

#include "options.h"

#define COMPLETE_COMMAND "complete"
/* Prints the words that may follow on a command line; see complete.c. commands: fsd's
 * commands, ends with NULL. Return: exit code. */
int cli_complete(const struct cli_command *const *commands, int argc, char **argv);

#endif
