/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells how near a name that is there comes to one that is wanted, so that who
 * waits for a file can be told of main.py, code.PY or config.jsn. Pure.
 */
#ifndef LAYOUT_NEAREST_H
#define LAYOUT_NEAREST_H

#define NEAR_NOT 0u /* of all scores: it is nothing like what is wanted */

/* Edits (a letter more, less, another one, two swapped) from one name to the
 * other, whatever the case; more than most: most + 1. */
unsigned name_edits(const char *a, const char *b, unsigned most);

/* Whether a file could be meant as the program, as config.json, or as the file
 * of that name. The higher the nearer. */
unsigned near_to_program(const char *name);
unsigned near_to_config(const char *name);
unsigned near_to_name(const char *name, const char *wanted);

#endif
