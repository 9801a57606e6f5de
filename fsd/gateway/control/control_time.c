/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a sandbox: setting and postponing its end, pausing it. Owns no
 * state. On workers.
 */
#include <errno.h>
#include <string.h>

#include "control.h"
#include "layout/base/cleanup.h"

#define WOKEN_LIFE 300 /* seconds, as E2B's */

static int set_end(struct request *r, uint64_t seconds, struct err *err)
{
	char path[128], text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)seconds);
	return mount_write(&r->gateway->mount,
			   sandbox_path(r->sandbox->name, "until", path), text,
			   strlen(text), err);
}

/* Returns whether "timeout" is 0, which ends the sandbox now. */
static bool ends_now(const json_t *body)
{
	const json_t *number = json_object_get(body, "timeout");

	return json_is_integer(number) && json_integer_value(number) == 0;
}

void post_timeout(struct request *r)
{
	auto_json json_t *body = NULL;
	struct err err = { 0 };
	uint64_t life = 0;
	int code;

	if (request_json(r, &body) < 0)
		return;
	if (!ends_now(body)) {
		life = control_life(r, body, "timeout", 0);
		if (!life)
			return;
	}
	code = set_end(r, life, &err);
	if (code < 0)
		reply_failure(r, code, err.text);
	else
		reply_empty(r, 204);
}

/* Return: "running", "paused"; NULL: it has replied. */
static const char *state_of(struct request *r)
{
	const char *state = control_state(r->gateway, r->sandbox);

	if (!state)
		reply_error(r, 404, "sandbox \"%.64s\" was not found",
			    r->sandbox_id);
	return state;
}

/*
 * Postpones the end; never to an earlier time. Return: false: it has replied.
 */
static bool prolong(struct request *r, const char *member)
{
	auto_json json_t *body = NULL;
	struct err err = { 0 };
	int64_t end = control_end(r->gateway, r->sandbox);
	uint64_t life;
	int code = 0;

	if (r->body.len && request_json(r, &body) < 0)
		return false;
	life = control_life(r, body, member, r->gateway->options.life);
	if (!life || !state_of(r))
		return false;
	if (end > 0 && end < text_now_ms() + (int64_t)life * 1000)
		code = set_end(r, life, &err);
	if (code < 0)
		reply_failure(r, code, err.text);
	return code == 0;
}

/* Return: false: it has replied. */
static bool control(struct request *r, const char *verb)
{
	char path[128];
	struct err err = { 0 };
	int code = mount_ctl(&r->gateway->mount,
			     sandbox_path(r->sandbox->name, "", path), verb, &err);

	if (code < 0)
		reply_failure(r, code, err.text);
	return code == 0;
}

/* Gives a sandbox that a request wakes its whole life again, and WOKEN_LIFE seconds at
 * least: with less it might be paused before it has answered. Return: false: it has
 * replied. */
static bool renew(struct request *r)
{
	const uint64_t most = r->gateway->options.max_life;
	json_int_t life = json_integer_value(json_object_get(r->sandbox->config, "life"));
	uint64_t seconds = life > WOKEN_LIFE ? (uint64_t)life : WOKEN_LIFE;
	struct err err = { 0 };
	int code = set_end(r, seconds < most ? seconds : most, &err);

	if (code < 0)
		reply_failure(r, code, err.text);
	return code == 0;
}

bool control_wake(struct request *r)
{
	const char *state;

	if (!json_is_true(json_object_get(r->sandbox->meta, "resumes")))
		return true;
	state = control_state(r->gateway, r->sandbox);
	return !state || strcmp(state, "paused") != 0 || (renew(r) && control(r, "resume"));
}

/* Sets the sandbox's end before the resume: the sandbox may be paused because its end
 * had come. */
void post_connect(struct request *r)
{
	const char *state = state_of(r);
	bool paused = state && !strcmp(state, "paused");

	if (!state || !prolong(r, "timeout") || (paused && !control(r, "resume")))
		return;
	reply_json(r, paused ? 201 : 200,
		   control_show_access(r));
}

void post_refreshes(struct request *r)
{
	if (prolong(r, "duration"))
		reply_empty(r, 204);
}

void post_pause(struct request *r)
{
	const char *state = state_of(r);

	if (state && !strcmp(state, "paused"))
		reply_error(r, 409, "sandbox \"%.64s\" is paused already",
			    r->sandbox_id);
	else if (state && control(r, "pause"))
		reply_empty(r, 204);
}
