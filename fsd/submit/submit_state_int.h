/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by check_code.c, draft.c, restart.c and submit_state.c only. */
#ifndef FSD_SUBMIT_STATE_INT_H
#define FSD_SUBMIT_STATE_INT_H

#include "submit_state.h"

struct submit {
	struct fsd *d;           /* borrowed */
	/* draft.c */
	struct list drafts;      /* of struct job: drafts with an armed timer */
	struct loop_timer quiet; /* due when the first of them is */
	/* restart.c */
	struct time_slice tidy;  /* begins to tidy the directories after a start */
	/* check_code.c */
	char block[65536];       /* for reading a program; holds nothing between two calls */
};

#endif
