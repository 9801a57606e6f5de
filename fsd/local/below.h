/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and makes paths that stay below a directory, even if another process puts links
 * there meanwhile. */
#ifndef FSD_BELOW_H
#define FSD_BELOW_H

#include <stdbool.h>

#define BELOW_PATH 4096 /* bytes of a path, with the NUL */

/* Writes the path without ".", repeated and trailing slashes: "./a//b/" is "a/b", and "."
 * is "". Return: 0; -EINVAL: it is absolute or empty, or has a ".."; -ENAMETOOLONG. */
int below_path(const char *path, char ret[BELOW_PATH]);
/* Return: true if path is dir or inside it. Both as below_path() writes them; "" contains
 * all. */
bool below_has(const char *dir, const char *path);
/* Splits such a path, not "", into two. Return: its last name; *dir: the part before it,
 * or "". */
const char *below_split(char *path, const char **dir);
/* Opens the directory for *at() calls, following no link. Return: O_PATH descriptor, or
 * negative errno. */
int below_open(int at, const char *dir);
/* The same, and makes the directories that are not there. */
int below_make(int at, const char *dir);

#endif
