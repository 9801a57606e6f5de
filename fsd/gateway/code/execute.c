/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /execute: runs a cell as a job of the sandbox, and turns its events into
 * lines. The reply's head is sent when the job was accepted; later errors are
 * lines. Owns struct execution: its handler runs on a worker, its events on the
 * loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/envd/seed.h"
#include "fsd/gateway/jobs/follow.h"
#include "layout/base/cleanup.h"
#include "layout/lang.h"
#include "running.h"

#define KEEPALIVE_MS 5000u
#define TAIL_MAX (128u << 20)
#define COPIES 4u /* a file of n bytes needs this times n of memory to become a line */
/* time between interrupt and kill when the client is gone */
#define PATIENCE_MS 5000u

struct execution {
	struct running_cell cell; /* the cell's entry in running.h */
	/* owns a reference; NULL: the client is gone */
	struct request *request;
	struct gateway *gateway;
	struct sandbox *sandbox; /* owned */
	struct follow *follow;
	char context[CONTEXT_ID];
	char job[64];
	uint64_t count; /* number of this execution in the context, from 1 */
	bool shown[CELL_SHOWN]; /* display n was sent */
	char *message;           /* owned: the message of an `error` event */
	struct buf tail; /* made by a worker, sent by the loop */
	struct holding memory; /* share of the budget for `tail` */
	bool cut;                /* the job or the sandbox was lost: cut the stream */
	bool fresh; /* the sandbox was made for this cell, and ends with it */
	struct crew_work work;
};

static void free_execution(struct execution *x)
{
	running_remove(x->gateway, &x->cell);
	sandbox_free(x->sandbox);
	buf_done(&x->tail);
	holding_set(&x->memory, 0);
	free(x->message);
	free(x);
}

static void end_fresh(struct crew_work *work)
{
	struct execution *x = container_of(work, struct execution, work);
	char path[128];

	crew_clears_up();
	mount_rmdir(&x->gateway->mount, sandbox_path(x->sandbox->name, "", path),
		    NULL);
}

static void fresh_ended(struct crew_work *work)
{
	free_execution(container_of(work, struct execution, work));
}

/* --- on the loop
 * --------------------------------------------------------------------- */

static void send(struct execution *x, const struct buf *text)
{
	if (!x->request || !text->len)
		return;
	stream_add(x->request, text->data, text->len);
	follow_waiting(x->follow, stream_waiting(x->request));
}

static void send_count(struct execution *x)
{
	auto_buf struct buf line = { 0 };

	buf_fmt(&line, "{\"type\":\"number_of_executions\","
		"\"execution_count\":%llu}\n", (unsigned long long)x->count);
	send(x, &line);
}

static bool on_line(void *arg, const char *line, size_t len)
{
	struct execution *x = arg;
	auto_buf struct buf out = { 0 };

	if (!cell_copy(&out, line, len))
		return false;
	send(x, &out);
	return true;
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct execution *x = arg;
	auto_buf struct buf line = { 0 };
	const char *text;

	if (!strcmp(name, "stdout") || !strcmp(name, "stderr")) {
		cell_output(&line, name, event);
		send(x, &line);
	} else if (!strcmp(name, "shown")) {
		cell_shown(&line, json_object_get(event, "shown"), x->shown);
		send(x, &line);
	} else if (!strcmp(name, "state")) {
		text = text_member(event, "state");
		if (text && !strcmp(text, "running"))
			send_count(x);
	} else if (!strcmp(name, "error")) {
		text = text_shown(event, "message");
		free(x->message);
		x->message = text ? strdup(text) : NULL;
	}
}

static void drop_request(struct execution *x)
{
	struct request *r = x->request;

	x->request = NULL;
	if (!r)
		return;
	r->state = NULL;
	request_unref(r);
}

static void on_over(void *arg, int error)
{
	struct execution *x = arg;

	if (error < 0 && x->message) { /* the mount refused the job after its start */
		struct cell_end end = { .shown = x->shown,
					.message = x->message };

		cell_lines(&x->tail, NULL, &end);
	} else if (error < 0) {
		x->cut = true;
	}
	if (x->request && x->cut) {
		stream_cut(x->request);
	} else if (x->request) {
		request_take(x->request, &x->memory);
		stream_add(x->request, x->tail.data, x->tail.len);
		stream_end(x->request);
	}
	drop_request(x);
	if (!x->fresh) {
		free_execution(x);
		return;
	}
	x->work.light = true;
	x->work.run = end_fresh;
	x->work.done = fresh_ended;
	crew_put(&x->gateway->crew, &x->work);
}

