/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of a server that was killed: they, their machines and their sessions are
 * the next one's. */
#ifndef FSD_SANDBOX_ADOPT_H
#define FSD_SANDBOX_ADOPT_H

#include "fsd/fsd.h"

/* Before any run is looked for. */
void sandboxes_adopt(struct fsd *d);
/* After all runs, and before run_adopted(): interpreters without a run live on. */
void sandboxes_adopted(struct fsd *d);

#endif
