/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the route of a request in a table. A part "{}" of a route's path
 * matches any text; a route of the method "*" matches all methods and all paths
 * below its own. Pure.
 */
#include "route.h"

#include <string.h>

static bool part_is(const char *pattern, size_t len, const char *part)
{
	return len == strlen(part) && !memcmp(pattern, part, len);
}

/* Matches a path. part: gets the texts of {}; a "*" route also matches paths
 * below. */
static bool path_fits(const struct route *route, const struct target *target,
		      const char **part)
{
	const char *p = route->path;
	unsigned at = 0, found = 0;

	while (*p == '/' && p[1]) {
		size_t len = strcspn(++p, "/");

		if (at == target->parts)
			return false;
		if (part_is(p, len, "{}"))
			part[found++] = target->part[at];
		else if (!part_is(p, len, target->part[at]))
			return false;
		at++;
		p += len;
	}
	return at == target->parts || *route->method == '*';
}

const struct route *route_find(const struct route *table, const char *method,
			       const struct target *target, unsigned services,
			       const char **part, bool *other)
{
	for (const struct route *route = table; route->path; route++) {
		if (!(route->service & services) ||
		    !path_fits(route, target, part))
			continue;
		if (*route->method == '*' || !strcmp(route->method, method))
			return route;
		*other = true;
	}
	return NULL;
}
