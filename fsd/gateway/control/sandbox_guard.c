/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox of a request and checks its token. A request names it by a
 * header, by its host's first label, by the access token, or by a signature
 * made with the token. The last two search all sandboxes of the mount; old
 * clients and signed URLs need that. On workers.
 */
#include "sandbox_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control.h"
#include "fsd/gateway/http/locate.h"
#include "fsd/gateway/http/route.h"
#include "fsd/gateway/jobs/tokens.h"
#include "layout/base/cleanup.h"

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

/* Searches all sandboxes for the one that fits. */
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

/* Checks the traffic token: a sandbox made with allowPublicTraffic false needs one, as
 * with E2B's proxy; with --ports token, port traffic does too. For envd an access token
 * will do, which its guard has checked. */
static bool traffic_is_good(struct request *r)
{
	const char *wanted = text_member(r->sandbox->meta, "traffic");
	const char *sent = request_header(r, "E2B-Traffic-Access-Token");
	bool ports_only = json_is_true(json_object_get(r->sandbox->meta, "ports_only"));

	if (!wanted || (ports_only && !r->port) || (sent && same_text(sent, wanted)) ||
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

bool sandbox_traffic_guard(struct request *r)
{
	return find(r) && traffic_is_good(r) && control_wake(r);
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
