/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox and the service in a request's head: in the headers
 * E2b-Sandbox-Id and E2b-Sandbox-Port, or in the first label of its host,
 * "49999-ID". No function waits.
 */
#include "locate.h"

#include <string.h>

#include "fsd/gateway/jobs/sandbox.h"
#include "http.h"
#include "layout/base/num.h"
#include "route.h"

#define PORT_CODE 49999u
#define PORT_ENVD 49983u

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

/* Returns whether the listener is one of --debug-ports. */
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

/* Finds the port of a sandbox that the head names. Return: false: it names none. */
static bool named_port(const struct request *r, unsigned *ret, char *id, size_t size)
{
	const char *port = request_header(r, "E2b-Sandbox-Port");
	uint64_t number = 0;
	bool has_label = host_label(&r->gateway->options.hosts,
				    request_header(r, "Host"), ret, id, size);

	if (port) /* what is no port is no port of ours either */
		*ret = parse_u64(port, 1, 65535, &number) < 0 ? 0 : (unsigned)number;
	return port || has_label;
}

unsigned request_names_port(const struct request *r)
{
	unsigned port = 0;
	char label[64] = "";

	return named_port(r, &port, label, sizeof(label)) && port != PORT_CODE &&
	       port != PORT_ENVD && r->gateway->options.ports != PORTS_NO
		       ? port : 0;
}

/* Returns false if it has replied. */
static bool take_port(struct request *r, unsigned port, unsigned *services)
{
	if (port == PORT_CODE || port == PORT_ENVD) {
		*services &= port == PORT_CODE ? SERVICE_CODE : SERVICE_ENVD;
		return true;
	}
	if (r->port && *services & SERVICE_CONTROL) {
		*services = SERVICE_PORT;
		return true;
	}
	reply_error(r, 502, "port %u of a sandbox is not reachable: %u (files, "
		    "commands) and %u (code) are; a command in the sandbox reaches its "
		    "own servers at 127.0.0.1", port, PORT_ENVD, PORT_CODE);
	return false;
}

bool request_locate(struct request *r, unsigned *services)
{
	const char *id = request_header(r, "E2b-Sandbox-Id");
	unsigned port = 0;
	char label[64] = "";
	bool port_known = named_port(r, &port, label, sizeof(label));

	if (!id && *label)
		id = label;
	if (!id && is_debug(r->listener))
		id = SANDBOX_DEBUG;
	if (id && id_is_known(r, id))
		snprintf(r->sandbox_id, sizeof(r->sandbox_id), "%s", id);
	else if (id)
		snprintf(r->sandbox_id, sizeof(r->sandbox_id), "none");
	if (port_known)
		return take_port(r, port, services);
	if (is_shared_path(r))
		*services &= *r->sandbox_id || request_names_token(r)
				     ? ~(unsigned)SERVICE_CONTROL
				     : SERVICE_CONTROL | SERVICE_RUN;
	return true;
}
