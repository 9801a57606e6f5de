/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence that a command ends with. */
#ifndef FSD_COMPLAIN_H
#define FSD_COMPLAIN_H

/* "fsd NAME: sentence" on standard error; returns code. In the journal it is an error, or
 * with code 0 a warning. */
int complain(const char *command, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
