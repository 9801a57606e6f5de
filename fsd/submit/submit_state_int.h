/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by check_code.c, draft.c, restart.c and submit_state.c only. */
#ifndef FSD_SUBMIT_STATE_INT_H
#define FSD_SUBMIT_STATE_INT_H

#include "submit_state.h"

struct submit {
	struct fsd *d;           /* borrowed */
	/* fields of draft.c */
	struct list drafts;      /* drafts with an armed timer: struct job */
	struct loop_timer quiet; /* due when the first of these timers is */
	/* fields of restart.c */
	struct time_slice tidy;  /* begins to tidy the directories after a start */
	/* fields of check_code.c */
	char block[65536];       /* buffer to read a program; unused between two calls */
};

#endif
