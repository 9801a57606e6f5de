/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest refusal of each user, for .fsd/last_error. The number of the running
 * request (fiber_number()) is stored with it, so that an operation that fails knows
 * whether its user has already got a sentence. On the loop's thread.
 */
#ifndef FSD_LAST_ERROR_H
#define FSD_LAST_ERROR_H

#include <stdbool.h>
#include <sys/types.h>

struct users;

/* Replaces uid's sentence: "PATH: SENTENCE". Without memory nothing changes. */
void last_error_set(struct users *users, uid_t uid, const char *path,
		    const char *sentence);
/* Return: uid's sentence, borrowed until the next call here; NULL: uid was refused
 * nothing yet. */
const char *last_error_text(struct users *users, uid_t uid);
/* Return: true if the running request has set uid's sentence; false also without a
 * request. */
bool last_error_is_set(struct users *users, uid_t uid);
/* Copies the sentence that the running request has set for `from` to uid. Return: false:
 * it has set none. */
bool last_error_pass_on(struct users *users, uid_t uid, uid_t from);

#endif
