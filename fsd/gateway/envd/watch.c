/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filesystem.Filesystem/WatchDir, and its calls without a stream. A program of
 * ours (watch.py) in the sandbox reports changes; each watcher is its job. One
 * without a stream is a job "gw.H.w.ID", which keeps the events until they are
 * asked for: the gateway has no record of it. Handlers run on workers, events
 * on the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"
#include "fsd/gateway/base/frame.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/http/awaited.h"
#include "layout/base/cleanup.h"
#include "watch.h"

#define TYPE "application/connect+json"
#define KEEPALIVE_S 90
#define ID_SIZE 16u

extern const char watch_program[];

struct watcher_call {
	struct awaited awaited; /* a stream uses only its members */
	struct gateway *gateway;
	struct sandbox *sandbox; /* owned */
	struct stream_ops ops;
	char job[64];
	char id[ID_SIZE + 1]; /* "": the watch is a stream */
	struct buf line; /* an incomplete line of the program's output */
	char *said; /* owned; its standard error */
	bool ready;
	int error;
};

static void free_call(struct watcher_call *w)
{
	sandbox_free(w->sandbox);
	buf_done(&w->line);
	free(w->said);
	free(w);
}

/* Return: false: it has replied. */
static bool take_dir(struct request *r, const json_t *body, struct envd_path *p)
{
	const char *text = text_member(body, "path");
	struct err err = { 0 };
	struct stat st;
	int code = text ? envd_locate(r->gateway, r->sandbox->name, text, true, p, &err)
			: -EINVAL;

	if (!text || code == -ENAMETOOLONG) {
		reply_connect(r, "invalid_argument", "path: %s",
			      text ? err.text : "it is missing");
		return false;
	}
	if (code == 0)
		code = mount_stat(&r->gateway->mount, p->mount, &st, &err);
	if (code == -ENOENT)
		reply_connect(r, "not_found", "path '%.400s' does not exist",
			      p->path);
	else if (code < 0)
		reply_failure(r, code, err.text);
	else if (!S_ISDIR(st.st_mode))
		reply_connect(r, "invalid_argument", "path '%.400s' is not a "
			      "directory", p->path);
	else
		return true;
	return false;
}

static json_t *make_config(const struct request *r, const json_t *body,
			   const struct envd_path *p, bool ask)
{
	json_t *words = json_pack("[s, s, s, s, s]", "python3", "-ISc",
				  watch_program, p->path, ask ? "ask" : "tell");

	if (json_is_true(json_object_get(body, "recursive")))
		json_array_append_new(words, json_string("deep"));
	return json_pack("{s:s, s:s, s:o, s:o, s:b, s:i}", "sandbox",
			 r->sandbox->name, "mode", "command", "command", words,
			 "timeout", ask ? json_real(0) : request_timeout(r),
			 "stdin_open", ask, "retain", 1);
}

static struct watcher_call *new_call(struct request *r)
{
	struct watcher_call *w = calloc(1, sizeof(*w));
	char part[ID_SIZE + 1];

	if (!w)
		return NULL;
	text_random(part, ID_SIZE);
	snprintf(w->job, sizeof(w->job), "gw.%s.w.%s", r->sandbox->name, part);
	w->gateway = r->gateway;
	w->sandbox = take_ptr(r->sandbox);
	w->line.cap = WATCH_SAID_MAX;
	return w;
}

static void drop_request(struct watcher_call *w)
{
	struct request *r = take_ptr(w->awaited.request);

	if (!r)
		return;
	r->state = NULL;
	request_unref(r);
}

/* --- the program's output ----------------------------------------------- */

json_t *watch_show_event(const json_t *event)
{
	const char *kind = json_string_value(json_array_get(event, 0));
	json_t *name = json_array_get(event, 1);
	char type[32];

	if (!kind || !json_is_string(name))
		return NULL;
	snprintf(type, sizeof(type), "EVENT_TYPE_%s", kind);
	return json_pack("{s:O, s:s}", "name", name, "type", type);
}

