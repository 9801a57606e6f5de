/* SPDX-License-Identifier: Apache-2.0 */
/* The state of this room: timers, and lists of jobs. On the loop's thread. */
#ifndef FSD_SUBMIT_STATE_H
#define FSD_SUBMIT_STATE_H

#include "fsd/fsd.h"

struct submit;

/* d: borrowed. Return: 0 or -ENOMEM. */
int submit_new(struct fsd *d, struct submit **ret);
/* Call it after time_slices_finish(). s may be NULL. */
void submit_free(struct submit *s);

#endif
