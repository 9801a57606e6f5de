/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.Process/Start and Connect: a command is a job, and its events become
 * frames. It continues when the client disconnects. Owns struct stream:
 * handlers run on workers, events on the loop.
 */
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/base/frame.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/jobs/follow.h"
#include "layout/base/cleanup.h"
#include "layout/env.h"

#define KEEPALIVE_S 90
#define TYPE "application/connect+json"

struct stream {
	/* owns a reference; NULL: the client is gone */
	struct request *request;
	struct gateway *gateway;
	struct sandbox *sandbox; /* owned */
	struct follow *follow;
	struct stream_ops ops; /* a copy, with its own interval */
	char job[64];
	bool started;            /* the start frame was sent */
	bool cut;                /* the sandbox has ended */
	char *message;           /* owned: the message of an `error` event */
	struct buf tail;
};

static void free_stream(struct stream *s)
{
	sandbox_free(s->sandbox);
	buf_done(&s->tail);
	free(s->message);
	free(s);
}

/* --- on the loop ----------------------------------------------------------------- */

/* Sends a frame. Takes json. */
static void send(struct stream *s, json_t *json)
{
	auto_buf struct buf out = { 0 };

	frame_put(&out, 0, json);
	if (!s->request)
		return;
	stream_add(s->request, out.data, out.len);
	follow_waiting(s->follow, stream_waiting(s->request));
}

static json_t *start_frame(json_int_t pid)
{
	return json_pack("{s:{s:{s:I}}}", "event", "start", "pid", pid);
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct stream *s = arg;
	const char *text;

	if (!strcmp(name, "stdout") || !strcmp(name, "stderr")) {
		send(s, frame_data(name, event));
	} else if (!strcmp(name, "state")) {
		text = text_member(event, "state");
		if (text && !strcmp(text, "running") && !s->started) {
			s->started = true;
			send(s, start_frame(command_pid(event)));
		}
	} else if (!strcmp(name, "error")) {
		text = text_shown(event, "message");
		free(s->message);
		s->message = text ? strdup(text) : NULL;
	}
}

static void drop_request(struct stream *s)
{
	struct request *r = s->request;

	s->request = NULL;
	if (!r)
		return;
	r->state = NULL;
	request_unref(r);
}

static void on_over(void *arg, int error)
{
	struct stream *s = arg;

	/* the job was removed: its sandbox has ended */
	if (error < 0 && !s->tail.len)
		s->cut = true;
	if (s->request && s->cut) {
		stream_cut(s->request);
	} else if (s->request) {
		stream_add(s->request, s->tail.data, s->tail.len);
		stream_end(s->request);
	}
	drop_request(s);
	free_stream(s);
}

static void on_gone(struct request *r)
{
	struct stream *s = r->state;

	drop_request(s);
	follow_leave(s->follow);
}

static void on_taken(struct request *r, size_t waiting)
{
	struct stream *s = r->state;

	if (s)
		follow_waiting(s->follow, waiting);
}

static void on_quiet(struct request *r)
{
	auto_buf struct buf out = { 0 };

	frame_put(&out, 0, json_pack("{s:{s:{}}}", "event", "keepalive"));
	stream_add(r, out.data, out.len);
}

/* --- on a worker ------------------------------------------------------------------ */

/* Adds the mount's sentence about a command that exited, such as that its output is over
 * its limit, as standard error: an end frame has no member for a sentence. */
static void put_notice(struct buf *out, const json_t *result)
{
	json_t *notice = text_notice(text_member(result, "message"));
	auto_json json_t *event = notice ? json_pack("{s:o}", "data", notice) : NULL;

	if (event)
		frame_put(out, 0, frame_data("stderr", event));
}

/* Makes the last frames of a command. */
static void put_end(struct buf *out, const json_t *result, const char *error)
{
	const char *code, *message;
	json_t *end = frame_exit(result, &code, &message);

	if (end) {
		put_notice(out, result);
		frame_put(out, 0, end);
	}
	frame_put_end(out, code, error && code ? error : message);
}