void watch_take_output(struct buf *line, const json_t *event,
			void (*fn)(void *arg, const json_t *said), void *arg)
{
	json_t *data = json_object_get(event, "data");
	size_t at = 0;
	char *end;

	buf_add(line, json_string_value(data), json_string_length(data));
	while (line->len > at &&
	       (end = memchr(line->data + at, '\n', line->len - at))) {
		size_t len = (size_t)(end - line->data) - at;
		auto_json json_t *said =
			json_loadb(line->data + at, len, 0, NULL);

		if (said)
			fn(arg, said);
		at += len + 1;
	}
	buf_eat(line, at);
}

static void send(struct watcher_call *w, json_t *json)
{
	auto_buf struct buf out = { 0 };

	frame_put(&out, 0, json);
	stream_add(w->awaited.request, out.data, out.len);
	follow_waiting(w->awaited.follow, stream_waiting(w->awaited.request));
}

static void on_ready(struct watcher_call *w)
{
	w->ready = true;
	if (!*w->id) {
		send(w, json_pack("{s:{}}", "start"));
		return;
	}
	awaited_known(&w->awaited);
	follow_leave(w->awaited.follow);
}

static void on_said(void *arg, const json_t *said)
{
	struct watcher_call *w = arg;
	json_t *events = json_object_get(said, "events"), *event;
	size_t i;

	if (!w->awaited.request)
		return;
	if (json_object_get(said, "ready") && !w->ready) {
		on_ready(w);
		return;
	}
	json_array_foreach(events, i, event) {
		json_t *shown = watch_show_event(event);

		if (shown)
			send(w, json_pack("{s:o}", "filesystem", shown));
	}
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct watcher_call *w = arg;
	const char *text = text_shown(event, !strcmp(name, "error") ? "message"
								     : "data");

	if (!strcmp(name, "stdout")) {
		watch_take_output(&w->line, event, on_said, w);
	} else if (text && (!strcmp(name, "stderr") || !strcmp(name, "error"))) {
		free(w->said);
		w->said = strndup(text, strcspn(text, "\n"));
	}
}

static const char *why(const struct watcher_call *w)
{
	return w->said ? w->said : "the watcher has ended";
}

/* --- its end; on the loop
 * -------------------------------------------------------------- */

static void end_stream(struct watcher_call *w, bool timeout)
{
	auto_buf struct buf out = { 0 };

	frame_put_end(&out, timeout ? "deadline_exceeded" : "unavailable",
		      why(w));
	stream_add(w->awaited.request, out.data, out.len);
	stream_end(w->awaited.request);
}

static void on_result(void *arg, json_t *result)
{
	struct watcher_call *w = arg;
	const char *status = text_member(result, "status");

	w->error = !status || !control_state(w->gateway, w->sandbox) ? -ESTALE
		   : !strcmp(status, "timeout") ? -ETIME : -EIO;
}

static void on_over_stream(void *arg, int error)
{
	struct watcher_call *w = arg;

	w->error = error ? error : w->error;
	if (w->awaited.request && w->error == -ESTALE)
		stream_cut(w->awaited.request);
	else if (w->awaited.request)
		end_stream(w, w->error == -ETIME);
	drop_request(w);
	free_call(w);
}

/* Replies for a watcher without a stream. Once it is ready no client waits for
 * its end. */
static void make_reply(struct awaited *a, struct request *r)
{
	struct watcher_call *w = container_of(a, struct watcher_call, awaited);

	if (w->ready)
		reply_json(r, 200, json_pack("{s:s}", "watcherId", w->id));
	else
		reply_connect(r, "unavailable", "%.300s", why(w));
}

static void free_awaited(struct awaited *a)
{
	free_call(container_of(a, struct watcher_call, awaited));
}

static void on_over_create(void *arg, int error)
{
	struct watcher_call *w = arg;

	(void)error;
	awaited_over(&w->awaited);
}

static void on_gone_stream(struct request *r)
{
	struct watcher_call *w = r->state;

	if (!w)
		return;
	drop_request(w);
	follow_abandon(w->awaited.follow, 0);
}

static void on_taken(struct request *r, size_t waiting)
{
	struct watcher_call *w = r->state;

	if (w)
		follow_waiting(w->awaited.follow, waiting);
}

static void on_quiet(struct request *r)
{
	auto_buf struct buf out = { 0 };

	frame_put(&out, 0, json_pack("{s:{}}", "keepalive"));
	stream_add(r, out.data, out.len);
}

