/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_code and run_command: runs a job and follows it to its end. Sends its
 * output as progress if the client wants that. A job without a sandbox is held,
 * so it ends with the gateway. Owns struct mcp_call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/gateway/control/control.h"
#include "fsd/gateway/control/egress.h"
#include "fsd/gateway/envd/envd.h"
#include "fsd/gateway/jobs/follow.h"
#include "layout/base/cleanup.h"
#include "layout/lang.h"
#include "mcp.h"

#define PATIENCE_MS 5000u
#define PROGRESS_MS 250u
#define LINE_MAX_BYTES 1000u

/* A job that a tool runs. The loop uses it, and a worker in on_result(). */
struct mcp_call {
	struct mcp *mcp; /* the message; NULL: its client is gone */
	struct gateway *gateway;
	struct follow *follow;
	char job[64];
	bool sandbox;
	char *message;   /* owned: the message of an `error` event */
	json_t *result;  /* owned; the tool's result, after on_result() */
	uint64_t told_ms, told;
};

static void free_call(struct mcp_call *call)
{
	json_decref(call->result);
	free(call->message);
	free(call);
}

/* --- the end ------------------------------------------------------------ */

static int read_output(void *arg, const char *path, struct buf *out)
{
	struct mcp_call *call = arg;
	auto_buf struct buf full = { 0 };
	int r = buf_fmt(&full, "%s/output/%s", call->job, path);

	return r < 0 ? r : mount_read(&call->gateway->mount, full.data, out, NULL);
}

static void read_at(int fd, struct buf *out, off_t at, size_t len)
{
	ssize_t n = 1;

	if (buf_reserve(out, len + 1) < 0)
		return;
	while (n > 0 && len) {
		n = pread(fd, out->data + out->len, len, at);
		if (n > 0) {
			out->len += (size_t)n;
			at += n;
			len -= (size_t)n;
		}
	}
	out->data[out->len] = '\0';
}

/* Reads the whole stream, or as much of its beginning as of its end. */
static void read_stream(struct mcp_call *call, const char *name,
			struct mcp_stream *s)
{
	char path[96];
	auto_close int fd = -1;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", call->job, name);
	fd = mount_file(&call->gateway->mount, path, O_RDONLY, NULL);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	s->size = (uint64_t)st.st_size;
	if (s->size <= MCP_PART_MAX) {
		read_at(fd, &s->text, 0, (size_t)s->size);
		return;
	}
	read_at(fd, &s->text, 0, MCP_PART_MAX / 2);
	read_at(fd, &s->text, st.st_size - (off_t)MCP_PART_MAX / 2,
		MCP_PART_MAX / 2);
}

static void on_result(void *arg, json_t *result)
{
	struct mcp_call *call = arg;
	struct mcp_stream out = { 0 }, err = { 0 };

	read_stream(call, "stdout", &out);
	read_stream(call, "stderr", &err);
	call->result = mcp_result(&(struct mcp_end){
		.result = result, .out = &out, .err = &err,
		.message = call->message, .files = !call->sandbox,
		.read = read_output, .arg = call });
	buf_done(&out.text);
	buf_done(&err.text);
}

static void on_over(void *arg, int error)
{
	struct mcp_call *call = arg;
	struct mcp *m = call->mcp;
	json_t *reply;

	if (m) {
		reply = call->result ? mcp_reply(m, take_ptr(call->result))
				     : mcp_failure(m, error ? error : -EIO,
						   "the appliance lost the run");
		m->call = NULL;
		m->sink->reply(m->arg, reply);
	}
	free_call(call);
}

/* --- events ------------------------------------------------------------- */

static void tell_progress(struct mcp_call *call, const char *text, size_t len)
{
	struct mcp *m = call->mcp;
	uint64_t now = reactor_now_ms();
	size_t at;

	while (len && text[len - 1] == '\n')
		len--;
	for (at = len; at && text[at - 1] != '\n'; at--)
		;
	if (at == len || now - call->told_ms < PROGRESS_MS)
		return;
	len = len - at < LINE_MAX_BYTES ? len - at : LINE_MAX_BYTES;
	call->told_ms = now;
	m->sink->tell(m->arg, json_pack(
		"{s:s, s:s, s:{s:O, s:I, s:o}}", "jsonrpc", "2.0", "method",
		"notifications/progress", "params", "progressToken", m->token,
		"progress", (json_int_t)++call->told, "message",
		text_string(text + at, len)));
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct mcp_call *call = arg;
	const char *text;

	if (!strcmp(name, "error")) {
		text = text_shown(event, "message");
		free(call->message);
		call->message = text ? strdup(text) : NULL;
	} else if (call->mcp && call->mcp->token &&
		   (!strcmp(name, "stdout") || !strcmp(name, "stderr"))) {
		text = text_shown(event, "data");
		if (text)
			tell_progress(call, text, strlen(text));
	}
}

static const struct follow_ops follow_ops = { on_event, on_result, on_over };

void mcp_interrupt(struct mcp *m)
{
	if (m->call)
		follow_abandon(m->call->follow, PATIENCE_MS);
}

