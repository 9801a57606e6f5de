/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text of /proc/PID/status: user and group ids, capabilities, no_new_privs
 * and seccomp. A line that is missing counts as the worst value, so a check never passes
 * by accident.
 *
 * The caller reads the file. There is no state.
 */
#include "proc_status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the rest of the line "name:...", or "" if there is none. */
static const char *line_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, name);
	return at ? at + strlen(name) : "";
}

static void parse_ids(const char *line, unsigned ret[4])
{
	if (sscanf(line, "%u %u %u %u", &ret[0], &ret[1], &ret[2],
		   &ret[3]) != 4)
		for (int i = 0; i < 4; i++)
			ret[i] = UINT_MAX;
}

static unsigned parse_number(const char *line)
{
	unsigned found;

	return sscanf(line, "%u", &found) == 1 ? found : 0;
}

static uint64_t parse_caps(const char *text)
{
	static const char *const sets[] = {
		"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	};
	uint64_t caps = 0;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const char *line = line_of(text, sets[i]);
		char *end;

		caps |= strtoull(line, &end, 16);
		if (end == line)
			return UINT64_MAX;
	}
	return caps;
}

void proc_status_parse(const char *text, struct proc_status *ret)
{
	const char *groups = line_of(text, "Groups:");

	groups += strspn(groups, " \t");
	*ret = (struct proc_status){
		.groups = *groups != '\n',
		.caps = parse_caps(text),
		.no_new_privs = parse_number(line_of(text, "NoNewPrivs:")),
		.seccomp = parse_number(line_of(text, "Seccomp:")),
		.filters = parse_number(line_of(text, "Seccomp_filters:")),
	};
	parse_ids(line_of(text, "Uid:"), ret->uid);
	parse_ids(line_of(text, "Gid:"), ret->gid);
}

bool proc_ids_are(const unsigned id[4], unsigned first, unsigned count)
{
	for (int i = 0; i < 4; i++)
		if (id[i] < first || id[i] - first >= count)
			return false;
	return true;
}
