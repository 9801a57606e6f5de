/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names under which the operator sees sessions and sandboxes of all users. Two users
 * may choose the same NAME. Then root's own is shown as NAME, or else the oldest; the
 * others are shown as NAME@UID. A lookup of NAME@UID finds that user's NAME, whether the
 * list shows it or not.
 */
#ifndef FSD_SEEN_NAME_H
#define FSD_SEEN_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/layout.h"

#define SEEN_NAME_MAX (LIMIT_JOB_NAME + sizeof("@4294967295"))

/* Writes NAME@UID into room. Return: room. */
char *seen_name(const char *name, uid_t uid, char room[SEEN_NAME_MAX]);
/* Splits "NAME@UID". Return: whether text has that form. */
bool seen_name_parse(const char *text, char ret_name[LIMIT_JOB_NAME + 1],
		     uid_t *ret_uid);

#endif
