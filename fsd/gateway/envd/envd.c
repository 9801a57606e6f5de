/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards the routes of a sandbox: token, user name, type of the body. It also answers
 * the health and the environment of a sandbox.
 *
 * A guard replies with an error and returns false if a request must not reach its
 * handler. There is no state beyond the request.
 */
#include "envd.h"

#include <string.h>

#include "fsd/gateway/control/control.h"
#include "fsd/gateway/control/sandbox_guard.h"

/* Returns the user name of Basic authentication, or of the query; "": none. */
static void sent_user(const struct request *r, char *user, size_t size)
{
	const char *query = request_query(r, "username");
	const char *basic = request_header(r, "Authorization");
	auto_buf struct buf text = { 0 };

	*user = '\0';
	if (query) {
		snprintf(user, size, "%s", query);
	} else if (basic && !strncasecmp(basic, "Basic ", 6) &&
		   text_unbase64(&text, basic + 6, strlen(basic + 6)) == 0 &&
		   text.len) {
		snprintf(user, size, "%.*s", (int)strcspn(text.data, ":"),
			 text.data);
	}
}

static bool check_user(struct request *r)
{
	char user[64];

	sent_user(r, user, sizeof(user));
	if (!*user || !strcmp(user, "user"))
		return true;
	reply_error(r, 401, "invalid username: '%s'; there is only 'user'",
		    user);
	return false;
}

bool envd_guard(struct request *r)
{
	return sandbox_token_guard(r) && check_user(r);
}

bool envd_files_guard(struct request *r)
{
	return sandbox_files_guard(r) && check_user(r);
}

#define CALL_TYPE "application/json"
#define STREAM_TYPE "application/connect+json"

/* Checks the type of the body. Clients in Go send protobuf unless they are
 * asked for JSON. */
static bool check_type(struct request *r, const char *type)
{
	const char *sent = request_header(r, "Content-Type");
	size_t len = strlen(type);

	if (sent && !strncasecmp(sent, type, len) &&
	    strchr("; \t", sent[len]))
		return true;
	reply_error(r, 415, "Content-Type is %.80s; it must be %s",
		    sent ? sent : "missing", type);
	reply_header(r, "Accept-Post", CALL_TYPE ", " STREAM_TYPE);
	return false;
}

bool envd_call_guard(struct request *r)
{
	return envd_guard(r) && check_type(r, CALL_TYPE);
}

bool envd_stream_guard(struct request *r)
{
	return envd_guard(r) && check_type(r, STREAM_TYPE);
}

void get_envd_health(struct request *r)
{
	const char *state = control_state(r->gateway, r->sandbox);

	if (state && !strcmp(state, "running"))
		reply_empty(r, 204);
	else
		reply_no_sandbox(r);
}

void get_envs(struct request *r)
{
	json_t *env = json_object_get(r->sandbox->config, "env");
	json_t *kept = json_object_get(r->sandbox->meta, "env");
	json_t *all = env ? json_copy(env) : json_object();

	if (kept)
		json_object_update(all, kept);
	reply_json(r, 200, all);
}
