/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of .fsd/stats, by their names. */
#ifndef FSD_FIGURES_H
#define FSD_FIGURES_H

#include <stdbool.h>

#include "layout/layout.h"

struct figures {
	struct buf text; /* owned: the text of .fsd/stats */
};

/* Reads .fsd/stats of the mount. Return: 0 or negative errno. */
int figures_read(const char *mnt, struct figures *ret);
void figures_done(struct figures *f);
/* Finds a figure. name: with its labels, as 'fsd_jobs{state="done"}'. Return: false: the
 * mount's server does not have it; it may be an older one. */
bool figures_get(const struct figures *f, const char *name, double *ret);
/* Return: how many machines the mount can have at a time; 0: unknown. */
unsigned figures_machines(const char *mnt);
/* Calls fn(label's value, figure) for each figure of this name with one label. */
void figures_each(const struct figures *f, const char *name,
		  void (*fn)(void *arg, const char *label, double value),
		  void *arg);

#endif
