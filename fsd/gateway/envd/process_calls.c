/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unary calls of process.Process: list, signals, input. Owns no state. On
 * workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "fsd/gateway/base/frame.h"
#include "layout/base/cleanup.h"
#include "process.h"

#define INPUT_MAX (4u << 20)
#define WAIT_MS 20000 /* longest wait for the program to read */

static void show_one(void *arg, struct command *c)
{
	json_t *json = json_pack("{s:o, s:I}", "config", command_show(c), "pid",
				 c->pid);
	const char *tag = command_tag(c);

	if (tag)
		json_object_set_new(json, "tag", json_string(tag));
	json_array_append_new(arg, json);
}

void process_list(struct request *r)
{
	json_t *all = json_array();
	struct err err = { 0 };
	int code = command_each(r, show_one, all, &err);

	if (code == 0) {
		reply_json(r, 200, json_pack("{s:o}", "processes", all));
		return;
	}
	json_decref(all);
	reply_failure(r, code, err.text);
}

static bool find(struct request *r, json_t **body, struct command *c)
{
	return request_json(r, body) == 0 &&
	       command_find(r, json_object_get(*body, "process"), false, c);
}

static void reply_done(struct request *r, int code, const struct err *err)
{
	if (code < 0)
		reply_failure(r, code, err->text);
	else
		reply_json(r, 200, json_object());
}

void process_signal(struct request *r)
{
	static const struct {
		const char *name, *verb;
	/* kill also before it has started */
	} signals[] = { { "SIGNAL_SIGKILL", "kill" },
			{ "SIGNAL_SIGTERM", "signal TERM" } };
	auto_json json_t *body = NULL;
	const char *name, *verb = NULL;
	struct err err = { 0 };
	struct command c;

	if (!find(r, &body, &c))
		return;
	name = text_member(body, "signal");
	for (size_t i = 0; name && i < ARRAY_SIZE(signals); i++)
		if (!strcmp(signals[i].name, name))
			verb = signals[i].verb;
	if (!verb)
		reply_connect(r, "unimplemented", "signal: it is SIGNAL_SIGKILL "
			      "or SIGNAL_SIGTERM");
	else if (c.ended)
		reply_connect(r, "not_found", "the process has ended");
	else
		reply_done(r, mount_ctl(&r->gateway->mount, c.job, verb, &err),
			   &err);
	command_done(&c);
}

/* --- input -------------------------------------------------------------------------- */

static int wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, WAIT_MS) > 0 ? 0 : -EAGAIN;
}

static int feed(struct request *r, const char *job, const struct buf *data,
		struct err *err)
{
	char path[96];
	auto_close int fd = -1;
	size_t at = 0;
	int code = 0;

	snprintf(path, sizeof(path), "%s/stdin.feed", job);
	fd = mount_file(&r->gateway->mount, path, O_WRONLY | O_NONBLOCK, err);
	if (fd < 0)
		return fd;
	while (code == 0 && at < data->len) {
		ssize_t n = write(fd, data->data + at, data->len - at);

		if (n >= 0)
			at += (size_t)n;
		else if (errno == EAGAIN)
			code = wait_for_room(fd);
		else if (errno != EINTR || crew_is_late())
			code = -errno;
	}
	if (code == -EAGAIN)
		return err_set(err, code, "the program has not read its input: "
			       "%zu of %zu bytes were taken", at, data->len);
	return code < 0 ? err_sys(err, code, "the program's input") : 0;
}

void process_input(struct request *r)
{
	auto_json json_t *body = NULL;
	auto_buf struct buf data = { .cap = INPUT_MAX };
	json_t *input;
	const char *coded;
	struct err err = { 0 };
	struct command c;

	if (!find(r, &body, &c))
		return;
	input = json_object_get(body, "input");
	coded = text_member(input, "stdin");
	if (!coded)
		reply_connect(r, "unimplemented", "input: it is {\"stdin\": "
			      "BASE64}; there are no terminals in this version");
	else if (text_unbase64(&data, coded, strlen(coded)) < 0)
		reply_connect(r, "invalid_argument", "input: it is no base64, "
			      "or longer than %u bytes", INPUT_MAX);
	else
		reply_done(r, feed(r, c.job, &data, &err), &err);
	command_done(&c);
}

/*
 * Reads the request's frames: the program's name, then its input. They are used
 * when all have come, so a client that waits for an answer in between gets
 * none.
 */
static int stream_frames(struct request *r, struct command *c, bool *found,
			 struct err *err)
{
	const char *data = r->body.data ? r->body.data : "";
	size_t left = r->body.len, used = 0;
	int code = 0;

	for (; code == 0 && left; data += used, left -= used) {
		auto_json json_t *frame = NULL;
		auto_buf struct buf input = { .cap = INPUT_MAX };
		json_t *start, *member;
		const char *coded;

		code = frame_next(data, left, &used, &frame, err);
		if (code < 0)
			return code;
		start = json_object_get(json_object_get(frame, "start"), "process");
		if (start && !*found) {
			*found = command_find(r, start, false, c);
			if (!*found)
				return 0;
		}
		member = json_object_get(json_object_get(frame, "data"), "input");
		coded = text_member(member, "stdin");
		if (!coded)
			continue;
		if (!*found || text_unbase64(&input, coded, strlen(coded)) < 0)
			return err_set(err, -EINVAL, *found
				? "input: it is no base64, or too long"
				: "the first frame is {\"start\": {\"process\"...");
		code = feed(r, c->job, &input, err);
	}
	return code;
}

void process_stream_input(struct request *r)
{
	auto_buf struct buf out = { 0 };
	struct err err = { 0 };
	struct command c;
	bool found = false;
	int code = stream_frames(r, &c, &found, &err);

	if (code < 0) {
		reply_failure(r, code, err.text);
	} else if (found) {
		frame_put(&out, 0, json_object());
		frame_put_end(&out, NULL, NULL);
		reply_text(r, 200, "application/connect+json", out.data, out.len);
	} else if (!r->reply.status) {
		reply_connect(r, "invalid_argument", "there is no frame "
			      "{\"start\": {\"process\": ...}}");
	}
	reply_as_end(r);
	if (found)
		command_done(&c);
}

void process_close_stdin(struct request *r)
{
	auto_json json_t *body = NULL;
	struct err err = { 0 };
	struct command c;

	if (!find(r, &body, &c))
		return;
	reply_done(r, mount_ctl(&r->gateway->mount, c.job, "eof", &err), &err);
	command_done(&c);
}

void process_update(struct request *r)
{
	reply_connect(r, "unimplemented", "terminals are not available in this "
		      "version");
}
