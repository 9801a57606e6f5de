/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of a server that was killed: they, their machines and their sessions are
 * the next one's. */
#ifndef FSD_SANDBOX_ADOPT_H
#define FSD_SANDBOX_ADOPT_H

#include "fsd/fsd.h"

struct run;
struct vm_tape;

/* Before any run is looked for. */
void sandboxes_adopt(struct fsd *d);
/* A run of one, which its tape tells of, goes on in its seat. Return: 0, or -ESRCH: it
 * had not begun, or what it was in is not there. */
int sandbox_take(struct run *run, struct vm_tape *t);
/* After all runs, and before vm_adopted(): interpreters without a run live on. */
void sandboxes_adopted(struct fsd *d);

#endif
