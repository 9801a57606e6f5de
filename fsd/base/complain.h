/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the sentence with which a command fails. */
#ifndef FSD_COMPLAIN_H
#define FSD_COMPLAIN_H

/* Prints "fsd NAME: sentence" to standard error. Returns code. */
int complain(const char *command, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
