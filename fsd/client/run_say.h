/* SPDX-License-Identifier: Apache-2.0 */
/* Prints "fsd run: sentence" on standard error, or the same for another command. */
#ifndef FSD_RUN_SAY_H
#define FSD_RUN_SAY_H

/* Sentences name this command from now on; borrowed. Without a call: "run". */
void client_speaks_as(const char *command);
/* Prints the sentence. Return: code. Only before the job's output is copied: the call may
 * wait for a reader. */
int client_complain(int code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
