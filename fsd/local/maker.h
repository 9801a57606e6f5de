/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as text that stands in the name of a file: on a filesystem of many hosts that
 * has no locks it says whether the process that made the file may still live.
 *
 *   -5b2d0f6f1c9a8e77-0f3c5a7790d14b62-4026531836-71234-8812345
 *    host             boot             pids       pid   its start
 */
#ifndef FSD_MAKER_H
#define FSD_MAKER_H

#include <stdbool.h>

#define MAKER_TEXT 96

/* This process. Return: 0 or negative errno. */
int maker_text(char ret[MAKER_TEXT]);
/* Return: true if the process of this text has ended. Only its own host can know that.
 * False also if it is unknown, and for any other text. */
bool maker_has_ended(const char *text);

#endif
