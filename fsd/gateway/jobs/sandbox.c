/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request names its sandbox by a header, by its host's first label, by the access
 * token, or by a signature that only one token gives. The last two look through all
 * sandboxes of the mount; old clients and signed URLs need that.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fsd/gateway/base/alone.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/http/route.h"
#include "layout/base/cleanup.h"
#include "tokens.h"

void sandbox_hash(const char *id, char ret[SANDBOX_NAME])
{
	uint8_t sum[SUM_SIZE];

	text_sum(id, strlen(id), sum);
	text_hex(sum, (SANDBOX_NAME - 1) / 2, ret);
}

const char *sandbox_path(const char *name, const char *rest, char room[128])
{
	int len = snprintf(room, 128, SANDBOXES "/%s%s%s", name,
			   *rest ? "/" : "", rest);

	if (len >= 128) /* a part of it would be another sandbox's */
		*room = '\0';
	return room;
}

void sandbox_free(struct sandbox *s)
{
	if (s)
		json_decref(s->config);
	free(s);
}

int sandbox_of(const char *name, json_t *config, struct sandbox **ret,
	       struct err *err)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	const char *id;

	if (!s)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->config = json_incref(config);
	s->meta = json_object_get(s->config, "meta");
	id = text_member(s->meta, "id");
	s->token = text_member(s->meta, "token");
	s->token = s->token ? s->token : "";
	snprintf(s->id, sizeof(s->id), "%s", id ? id : "");
	*ret = s;
	return 0;
}

int sandbox_open_named(struct gateway *g, const char *name,
		       struct sandbox **ret, struct err *err)
{
	auto_json json_t *config = NULL;
	char path[128];
	int r = mount_json(&g->mount, sandbox_path(name, "config.json", path),
			   &config, err);

	return r < 0 ? r : sandbox_of(name, config, ret, err);
}

int sandbox_open(struct gateway *g, const char *id, struct sandbox **ret,
		 struct err *err)
{
	char name[SANDBOX_NAME];
	int r;

	sandbox_hash(id, name);
	r = sandbox_open_named(g, name, ret, err);
	/* one that somebody else made there is none of ours */
	if (r == 0 && strcmp((*ret)->id, id) != 0) {
		sandbox_free(*ret);
		*ret = NULL;
		return err_set(err, -ENOENT, "there is no such sandbox");
	}
	return r;
}

int sandbox_write(struct gateway *g, const char *name, json_t *config,
		  struct err *err)
{
	auto_free char *text = json_dumps(config, JSON_COMPACT);
	char path[128];

	if (!text)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	return mount_write(&g->mount, sandbox_path(name, "config.json", path),
			   text, strlen(text), err);
}

int sandbox_change(struct gateway *g, const char *id,
		   void (*fn)(json_t *meta, void *arg), void *arg,
		   struct err *err)
{
	struct sandbox *s = NULL;
	struct alone alone;
	int code;

	alone_begin(&alone, id);
	code = sandbox_open(g, id, &s, err);
	if (code == 0) {
		fn(s->meta, arg);
		code = sandbox_write(g, s->name, s->config, err);
	}
	alone_end(&alone);
	sandbox_free(s);
	return code;
}

/* --- from the head -------------------------------------------------------------- */

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

/* Do two services have this path? */
static bool is_shared_path(const struct request *r)
{
	return r->target.parts == 1 &&
	       (!strcmp(r->target.part[0], "health") ||
		!strcmp(r->target.part[0], "metrics"));
}

static bool request_path_is(const struct request *r, const char *name)
{
	return r->target.parts == 1 && !strcmp(r->target.part[0], name);
}

/* Old clients name nothing else there. */
static bool request_names_token(const struct request *r)
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

/* A listener of --debug-ports. */
static bool is_debug(const struct listener *l)
{
	return l->keyless && !(l->services & SERVICE_RUN);
}

/* The sandbox of --debug-ports needs no token, so it is known there only. */
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

/* --- guards --------------------------------------------------------------------- */

void reply_no_sandbox(struct request *r)
{
	if (r->route && r->route->style == STYLE_CONNECT) {
		reply_connect(r, "unavailable", "The sandbox was not found");
		r->reply.status = 502;
		return;
	}
	reply_json(r, 502, json_pack("{s:s, s:s, s:i}", "sandboxId",
				     r->sandbox_id, "message",
				     "The sandbox was not found", "code", 502));
}

static bool same_text(const char *a, const char *b)
{
	uint8_t sum_a[SUM_SIZE], sum_b[SUM_SIZE];

	text_sum(a, strlen(a), sum_a);
	text_sum(b, strlen(b), sum_b);
	return text_same_sum(sum_a, sum_b);
}