void mcp_abandon(struct mcp *m)
{
	struct mcp_call *call = m->call;

	m->call = NULL;
	if (!call)
		return;
	call->mcp = NULL;
	follow_abandon(call->follow, PATIENCE_MS);
}

/* --- start -------------------------------------------------------------- */

static enum mcp_state failed(struct mcp *m, int code, const char *sentence)
{
	m->status = 200;
	m->answer = mcp_failure(m, code, sentence);
	return MCP_REPLIED;
}

static enum mcp_state begin(struct mcp *m, json_t *config, json_t *files,
			    bool sandbox)
{
	struct mcp_call *call = calloc(1, sizeof(*call));
	struct err err = { 0 };
	int r;

	if (!call || !config) {
		free(call);
		return failed(m, -ENOMEM, "no memory for a run");
	}
	call->mcp = m;
	call->gateway = m->gateway;
	call->sandbox = sandbox;
	m->call = call;
	follow_new_name(sandbox ? NULL : m->caller.owner, call->job);
	r = follow_start(m->gateway, &(struct follow_job){
		.name = call->job, .config = config, .files = files,
		.owner = m->caller.owner, .hold = !sandbox, .ops = &follow_ops, .arg = call },
		&call->follow, &err);
	if (r == 0)
		return MCP_RUNS;
	m->call = NULL;
	free_call(call);
	return failed(m, r, err.text);
}

/* Writes files for a cell into its sandbox. */
static int put_files(struct mcp *m, const char *sandbox, const json_t *files,
		     struct err *err)
{
	const char *name;
	json_t *text;
	int r = 0;

	json_object_foreach((json_t *)(uintptr_t)files, name, text) {
		struct envd_path path;

		r = envd_locate(m->gateway, sandbox, name, true, &path, err);
		if (r == 0)
			r = envd_make_parents(m->gateway, &path, err);
		if (r == 0)
			r = mount_write(&m->gateway->mount, path.mount,
					json_string_value(text),
					json_string_length(text), err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the keys that all jobs have; without a sandbox also the size. */
static json_t *new_config(struct mcp *m, const json_t *arguments,
			  const char *sandbox)
{
	const struct options *o = &m->gateway->options;
	json_t *config = json_pack(
		"{s:I, s:s?}", "timeout",
		(json_int_t)mcp_number(arguments, "timeout", 30), "sandbox",
		sandbox);

	if (sandbox || !config) {
		if (config)
			json_object_set_new(config, "retain", json_integer(60));
		return config;
	}
	json_object_del(config, "sandbox");
	json_object_set_new(config, "environment",
			    json_string(gateway_environment(m->gateway)));
	json_object_set_new(config, "memory_mb",
			    json_integer((json_int_t)o->memory));
	json_object_set_new(config, "cpus", json_integer((json_int_t)o->cpus));
	egress_default(m->gateway, config);
	return config;
}

static void set_text(json_t *config, const char *name, const char *text)
{
	json_object_set_new(config, name, json_string(text));
}

enum mcp_state mcp_run_code(struct mcp *m, const json_t *arguments)
{
	const char *called = mcp_text(arguments, "sandbox");
	const char *language = mcp_text(arguments, "language");
	const struct lang *lang = lang_by_name(language ? language
							: langs[LANG_DEFAULT].name);
	json_t *files = json_object_get(arguments, "files");
	auto_json json_t *config = NULL;
	struct err err = { 0 };
	char sandbox[SANDBOX_NAME];
	int r = called ? mcp_open_sandbox(m, called, sandbox, &err) : 0;

	if (r == 0 && called && files)
		r = put_files(m, sandbox, files, &err);
	if (r < 0)
		return failed(m, r, err.text);
	config = new_config(m, arguments, called ? sandbox : NULL);
	if (config && lang) {
		set_text(config, "mode", "cell");
		set_text(config, "language", lang->name);
		json_object_set(config, "code", json_object_get(arguments, "code"));
		/* TypeScript runs in the session of the JavaScript interpreter */
		if (called)
			set_text(config, "session", lang_living(lang)->name);
	}
	return begin(m, config, called ? NULL : files, called);
}

enum mcp_state mcp_run_command(struct mcp *m, const json_t *arguments)
{
	const char *called = mcp_text(arguments, "sandbox");
	const char *cwd = mcp_text(arguments, "cwd");
	const char *command = mcp_text(arguments, "command");
	auto_json json_t *config = NULL;
	struct err err = { 0 };
	char sandbox[SANDBOX_NAME];
	int r = called ? mcp_open_sandbox(m, called, sandbox, &err) : 0;

	if (r < 0)
		return failed(m, r, err.text);
	config = new_config(m, arguments, called ? sandbox : NULL);
	if (config) {
		set_text(config, "mode", "command");
		json_object_set_new(config, "command", cwd && !called
			? json_pack("[s, s, s, s, s]", "/bin/bash", "-lc",
				    "cd -- \"$0\" && eval \"$1\"", cwd, command)
			: json_pack("[s, s, s]", "/bin/bash", "-lc", command));
		if (cwd && called)
			set_text(config, "cwd", cwd);
		if (json_object_get(arguments, "stdin"))
			json_object_set(config, "stdin",
					json_object_get(arguments, "stdin"));
	}
	return begin(m, config, NULL, called);
}
