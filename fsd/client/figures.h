/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of .fsd/stats, by their names. */
#ifndef FSD_FIGURES_H
#define FSD_FIGURES_H

#include <stdbool.h>

#include "layout/layout.h"

struct figures {
	struct buf text; /* as the mount gives it; owned */
};

/* Reads .fsd/stats of the mount. Return: 0 or negative errno. */
int figures_read(const char *mnt, struct figures *ret);
void figures_done(struct figures *f);
/* name with its labels, as in 'fsd_jobs{state="done"}'. Return: false: it is not
 * there, which an older server may lack. */
bool figures_get(const struct figures *f, const char *name, double *ret);
/* The most machines of the mount at a time, or 0: it does not say. */
unsigned figures_machines(const char *mnt);
/* For each figure of that name with one label: fn(value of the label, figure). */
void figures_each(const struct figures *f, const char *name,
		  void (*fn)(void *arg, const char *label, double value),
		  void *arg);

#endif
