/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /run: runs a call job (jobtree(5), "mode": "call") and replies when it
 * has ended. The job is held, so it ends with the gateway. Owns struct run.
 */
#include "ragflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/control/control.h"
#include "fsd/gateway/http/awaited.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define STREAM_BYTES (4u << 20) /* stdout_limit, stderr_limit */

/* A line that exports the function, so that a loader of modules finds it. */
#define JS_EXPORTS "\n\nmodule.exports = { main };\n"

static const struct {
	const char *name, *language;
} languages[] = {
	{ "python", "python" },
	{ "nodejs", "javascript" },
	{ "javascript", "javascript" },
};

/* A run. The loop uses it, and a worker in on_result(). */
struct run {
	struct awaited awaited;
	struct gateway *gateway;
	char job[64];
	char *message;  /* owned: the message of an `error` event */
	json_t *answer; /* owned; the answer */
	struct buf text; /* the answer as text, if a worker has written it */
};

static void free_run(struct awaited *a)
{
	struct run *run = container_of(a, struct run, awaited);

	json_decref(run->answer);
	buf_done(&run->text);
	free(run->message);
	free(run);
}

/* --- its end -------------------------------------------------------------------- */

static int read_output(void *arg, const char *path, struct buf *out)
{
	struct run *run = arg;
	auto_buf struct buf full = { 0 };
	int r = buf_fmt(&full, "%s/output/%s", run->job, path);

	return r < 0 ? r : mount_read(&run->gateway->mount, full.data, out, NULL);
}

static void read_stream(struct run *run, const char *name, struct buf *out)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", run->job, name);
	out->cap = STREAM_BYTES + 1;
	mount_read(&run->gateway->mount, path, out, NULL);
}

static void on_result(void *arg, json_t *result)
{
	struct run *run = arg;
	const struct options *o = &run->gateway->options;
	auto_buf struct buf out = { 0 }, err = { 0 };

	read_stream(run, "stdout", &out);
	read_stream(run, "stderr", &err);
	run->answer = run_answer(&(struct run_end){
		.result = result, .out = out.data, .out_len = out.len,
		.err = err.data, .err_len = err.len, .message = run->message,
		.timeout_s = o->run_timeout, .memory_mb = o->run_memory,
		.read = read_output, .arg = run });
	/* make the text on this worker: that would block the loop for long */
	run->text.cap = UINT32_MAX;
	if (run->answer && text_json(&run->text, run->answer) == 0)
		json_decref(take_ptr(run->answer));
	else
		buf_done(&run->text);
}

static void make_reply(struct awaited *a, struct request *r)
{
	struct run *run = container_of(a, struct run, awaited);

	if (run->text.len)
		reply_taken(r, 200, "application/json", &run->text);
	else
		reply_json(r, 200, take_ptr(run->answer));
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct run *run = arg;
	const char *text = text_shown(event, "message");

	if (strcmp(name, "error") != 0 || !text)
		return;
	free(run->message);
	run->message = strdup(text);
}

static void on_over(void *arg, int error)
{
	struct run *run = arg;

	if (!run->answer && !run->text.len)
		run->answer = run_refusal(error ? error : -EIO,
					  "the appliance lost the run");
	awaited_over(&run->awaited);
}

static const struct follow_ops follow_ops = { on_event, on_result, on_over };

/* --- its request
 * --------------------------------------------------------------------- */

static const struct awaited_ops ops = { make_reply, free_run };

/* Replies as RAGFlow's own server does to a wrong request. */
static void malformed(struct request *r, const char *what)
{
	reply_json(r, 422, json_pack("{s:s}", "detail", what));
}

static const char *language_of(const json_t *body)
{
	const char *name = text_member(body, "language");

	for (size_t i = 0; name && i < ARRAY_SIZE(languages); i++)
		if (!strcmp(languages[i].name, name))
			return languages[i].language;
	return NULL;
}

/* Return: config.json, or NULL: it has replied. */
static json_t *make_config(struct request *r, const json_t *body)
{
	const struct options *o = &r->gateway->options;
	const char *language = language_of(body);
	const char *coded = text_member(body, "code_b64");
	json_t *arguments = json_object_get(body, "arguments");
	auto_buf struct buf code = { 0 };
	json_t *text;

	if (!language)
		malformed(r, "language: it must be python, nodejs or javascript");
	else if (!coded || text_unbase64(&code, coded, strlen(coded)) < 0)
		malformed(r, "code_b64: it must be a program in base64");
	else if (arguments && !json_is_object(arguments) &&
		 !json_is_null(arguments))
		malformed(r, "arguments: it must be an object");
	if (r->reply.status)
		return NULL;
	if (!strcmp(language, "javascript"))
		buf_str(&code, JS_EXPORTS);
	text = json_stringn(code.data ? code.data : "", code.len);
	if (!text) {
		malformed(r, "code_b64: the program must be UTF-8 text");
		return NULL;
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:O?, s:I, s:I, s:i, s:i}",
			 "environment", gateway_environment(r->gateway), "language",
			 language, "mode", "call", "code", text, "input",
			 json_is_object(arguments) ? arguments : NULL,
			 "timeout", (json_int_t)o->run_timeout, "memory_mb",
			 (json_int_t)o->run_memory, "stdout_limit",
			 STREAM_BYTES, "stderr_limit", STREAM_BYTES);
}

static bool read_body(struct request *r, json_t **ret)
{
	struct err err = { 0 };

	if (json_read(r->body.data ? r->body.data : "", r->body.len, 32, NULL,
		      ret, &err) < 0)
		malformed(r, "the body is no JSON");
	else if (!json_is_object(*ret))
		malformed(r, "the body must be an object");
	return !r->reply.status;
}

void post_run(struct request *r)
{
	auto_json json_t *body = NULL, *config = NULL;
	struct run *run;
	struct err err = { 0 };
	char text[TEXT_SENTENCE];
	int code;

	config = read_body(r, &body) ? make_config(r, body) : NULL;
	if (!config && r->reply.status)
		return;
	run = config ? calloc(1, sizeof(*run)) : NULL;
	if (!run) {
		reply_json(r, 200, run_refusal(-ENOMEM, "no memory for a run"));
		return;
	}
	run->gateway = r->gateway;
	follow_new_name(r->caller.owner, run->job);
	code = awaited_start(&run->awaited, &ops, r, &(struct follow_job){
		.name = run->job, .config = config, .dir = RUN_ARTIFACTS,
		.owner = r->caller.owner, .hold = true, .ops = &follow_ops, .arg = run },
		&err);
	if (code == 0)
		return;
	free_run(&run->awaited);
	reply_json(r, 200, run_refusal(code, text_outside(err.text, text)));
}
