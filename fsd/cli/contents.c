/* SPDX-License-Identifier: Apache-2.0 */
#include "contents.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Packages whose version a person asks for, in this order. */
static const struct part {
	const char *package, *name;
} parts[] = {
	{ "base-files", "Debian" }, { "python3", "Python" },
	{ "nodejs", "Node" },	    { "bash", "bash" },
};
#define RELEASE 0 /* of parts */

/* The last day of Debian's own security updates, as www.debian.org/releases has
 * it: of all packages, Node among them. */
static const struct release {
	const char *number, *until;
} releases[] = {
	{ "12", "2026-06-10" },
	{ "13", "2028-08-09" },
};

struct found {
	char version[ARRAY_SIZE(parts)][32];
};

/* A line "name version"; of the version what its author calls it. */
static void take_line(struct found *f, const char *line)
{
	char name[128], version[128];

	if (sscanf(line, "%127s %127s", name, version) != 2)
		return;
	version[strcspn(version, "+-~")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(parts[i].package, name))
			snprintf(f->version[i], sizeof(f->version[i]), "%.31s",
				 version);
}

static const char *until_of(char *debian)
{
	debian[strcspn(debian, ".")] = '\0'; /* 13.2 is 13 */
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		if (!strcmp(releases[i].number, debian))
			return releases[i].until;
	return NULL;
}

static void today(char ret[16])
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(ret, 16, "%Y-%m-%d", &tm))
		ret[0] = '\0';
}

int image_contents(const char *dir, struct buf *out, bool *ret_over)
{
	char path[PATH_MAX], line[512], day[16];
	auto_fclose FILE *f = NULL;
	struct found found = { 0 };
	const char *until;

	*ret_over = false;
	snprintf(path, sizeof(path), "%s/packages.list", dir);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		take_line(&found, line);
	until = until_of(found.version[RELEASE]);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (found.version[i][0])
			buf_fmt(out, "%s%s %s", out->len ? ", " : "",
				parts[i].name, found.version[i]);
	today(day);
	*ret_over = until && strcmp(day, until) > 0;
	if (until)
		buf_fmt(out, "; security updates until %s", until);
	return out->failed ? -ENOMEM : 0;
}