void sandbox_signature(const char *path, const char *operation,
		       const char *user, const char *token, const char *expires,
		       char ret[64])
{
	auto_buf struct buf text = { 0 }, coded = { 0 };
	uint8_t sum[SUM_SIZE];

	buf_fmt(&text, "%s:%s:%s:%s%s%s", path, operation, user, token,
		expires ? ":" : "", expires ? expires : "");
	text_sum(text.data ? text.data : "", text.len, sum);
	text_base64(&coded, sum, sizeof(sum), true);
	snprintf(ret, 64, "v1_%s", coded.data ? coded.data : "");
}

static bool is_signed_by(const struct request *r, const char *token)
{
	const char *path = request_query(r, "path");
	const char *user = request_query(r, "username");
	char wanted[64];

	sandbox_signature(path ? path : "",
			  !strcmp(r->method, "GET") ? "read" : "write",
			  user ? user : "", token,
			  request_query(r, "signature_expiration"), wanted);
	return same_text(wanted, request_query(r, "signature"));
}

static bool has_token(void *arg, const char *token)
{
	return same_text(request_header(arg, "X-Access-Token"), token);
}

static bool has_signature(void *arg, const char *token)
{
	return is_signed_by(arg, token);
}

/* By what only one of them has. */
static void look_through(struct request *r, bool (*fits)(void *arg, const char *token))
{
	char name[SANDBOX_NAME];

	if (tokens_find(r->gateway, fits, r, name) &&
	    sandbox_open_named(r->gateway, name, &r->sandbox, NULL) == 0)
		snprintf(r->sandbox_id, sizeof(r->sandbox_id), "%s",
			 r->sandbox->id);
}

static bool find(struct request *r)
{
	struct err err = { 0 };
	int code;

	if (*r->sandbox_id) {
		code = (strcmp(r->sandbox_id, SANDBOX_DEBUG) ? sandbox_open
							     : control_open_debug)(
			r->gateway, r->sandbox_id, &r->sandbox, &err);
		if (code < 0 && code != -ENOENT && code != -ESTALE &&
		    code != -ENODATA) {
			reply_failure(r, code, err.text);
			return false;
		}
	} else if (request_names_token(r)) {
		look_through(r, has_token);
	} else if (request_query(r, "signature") && request_path_is(r, "files")) {
		look_through(r, has_signature);
	}
	if (!r->sandbox && !*r->sandbox_id && request_query(r, "signature"))
		reply_error(r, 401, "invalid signature");
	else if (!r->sandbox)
		reply_no_sandbox(r);
	return r->sandbox != NULL;
}

static bool token_is_good(struct request *r, const char *name, bool needed)
{
	const char *token = request_header(r, name);

	if (token ? same_text(token, r->sandbox->token)
		  : !needed || !*r->sandbox->token)
		return true;
	reply_error(r, 401, token ? "%s is not the sandbox's token"
				  : "%s is needed: the sandbox's token", name);
	return false;
}

/* One made with allowPublicTraffic false answers to who has a token of it, as E2B's
 * proxy does: that of its traffic, and for envd its own. */
static bool traffic_is_good(struct request *r)
{
	const char *wanted = text_member(r->sandbox->meta, "traffic");
	const char *sent = request_header(r, "E2B-Traffic-Access-Token");

	if (!wanted || (sent && same_text(sent, wanted)) ||
	    (r->route->service == SERVICE_ENVD &&
	     request_header(r, "X-Access-Token")))
		return true;
	reply_json(r, 403, json_pack("{s:s, s:s, s:i}", "sandboxId",
				     r->sandbox_id, "message", sent
		? "Sandbox is secured with traffic access token. The token in "
		  "'e2b-traffic-access-token' is not its own"
		: "Sandbox is secured with traffic access token. Token header "
		  "'e2b-traffic-access-token' is missing", "code", 403));
	return false;
}

bool sandbox_guard(struct request *r)
{
	return find(r) && token_is_good(r, "X-Access-Token", false) &&
	       traffic_is_good(r) && control_wake(r);
}

bool sandbox_token_guard(struct request *r)
{
	return find(r) && token_is_good(r, "X-Access-Token", true) &&
	       control_wake(r);
}

bool sandbox_files_guard(struct request *r)
{
	const char *expires = request_query(r, "signature_expiration");

	if (!request_query(r, "signature"))
		return sandbox_token_guard(r);
	if (!find(r))
		return false;
	if (!is_signed_by(r, r->sandbox->token)) {
		reply_error(r, 401, "invalid signature");
		return false;
	}
	if (expires && strtoll(expires, NULL, 10) < (long long)time(NULL)) {
		reply_error(r, 401, "signature is already expired");
		return false;
	}
	return control_wake(r);
}