static void on_gone(struct request *r)
{
	struct execution *x = r->state;

	follow_abandon(x->follow, PATIENCE_MS);
	drop_request(x);
}

static void on_taken(struct request *r, size_t waiting)
{
	struct execution *x = r->state;

	if (x)
		follow_waiting(x->follow, waiting);
}

static void on_quiet(struct request *r)
{
	static const char line[] = "{\"type\":\"keepalive\"}\n";

	stream_add(r, line, sizeof(line) - 1);
}

static const struct stream_ops stream_ops = {
	.gone = on_gone, .taken = on_taken, .quiet = on_quiet,
	.quiet_ms = KEEPALIVE_MS,
};

/* --- on a worker
 * --------------------------------------------------------------------- */

static int read_output(void *arg, const char *path, struct buf *out)
{
	struct execution *x = arg;
	auto_buf struct buf full = { 0 };
	struct stat st;
	int r = buf_fmt(&full, "%s/output/%s", x->job, path);

	if (r == 0)
		r = mount_stat(&x->gateway->mount, full.data, &st, NULL);
	if (r == 0 && (uint64_t)st.st_size > out->cap)
		r = -EFBIG;
	if (r == 0 && !holding_set(&x->memory, x->tail.len +
				   COPIES * (size_t)st.st_size))
		r = -EAGAIN;
	return r < 0 ? r : mount_read(&x->gateway->mount, full.data, out, NULL);
}

/* Returns whether the cell may have ended because its sandbox has ended. */
static bool may_be_of_sandbox(const json_t *result)
{
	const char *status = text_member(result, "status");

	return !status || !strcmp(status, "cancelled") ||
	       !strcmp(status, "failed") || !strcmp(status, "interrupted");
}

static void on_result(void *arg, json_t *result)
{
	struct execution *x = arg;
	struct cell_end end = {
		.read = read_output, .arg = x,
		.memory_mb = (uint64_t)json_integer_value(json_object_get(
			x->sandbox->config, "memory_mb")),
		.restarted = atomic_load(&x->cell.restarted), .shown = x->shown,
		.message = x->message,
	};

	if (may_be_of_sandbox(result) &&
	    !control_state(x->gateway, x->sandbox)) {
		x->cut = true;
		return;
	}
	x->tail.cap = TAIL_MAX;
	cell_lines(&x->tail, result, &end);
	holding_set(&x->memory, x->tail.len);
}

static const struct follow_ops follow_ops = { on_event, on_result, on_over };

static void read_steps(struct execution *x)
{
	auto_buf struct buf text = { 0 };
	char path[160];

	snprintf(path, sizeof(path), SANDBOXES "/%s/sessions/%s/steps",
		 x->sandbox->name, x->context);
	if (mount_read(&x->gateway->mount, path, &text, NULL) == 0 && text.len)
		x->count = strtoull(text.data, NULL, 10);
	x->count += 1 + running_add(x->gateway, &x->cell);
}

/* Returns whether the cell gets a sandbox of its own: on --debug-ports without "shared",
 * if the request names no context. */
static bool needs_fresh(const struct request *r, const json_t *body)
{
	return seed_is_wanted(r) && !text_member(body, "context_id");
}

/* Removes the request's sandbox, which no cell has begun to use. */
static void drop_fresh(struct request *r)
{
	char path[128];

	crew_clears_up();
	mount_rmdir(&r->gateway->mount, sandbox_path(r->sandbox->name, "", path), NULL);
}

static bool make_fresh(struct request *r)
{
	struct err err = { 0 };
	char id[32] = "debug_";
	bool seeded = json_object_get(r->sandbox->meta, "uploads") != NULL;
	int code = text_random(id + 6, SANDBOX_ID);

	sandbox_free(r->sandbox);
	r->sandbox = NULL;
	if (code == 0)
		code = control_make_debug(r->gateway, id, &r->sandbox, &err);
	if (code == 0 && seeded)
		code = seed_give(r->gateway, r->sandbox->name, &err);
	if (code == 0)
		return true;
	if (r->sandbox)
		drop_fresh(r);
	reply_failure(r, code, err.text);
	return false;
}

/* Finds the context of the request. Return: false: it has replied. */
static bool choose_context(struct request *r, const json_t *body,
			   struct context *c)
{
	const char *id = text_member(body, "context_id");
	const char *language = text_member(body, "language");

