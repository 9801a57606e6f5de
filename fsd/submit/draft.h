/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells who has written a job that does not start what it still waits for: a
 * second after its last change a line of `log` names it, and the nearest thing
 * that is there. A draft that nobody changes costs nothing.
 */
#ifndef FSD_DRAFT_H
#define FSD_DRAFT_H

#include "fsd/jobs/job.h"

/* Something of it changed. It is looked at a second after the last such call,
 * if it is still a draft and its name does not begin with ".". */
void draft_changed(struct job *job);
/* The server before had noted that, and died: true of such a record. */
bool draft_is_due(const struct job_meta *meta);

#endif
