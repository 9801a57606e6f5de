/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates how near an existing name comes to a wanted one. So the server can
 * point a user whose job waits for a file to main.py, code.PY or config.jsn.
 * Pure.
 */
#ifndef LAYOUT_NEAREST_H
#define LAYOUT_NEAREST_H

#define NEAR_NOT 0u /* score: not similar at all */

/*
 * Returns the number of edits (a letter added, removed or replaced, two
 * swapped) between two names, ignoring case. If there are more than most: most
 * + 1.
 */
unsigned name_edits(const char *a, const char *b, unsigned most);

/* Return a score: whether a file could be meant as the program, as config.json,
 * or as the file of that name. Higher is nearer. */
unsigned near_to_program(const char *name);
unsigned near_to_config(const char *name);
unsigned near_to_name(const char *name, const char *wanted);

#endif
