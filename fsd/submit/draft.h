/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the owner of a draft why it does not start. One second after its last change, a
 * line of `log` names the missing part, and the file whose name is nearest to it. A draft
 * that is not changed costs nothing. On the loop's thread.
 */
#ifndef FSD_DRAFT_H
#define FSD_DRAFT_H

#include "fsd/jobs/job.h"

/* Call it after each change. One second after the last call the job is examined, if it is
 * still a draft and its name does not begin with ".". */
void draft_changed(struct job *job);
/* Return: true if the previous server died while this draft's timer was armed. */
bool draft_is_due(const struct job_meta *meta);

#endif
