/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by commit_code.c, draft.c, resume.c and submit.c only. */
#ifndef FSD_SUBMIT_INT_H
#define FSD_SUBMIT_INT_H

#include "submit.h"

struct submit {
	struct fsd *d;           /* borrowed */
	/* draft.c */
	struct list drafts;      /* of struct job, which changed lately */
	struct loop_timer quiet; /* is due when the first of them is */
	/* resume.c */
	struct turn tidy;        /* begins to tidy up what a start has found */
	/* commit_code.c */
	char block[65536];       /* of a program, used at once */
};

#endif