	if (id && language) {
		reply_error(r, 400, "Only one of context_id or language can be "
			    "provided");
		return false;
	}
	if (id && !context_find(r->sandbox, id, c)) {
		reply_error(r, 404, "Context %.64s not found", id);
		return false;
	}
	if (id)
		return true;
	language = language && *language ? language : langs[LANG_DEFAULT].name;
	if (!code_language(language)) {
		reply_error(r, 400, "there is no language \"%.40s\"; there are %s",
			    language, lang_names_sentence().text);
		return false;
	}
	context_default(r->sandbox, code_language(language), c);
	return true;
}

static bool check_body(struct request *r, const json_t *body)
{
	const json_t *code = json_object_get(body, "code");
	const json_t *env = json_object_get(body, "env_vars"), *value;
	const char *name;

	if (!json_is_string(code)) {
		reply_error(r, 422, "code: it must be a string");
		return false;
	}
	if (json_string_length(code) > CODE_MAX) {
		reply_error(r, 413, "code is %zu bytes long; at most %u are "
			    "taken", json_string_length(code), CODE_MAX);
		return false;
	}
	if (env && !json_is_object(env) && !json_is_null(env)) {
		reply_error(r, 422, "env_vars: it must be an object of strings");
		return false;
	}
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
		if (!json_is_string(value)) {
			reply_error(r, 422, "env_vars: %.60s is no string", name);
			return false;
		}
	return true;
}

/* Joins the cell's variables with those of the sandbox that the mount takes in a job's
 * config but not in a sandbox's (env_is_hijack()). */
static json_t *make_env(const struct request *r, const json_t *body)
{
	json_t *env = json_copy(json_object_get(r->sandbox->meta, "env"));

	env = env ? env : json_object();
	json_object_update(env, json_object_get(body, "env_vars"));
	return env;
}

static json_t *make_config(struct request *r, const json_t *body,
			   const struct context *c)
{
	const char *language = text_member(body, "language");
	const char *code = text_member(body, "code");
	const struct lang *lang = language ? lang_by_alias(language) : NULL;
	const struct lang *living = lang_by_name(c->language);
	json_t *env = make_env(r, body);
	json_t *config = json_pack(
		"{s:s, s:s, s:s, s:s, s:O, s:i, s:i}", "sandbox",
		r->sandbox->name, "session", c->id, "mode", "cell", "language",
		lang && lang->erased ? lang->name : c->language, "code",
		json_object_get(body, "code"), "timeout", 0, "retain", 60);

	/* the mount refuses a program of blanks only */
	if (config && living && !code[strspn(code, " \t\r\n")])
		json_object_set_new(config, "code", json_string(living->comment));
	if (json_object_size(env))
		json_object_set(config, "env", env);
	json_decref(env);
	if (strcmp(c->cwd, "/home/user") != 0)
		json_object_set_new(config, "cwd", json_string(c->cwd));
	return config;
}

static struct execution *new_execution(struct request *r,
				       const struct context *c)
{
	struct execution *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->gateway = r->gateway;
	x->sandbox = r->sandbox;
	r->sandbox = NULL;
	snprintf(x->context, sizeof(x->context), "%s", c->id);
	x->cell.context = x->context;
	follow_new_name(x->sandbox->name, x->job);
	request_share(r, &x->memory);
	read_steps(x);
	return x;
}

void post_execute(struct request *r)
{
	auto_json json_t *body = NULL, *config = NULL;
	struct context c = { 0 };
	struct execution *x;
	struct follow_job job;
	struct err err = { 0 };
	bool fresh;
	int code;

	if (request_json(r, &body) < 0 || !check_body(r, body))
		return;
	fresh = needs_fresh(r, body);
	if (fresh && !make_fresh(r))
		return;
	if (!choose_context(r, body, &c)) {
		if (fresh)
			drop_fresh(r);
		return;
	}
	config = make_config(r, body, &c);
	x = config ? new_execution(r, &c) : NULL;
	if (!x) {
		if (fresh)
			drop_fresh(r);
		reply_failure(r, -ENOMEM, "no memory for a cell");
		return;
	}
	x->fresh = fresh;
	x->request = request_ref(r);
	r->state = x;
	reply_stream(r, 200, "application/json", SIZE_UNKNOWN, &stream_ops);
	job = (struct follow_job){ .name = x->job, .config = config,
				   .owner = text_member(x->sandbox->meta,
							"owner"),
				   .ops = &follow_ops, .line = on_line,
				   .arg = x };
	code = follow_start(r->gateway, &job, &x->follow, &err);
	if (code == 0)
		return;
	r->ops = NULL;
	r->state = NULL;
	request_unref(r); /* this is not the last reference */
	reply_failure(r, code, err.text);
	if (fresh)
		end_fresh(&x->work);
	free_execution(x);
}
