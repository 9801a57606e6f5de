/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator sees sessions and sandboxes of all users in one directory. A name that
 * two users chose is shown as NAME@UID. This file writes such a name and reads it.
 */
#include "seen_name.h"

#include <stdio.h>
#include <string.h>

char *seen_name(const char *name, uid_t uid, char room[SEEN_NAME_MAX])
{
	snprintf(room, SEEN_NAME_MAX, "%.*s@%u", (int)LIMIT_JOB_NAME, name,
		 (unsigned)uid);
	return room;
}

bool seen_name_parse(const char *text, char ret_name[LIMIT_JOB_NAME + 1],
		     uid_t *ret_uid)
{
	const char *at = strrchr(text, '@');
	size_t len = at ? (size_t)(at - text) : 0;
	uint64_t uid;

	if (!len || len > LIMIT_JOB_NAME ||
	    parse_u64(at + 1, 0, UINT32_MAX, &uid) < 0)
		return false;
	memcpy(ret_name, text, len);
	ret_name[len] = '\0';
	*ret_uid = (uid_t)uid;
	return true;
}
