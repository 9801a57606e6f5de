/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes Connect's frames, and renders a job's events and end as the clients'
 * own servers would: data, exit code, signal.
 *
 * frame_exit() maps a status of result.json to an end event or to an error code of
 * Connect. `signals` has the words of those servers. There is no state; any thread may
 * call.
 */
#include "frame.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "text.h"

void frame_put(struct buf *out, unsigned flags, json_t *json)
{
	auto_buf struct buf text = { 0 };
	uint8_t head[FRAME_HEAD] = { (uint8_t)flags };

	if (json && text_json(&text, json) == 0) {
		for (unsigned i = 0; i < 4; i++)
			head[1 + i] = (uint8_t)(text.len >> (24 - 8 * i));
		buf_add(out, head, sizeof(head));
		buf_add(out, text.data, text.len);
	}
	json_decref(json);
}

void frame_put_end(struct buf *out, const char *code, const char *message)
{
	json_t *json = json_object();
	char text[TEXT_SENTENCE];

	if (code)
		text_outside(message, text);
	if (code)
		json_object_set_new(json, "error", json_pack(
			"{s:s, s:o}", "code", code, "message",
			text_string(text, strlen(text))));
	frame_put(out, FRAME_END, json);
}

int frame_next(const char *data, size_t len, size_t *used, json_t **ret,
	       struct err *err)
{
	uint32_t size = 0;
	int r;

	if (len < FRAME_HEAD)
		return err_set(err, -EINVAL, "the body is no frame of Connect");
	for (unsigned i = 1; i < FRAME_HEAD; i++)
		size = size << 8 | (uint8_t)data[i];
	if (data[0] & FRAME_PACKED)
		return err_set(err, -EINVAL, "frames that are compressed are "
			       "not taken");
	if (size > len - FRAME_HEAD)
		return err_set(err, -EINVAL, "the frame says %" PRIu32
			       " bytes, and there are %zu", size,
			       len - FRAME_HEAD);
	r = json_read(data + FRAME_HEAD, size, 32, NULL, ret, err);
	if (r == 0 && !json_is_object(*ret))
		r = err_set(err, -EINVAL, "the frame must be a JSON object");
	else if (r == 0 && text_has_nul(*ret))
		r = err_set(err, -EINVAL, "a string of the frame has a NUL "
			    "(\\u0000), which no member here can have");
	if (r < 0 && *ret) {
		json_decref(*ret);
		*ret = NULL;
	}
	*used = FRAME_HEAD + size;
	return r < 0 ? -EINVAL : 0;
}

int frame_take(const char *data, size_t len, json_t **ret, struct err *err)
{
	size_t used = 0;
	int r = frame_next(data, len, &used, ret, err);

	if (r < 0 || used == len)
		return r;
	json_decref(*ret);
	*ret = NULL;
	return err_set(err, -EINVAL, "the frame says %zu bytes, and there are "
		       "%zu", used - FRAME_HEAD, len - FRAME_HEAD);
}

/* Words for signals, as E2B's own server sends them. */
static const struct {
	const char *name, *words;
} signals[] = {
	{ "SIGHUP", "hangup" },	    { "SIGINT", "interrupt" },
	{ "SIGQUIT", "quit" },	    { "SIGILL", "illegal instruction" },
	{ "SIGTRAP", "trace/breakpoint trap" }, { "SIGABRT", "aborted" },
	{ "SIGBUS", "bus error" },  { "SIGFPE", "floating point exception" },
	{ "SIGKILL", "killed" },    { "SIGUSR1", "user defined signal 1" },
	{ "SIGSEGV", "segmentation fault" },
	{ "SIGUSR2", "user defined signal 2" }, { "SIGPIPE", "broken pipe" },
	{ "SIGALRM", "alarm clock" }, { "SIGTERM", "terminated" },
};

static const char *signal_words(const char *name)
{
	if (name && strncmp(name, "SIG", 3) != 0)
		name = NULL;
	for (size_t i = 0; name && i < ARRAY_SIZE(signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].words;
	return name ? name : "killed";
}

static json_t *ended_by(const char *words, const char *more)
{
	char text[80];

	snprintf(text, sizeof(text), "signal: %.40s%s", words, more);
	return json_pack("{s:{s:{s:i, s:b, s:s, s:s}}}", "event", "end",
			 "exitCode", -1, "exited", 0, "status", text, "error",
			 text);
}

static json_t *ended_with(json_int_t code)
{
	char text[40];
	json_t *end;

	snprintf(text, sizeof(text), "exit status %" JSON_INTEGER_FORMAT, code);
	end = json_pack("{s:I, s:b, s:s}", "exitCode", code, "exited", 1,
			"status", text);
	if (code)
		json_object_set_new(end, "error", json_string(text));
	return json_pack("{s:{s:o}}", "event", "end", end);
}

json_t *frame_exit(const json_t *result, const char **code, const char **message)
{
	const char *status = text_member(result, "status");
	const char *why = text_shown(result, "message");

	*code = NULL;
	*message = why ? why : status ? status : "the command was lost";
	if (status && !strcmp(status, "exited"))
		return ended_with(json_integer_value(
			json_object_get(result, "exit_code")));
	if (status && !strcmp(status, "signaled"))
		return ended_by(signal_words(text_member(result, "signal")), "");
	if (status && !strcmp(status, "out_of_memory"))
		return ended_by("killed", " (out of memory)");
	if (status && !strcmp(status, "cancelled"))
		return ended_by("killed", "");
	*code = status && !strcmp(status, "timeout") ? "deadline_exceeded"
		: status && !strcmp(status, "failed") ? "invalid_argument"
						      : "unavailable";
	return NULL;
}

json_t *frame_data(const char *name, const json_t *event)
{
	json_t *data = json_object_get(event, "data");
	const char *coded = text_member(event, "base64");
	auto_buf struct buf text = { 0 };

	if (!coded)
		text_base64(&text, json_string_value(data),
			    json_string_length(data), false);
	return json_pack("{s:{s:{s:s}}}", "event", "data", name,
			 coded ? coded : text.data ? text.data : "");
}