static void on_result(void *arg, json_t *result)
{
	struct stream *s = arg;
	const char *status = text_member(result, "status");
	bool own = status && (!strcmp(status, "exited") ||
			      !strcmp(status, "signaled") ||
			      !strcmp(status, "timeout"));

	if (!own && !control_state(s->gateway, s->sandbox))
		s->cut = true;
	else
		put_end(&s->tail, result, s->message);
}

static const struct follow_ops follow_ops = { on_event, on_result, on_over };

/* Replies an error before any frame was sent, as a stream's end. */
__attribute__((format(printf, 3, 4))) static void
reply_end(struct request *r, const char *code, const char *fmt, ...)
{
	auto_buf struct buf out = { 0 };
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	frame_put_end(&out, code, text);
	reply_text(r, 200, TYPE, out.data, out.len);
}

static bool take_frame(struct request *r, json_t **ret)
{
	struct err err = { 0 };

	if (frame_take(r->body.data ? r->body.data : "", r->body.len, ret,
		       &err) == 0)
		return true;
	reply_end(r, "invalid_argument", "%s", err.text);
	return false;
}

static struct stream *new_stream(struct request *r, const char *job)
{
	struct stream *s = calloc(1, sizeof(*s));
	const char *text = request_header(r, "Keepalive-Ping-Interval");
	uint64_t seconds = KEEPALIVE_S;

	if (!s)
		return NULL;
	if (text)
		parse_u64(text, 1, 3600, &seconds);
	s->gateway = r->gateway;
	s->sandbox = r->sandbox;
	r->sandbox = NULL;
	s->request = request_ref(r);
	s->ops = (struct stream_ops){ .gone = on_gone, .taken = on_taken,
				      .quiet = on_quiet,
				      .quiet_ms = seconds * 1000 };
	snprintf(s->job, sizeof(s->job), "%s", job);
	r->state = s;
	reply_stream(r, 200, TYPE, SIZE_UNKNOWN, &s->ops);
	return s;
}

/* Handles a failure of follow_start() or follow_join(). */
static void give_up(struct request *r, struct stream *s)
{
	r->ops = NULL;
	r->state = NULL;
	request_unref(r); /* this is not the last reference */
	free_stream(s);
}

/* --- Start ------------------------------------------------------------------------- */

/* Adds variables; those that the mount refuses are set by env(1), before the
 * command. */
static int add_env(json_t *config, json_t *words, const json_t *given)
{
	json_t *env = json_object_get(config, "env"), *value;
	const char *name;
	int count = 0;

	json_object_foreach((json_t *)(uintptr_t)given, name, value) {
		if (!json_is_string(value))
			return -EINVAL;
		if (!env_is_hijack(name)) {
			json_object_set(env, name, value);
			continue;
		}
		json_array_append_new(words, json_sprintf(
			"%s=%s", name, json_string_value(value)));
		count++;
	}
	return count;
}

static int add_command(json_t *words, const json_t *process)
{
	json_t *cmd = json_object_get(process, "cmd"), *arg;
	size_t i;

	if (!json_is_string(cmd) || !json_string_length(cmd))
		return -EINVAL;
	json_array_append(words, cmd);
	json_array_foreach(json_object_get(process, "args"), i, arg) {
		if (!json_is_string(arg))
			return -EINVAL;
		json_array_append(words, arg);
	}
	return 0;
}

