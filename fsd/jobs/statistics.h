/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what happens to jobs and runs while a server runs, for .fsd/stats. Each
 * function but the first three counts one event. On the loop's thread.
 */
#ifndef FSD_STATISTICS_H
#define FSD_STATISTICS_H

#include "layout/layout.h"

struct statistics;

/* Why jobs are refused: what they are, the owner's quota, a queue that is full or
 * drained, what cannot be stored. */
enum refused {
	REFUSED_CONFIG, REFUSED_QUOTA, REFUSED_QUEUE, REFUSED_ROOM, REFUSED_MAX
};

int statistics_new(struct statistics **ret); /* Return: 0 or -ENOMEM. */
void statistics_free(struct statistics *s);  /* NULL is fine */
void statistics_print(const struct statistics *s, struct buf *out);

void statistics_accepted(struct statistics *s);
void statistics_refused(struct statistics *s, enum refused why);
void statistics_retried(struct statistics *s);
void statistics_removed(struct statistics *s); /* while queued or running */
/* lang: as langs[] has it, LANG_MAX: none. source: one of vm_source_names, or NULL. */
void statistics_ended(struct statistics *s, const struct job_result *res,
		      unsigned lang, const char *source);

#endif
