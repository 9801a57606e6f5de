/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of routes, and how a request's is found. fsd-gateway(8) has them. */
#include "routes.h"

#include <string.h>

#include "info.h"

#define NO(what) what " are not available in fsd"

const struct route routes[] = {
	/* what the gateway tells of itself */
	{ "GET", "/health", SERVICE_CONTROL, .handler = get_health },
	{ "GET", "/healthz", SERVICE_RUN, .handler = get_healthz },
	{ "GET", "/metrics", SERVICE_CONTROL, .key = true,
	  .handler = get_metrics },

	/* what is not there */
	{ "GET", "/sandboxes/{}/logs", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true, .topic = NO("sandbox logs") },
	{ "PUT", "/sandboxes/{}/network", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true,
	  .topic = "machines have no network" },
	{ "POST", "/sandboxes/{}/fork", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true, .topic = NO("forks") },
	{ "POST", "/sandboxes/{}/snapshots", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true, .topic = NO("snapshots") },
	{ "GET", "/snapshots", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true, .topic = NO("snapshots") },
	{ "*", "/volumes", SERVICE_CONTROL, .key = true, .handler = not_there,
	  .quick = true, .topic = NO("volumes") },
	{ "*", "/secrets", SERVICE_CONTROL, .key = true, .handler = not_there,
	  .quick = true, .topic = NO("secrets") },
	{ "*", "/templates", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
	{ "*", "/v2/templates", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
	{ "*", "/v3/templates", SERVICE_CONTROL, .key = true,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
};
const size_t route_count = ARRAY_SIZE(routes);

static bool part_is(const char *pattern, size_t len, const char *part)
{
	return len == strlen(part) && !memcmp(pattern, part, len);
}

/* part: of the {}; a "*" route has all that lies below its path, too. */
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

const struct route *route_find(const char *method, const struct target *target,
			       unsigned services, const char **part, bool *other)
{
	for (size_t i = 0; i < route_count; i++) {
		const struct route *route = &routes[i];

		if (!(route->service & services) ||
		    !path_fits(route, target, part))
			continue;
		if (*route->method == '*' || !strcmp(route->method, method))
			return route;
		*other = true;
	}
	return NULL;
}
