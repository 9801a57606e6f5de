/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Envelopes of Connect's streams. A frame that is taken is the same when it is put and
 * taken again; the same JSON is also the result of a job and a line of `events`, of which
 * a frame is made.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/base/frame.h"
#include "fsd/gateway/control/sandbox_guard.h"
#include "layout/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_again(json_t *json)
{
	auto_buf struct buf out = { .cap = 64u << 20 };
	auto_json json_t *back = NULL;
	struct err err = { 0 };

	frame_put(&out, 0, json_incref(json));
	check(out.len > FRAME_HEAD);
	check(frame_take(out.data, out.len, &back, &err) == 0 &&
	      json_equal(json, back));
}

static void check_events(json_t *json)
{
	auto_json json_t *end = NULL, *event = NULL;
	auto_buf struct buf out = { .cap = 64u << 20 };
	const char *code = NULL, *message = NULL;

	end = frame_exit(json, &code, &message);
	check(!end == !!code && (end || message));
	event = frame_data("stdout", json);
	check(event);
	if (code)
		frame_put_end(&out, code, message);
	check(!code || out.len > FRAME_HEAD);
}

/* It is 3 + 43 characters, whatever the texts are, and another for another path. */
static void check_signature(const char *text)
{
	char one[64], other[64];

	sandbox_signature(text, "read", text, "token", NULL, one);
	sandbox_signature(text, "write", text, "token", NULL, other);
	check(!strncmp(one, "v1_", 3) && strlen(one) == strlen(other) &&
	      strcmp(one, other) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *json = NULL;
	struct err err = { 0 };
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_signature(text);
	if (frame_take(text, size, &json, &err) == 0) {
		check(json_is_object(json));
		check_again(json);
		check_events(json);
	} else {
		check(!json && *err.text);
	}
	free(text);
	return 0;
}
