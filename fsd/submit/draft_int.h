/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by draft*.c only. */
#ifndef FSD_DRAFT_INT_H
#define FSD_DRAFT_INT_H

#include "submit_int.h"
#include "draft.h"

/* Appends what the job waits for; appends no text if no part is missing. The job's files
 * must be loaded. */
void draft_text(struct job *job, struct buf *out);

#endif
