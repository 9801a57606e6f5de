/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of results, and the check that no two inputs have the same one. */
#ifndef FSD_BATCH_PATHS_H
#define FSD_BATCH_PATHS_H

#include <limits.h>
#include <stddef.h>

#include "list.h"

#define RESULT_TEMPORARY ".new-" /* names in r/ that begin so are no results */

/* Computes where the results of an input of this name go: without leading "/", ".", and
 * empty parts; ".." becomes %2E%2E. Return: 0; -EINVAL: nothing remains of the name;
 * -ENAMETOOLONG. */
int result_path(const char *name, size_t len, char ret[PATH_MAX]);

/* Checks that a job can have each input, and that no path of results is another one or in
 * it. Return: 0, or the exit code, and standard error has the sentence. */
int batch_list_check(const struct batch_list *l, const struct run_client *c, bool as_stdin);

#endif