/* Return: config.json; NULL: it has replied. */
static json_t *make_config(struct request *r, const json_t *body)
{
	json_t *process = json_object_get(body, "process");
	json_t *tag = json_object_get(body, "tag");
	const char *cwd = text_member(process, "cwd");
	json_t *words = json_array(), *note = json_object();
	json_t *config = json_pack("{s:s, s:s, s:o, s:{}, s:i, s:b, s:o}",
				   "sandbox", r->sandbox->name, "mode",
				   "command", "command", words, "env", "retain",
				   COMMAND_KEPT_S, "stdin_open",
				   !json_is_false(json_object_get(body, "stdin")),
				   "note", note);
	int kept, own;

	json_array_append_new(words, json_string("/usr/bin/env"));
	kept = add_env(config, words, json_object_get(r->sandbox->meta, "env"));
	own = add_env(config, words, json_object_get(process, "envs"));
	if (kept + own == 0)
		json_array_clear(words);
	else
		json_object_set_new(note, "skip", json_integer(1 + kept + own));
	if (json_is_string(tag))
		json_object_set(note, "tag", tag);
	if (cwd && *cwd)
		json_object_set_new(config, "cwd", json_string(cwd));
	json_object_set_new(config, "timeout", request_timeout(r));
	if (own >= 0 && add_command(words, process) == 0)
		return config;
	reply_end(r, "invalid_argument", "process: it is {\"cmd\": TEXT, "
		  "\"args\": [TEXT], \"envs\": {NAME: TEXT}, \"cwd\": TEXT}");
	json_decref(config);
	return NULL;
}

static void count_one(void *arg, struct command *c)
{
	(void)c;
	++*(unsigned *)arg;
}

static bool has_room(struct request *r)
{
	unsigned count = 0;

	command_each(r, count_one, &count, NULL);
	if (count < COMMANDS_MAX)
		return true;
	reply_end(r, "resource_exhausted", "there are %u commands in the "
		  "sandbox, as many as may be", count);
	return false;
}

static void start(struct request *r, json_t *config)
{
	char job[64], part[17];
	struct follow_job follow;
	struct err err = { 0 };
	struct stream *s;
	int code = text_random(part, sizeof(part) - 1);

	snprintf(job, sizeof(job), "gw.%s.p.%s", r->sandbox->name, part);
	s = code < 0 ? NULL : new_stream(r, job);
	if (!s) {
		reply_end(r, "unavailable", "no memory for a command");
		return;
	}
	follow = (struct follow_job){ .name = s->job, .config = config,
				      .owner = text_member(s->sandbox->meta,
							   "owner"),
				      .keep = true, .stays = true,
				      .ops = &follow_ops, .arg = s };
	code = follow_start(r->gateway, &follow, &s->follow, &err);
	if (code == 0)
		return;
	give_up(r, s);
	reply_failure(r, code, err.text);
}

void process_start(struct request *r)
{
	auto_json json_t *body = NULL, *config = NULL;

	if (!take_frame(r, &body))
		return;
	if (json_is_object(json_object_get(body, "pty"))) {
		reply_end(r, "unimplemented", "terminals are not available in "
			  "this version");
		return;
	}
	config = make_config(r, body);
	if (config && has_room(r))
		start(r, config);
}

/* --- Connect ------------------------------------------------------------------------ */

/* Replies for a command that has ended. */
static void reply_ended(struct request *r, const struct command *c)
{
	auto_buf struct buf out = { 0 };

	frame_put(&out, 0, start_frame(c->pid));
	put_end(&out, c->result, NULL);
	reply_text(r, 200, TYPE, out.data, out.len);
}

static void join(struct request *r, struct command *c)
{
	struct follow_job follow = { .keep = true, .ops = &follow_ops };
	struct err err = { 0 };
	struct stream *s = new_stream(r, c->job);
	int code;

	if (!s) {
		reply_end(r, "unavailable", "no memory for a command");
		return;
	}
	if (c->pid) {
		auto_buf struct buf out = { 0 };

		s->started = true;
		frame_put(&out, 0, start_frame(c->pid));
		/* the request owns `out` until the watch begins */
		buf_add(&r->out, out.data, out.len);
	}
	follow.name = s->job;
	follow.arg = s;
	code = follow_join(r->gateway, &follow, take_fd(&c->events), &s->follow,
			   &err);
	if (code == 0)
		return;
	give_up(r, s);
	reply_failure(r, code, err.text);
}

void process_connect(struct request *r)
{
	auto_json json_t *body = NULL;
	struct command c;

	if (!take_frame(r, &body) ||
	    !command_find(r, json_object_get(body, "process"), true, &c))
		return;
	if (c.ended)
		reply_ended(r, &c);
	else
		join(r, &c);
	command_done(&c);
}
