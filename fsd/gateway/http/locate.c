/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox and the service in a request's head: in the headers
 * E2b-Sandbox-Id and E2b-Sandbox-Port, or in the first label of its host,
 * "49999-ID". Pure.
 */
#include "locate.h"

#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/jobs/sandbox.h"
#include "http.h"
#include "route.h"

#define PORT_CODE 49999u
#define PORT_ENVD 49983u

static bool take_port(struct request *r, unsigned long port, unsigned *services)
{
	if (port != PORT_CODE && port != PORT_ENVD) {
		reply_error(r, 502, "port %lu of a sandbox is not reachable: "
			    "%u (files, commands) and %u (code) are; a "
			    "command in the sandbox reaches its own servers "
			    "at 127.0.0.1", port, PORT_ENVD, PORT_CODE);
		return false;
	}
	*services &= port == PORT_CODE ? SERVICE_CODE : SERVICE_ENVD;
	return true;
}

/* Returns whether two services have this path. */
static bool is_shared_path(const struct request *r)
{
	return r->target.parts == 1 &&
	       (!strcmp(r->target.part[0], "health") ||
		!strcmp(r->target.part[0], "metrics"));
}

bool request_path_is(const struct request *r, const char *name)
{
	return r->target.parts == 1 && !strcmp(r->target.part[0], name);
}

bool request_names_token(const struct request *r)
{
	return (request_path_is(r, "files") || request_path_is(r, "health")) &&
	       request_header(r, "X-Access-Token");
}

static bool id_is_good(const char *id)
{
	return *id && strlen(id) < 64 &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") ==
		       strlen(id);
}

/* Returns whether it is a listener of --debug-ports. */
static bool is_debug(const struct listener *l)
{
	return l->keyless && !(l->services & SERVICE_RUN);
}

/* Returns whether the id may be used here: the debug sandbox needs no token, so
 * only on --debug-ports. */
static bool id_is_known(const struct request *r, const char *id)
{
	return id_is_good(id) &&
	       (strcmp(id, SANDBOX_DEBUG) != 0 || is_debug(r->listener));
}

bool request_locate(struct request *r, unsigned *services)
{
	const struct options *o = &r->gateway->options;
	const char *id = request_header(r, "E2b-Sandbox-Id");
	const char *port = request_header(r, "E2b-Sandbox-Port");
	unsigned label_port = 0;
	char label[64] = "";
	bool has_label = host_label(&o->hosts, request_header(r, "Host"),
				    &label_port, label, sizeof(label));
	bool port_known = port || has_label;

	if (!id && has_label)
		id = label;
	if (!id && is_debug(r->listener))
		id = SANDBOX_DEBUG;
	if (id && id_is_known(r, id))
		snprintf(r->sandbox_id, sizeof(r->sandbox_id), "%s", id);
	else if (id)
		snprintf(r->sandbox_id, sizeof(r->sandbox_id), "none");
	if (port_known)
		return take_port(r, port ? strtoul(port, NULL, 10) : label_port,
				 services);
	if (is_shared_path(r))
		*services &= *r->sandbox_id || request_names_token(r)
				     ? ~(unsigned)SERVICE_CONTROL
				     : SERVICE_CONTROL | SERVICE_RUN;
	return true;
}
