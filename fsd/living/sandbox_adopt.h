/* SPDX-License-Identifier: Apache-2.0 */
/* Adopts the sandboxes and sessions of a killed server, with their machines. Context: the
 * loop's thread, before the loop runs. */
#ifndef FSD_SANDBOX_ADOPT_H
#define FSD_SANDBOX_ADOPT_H

#include "fsd/fsd.h"

/* Adopts the sandboxes and their machines; before the first run_adopt(). */
void sandboxes_adopt(struct fsd *d);
/* Adopts the interpreters in which no run is; after the last run_adopt() and before
 * run_adopted(). */
void sandboxes_adopted(struct fsd *d);

#endif
