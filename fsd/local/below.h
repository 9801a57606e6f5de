/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that stay below a directory, whatever links somebody puts there meanwhile. */
#ifndef FSD_BELOW_H
#define FSD_BELOW_H

#include <stdbool.h>

#define BELOW_PATH 4096 /* bytes of a path, with its end */

/* Writes the path without ".", repeated and trailing slashes: "./a//b/" is "a/b", and
 * "." is "". Return: 0; -EINVAL: it is absolute or empty, or has a ".."; -ENAMETOOLONG. */
int below_path(const char *path, char ret[BELOW_PATH]);
/* Is a path, as below_path() writes it, the other one or in it? "" has all. */
bool below_has(const char *dir, const char *path);
/* Cuts such a path, which is not "", in two. Return: its last name; *dir: what stands
 * before it, or "". */
const char *below_split(char *path, const char **dir);
/* Opens the directory for *at() calls, following no link. Return: O_PATH descriptor, or
 * negative errno. */
int below_open(int at, const char *dir);
/* The same, and makes the directories that are not there. */
int below_make(int at, const char *dir);

#endif