static const struct follow_ops stream_follow = { on_event, on_result,
						 on_over_stream };
static const struct follow_ops create_follow = { on_event, NULL, on_over_create };
static const struct awaited_ops create_ops = { make_reply, free_awaited };

static struct follow_job make_job(struct watcher_call *w, json_t *config,
				  const struct follow_ops *ops)
{
	return (struct follow_job){
		.name = w->job, .config = config,
		.owner = text_member(w->sandbox->meta, "owner"), .ops = ops,
		.arg = w };
}

static void start_stream(struct watcher_call *w, struct request *r,
			 json_t *config)
{
	struct follow_job job = make_job(w, config, &stream_follow);
	struct err err = { 0 };
	int code;

	w->awaited.request = request_ref(r);
	r->state = w;
	code = follow_start(w->gateway, &job, &w->awaited.follow, &err);
	if (code == 0)
		return;
	r->ops = NULL;
	drop_request(w); /* this is not the last reference */
	free_call(w);
	reply_failure(r, code, err.text);
}

/* --- the calls
 * ---------------------------------------------------------------------------- */

void watch_dir(struct request *r)
{
	auto_json json_t *body = NULL, *config = NULL;
	const char *text = request_header(r, "Keepalive-Ping-Interval");
	uint64_t seconds = KEEPALIVE_S;
	struct watcher_call *w;
	struct err err = { 0 };
	struct envd_path p;

	if (frame_take(r->body.data ? r->body.data : "", r->body.len, &body,
		       &err) < 0) {
		reply_stream_error(r, "invalid_argument", err.text);
		return;
	}
	if (!take_dir(r, body, &p)) {
		reply_as_end(r);
		return;
	}
	if (text)
		parse_u64(text, 1, 3600, &seconds);
	config = make_config(r, body, &p, false);
	w = config ? new_call(r) : NULL;
	if (!w) {
		reply_stream_error(r, "unavailable",
				   "no memory for a watcher");
		return;
	}
	w->ops = (struct stream_ops){ .gone = on_gone_stream, .taken = on_taken,
				      .quiet = on_quiet,
				      .quiet_ms = seconds * 1000 };
	reply_stream(r, 200, TYPE, SIZE_UNKNOWN, &w->ops);
	start_stream(w, r, config);
}

void watch_create(struct request *r)
{
	auto_json json_t *body = NULL, *config = NULL;
	struct watcher_call *w;
	struct follow_job job;
	struct err err = { 0 };
	struct envd_path p;
	int code;

	if (request_json(r, &body) < 0 || !take_dir(r, body, &p))
		return;
	config = make_config(r, body, &p, true);
	w = config ? new_call(r) : NULL;
	if (!w) {
		reply_failure(r, -ENOMEM, "no memory for a watcher");
		return;
	}
	snprintf(w->id, sizeof(w->id), "%s", strrchr(w->job, '.') + 1);
	job = make_job(w, config, &create_follow);
	job.stays = true;
	code = awaited_start(&w->awaited, &create_ops, r, &job, &err);
	if (code == 0)
		return;
	free_call(w);
	reply_failure(r, code, err.text);
}

bool watch_take_job(struct request *r, char job[64])
{
	auto_json json_t *body = NULL;
	const char *id;
	char path[96];
	struct stat st;

	if (request_json(r, &body) < 0)
		return false;
	id = text_member(body, "watcherId");
	id = id ? id : text_member(body, "watcher_id");
	id = id && strlen(id) == ID_SIZE && !strchr(id, '/') ? id : "";
	snprintf(job, 64, "gw.%s.w.%s", r->sandbox->name, id);
	snprintf(path, sizeof(path), "%s/state", job);
	if (*id && mount_stat(&r->gateway->mount, path, &st, NULL) == 0)
		return true;
	reply_connect(r, "not_found", "watcher with id '%s' not found", id);
	return false;
}

void watch_remove(struct request *r)
{
	struct err err = { 0 };
	char job[64];
	int code;

	if (!watch_take_job(r, job))
		return;
	mount_ctl(&r->gateway->mount, job, "kill", NULL);
	code = mount_remove_job(&r->gateway->mount, job, &err);
	if (code < 0)
		reply_failure(r, code, err.text);
	else
		reply_json(r, 200, json_object());
}
