/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command in a sandbox as a job, collects its output up to 8 MiB, and makes one
 * reply of it. A struct probe owns the output and is freed after the reply and the job's
 * end.
 *
 * No worker waits: the events come by follow.c. `digest` runs on a worker, before the
 * reply, for output that takes long to parse.
 */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/http/awaited.h"
#include "layout/base/cleanup.h"

#define PROBE_S 30
#define OUT_MAX (8u << 20)

struct probe {
	struct awaited awaited;
	char job[64];
	struct buf out;
	bool good; /* the probe has succeeded */
	probe_digest *digest; /* called on a worker before reply(); or NULL */
	probe_reply *reply;
	void *arg;
	void (*done)(void *arg);
};

static void free_probe(struct awaited *a)
{
	struct probe *p = container_of(a, struct probe, awaited);

	if (p->done)
		p->done(p->arg);
	buf_done(&p->out);
	free(p);
}

static void take_output(struct probe *p, const json_t *event)
{
	json_t *data = json_object_get(event, "data");
	const char *coded = text_member(event, "base64");

	if (coded)
		text_unbase64(&p->out, coded, strlen(coded));
	else
		buf_add(&p->out, json_string_value(data),
			json_string_length(data));
}

static void on_event(void *arg, const char *name, json_t *event)
{
	struct probe *p = arg;
	json_t *result = json_object_get(event, "result");
	json_t *code = json_object_get(result, "exit_code");

	if (!strcmp(name, "stdout"))
		take_output(p, event);
	else if (!strcmp(name, "result"))
		p->good = json_is_integer(code) && !json_integer_value(code);
}

static const char *output_of(const struct probe *p)
{
	return !p->good || p->out.failed ? NULL : p->out.data ? p->out.data : "";
}

/* On a worker. */
static void on_result(void *arg, json_t *result)
{
	struct probe *p = arg;

	(void)result;
	if (p->digest)
		p->digest(p->arg, output_of(p));
}

static void make_reply(struct awaited *a, struct request *r)
{
	struct probe *p = container_of(a, struct probe, awaited);

	p->reply(r, p->arg, output_of(p));
}

static void on_over(void *arg, int error)
{
	struct probe *p = arg;

	p->good = p->good && !error;
	awaited_over(&p->awaited);
}

static const struct follow_ops follow_ops = { on_event, on_result, on_over };
static const struct awaited_ops ops = { make_reply, free_probe };

void probe_start(struct request *r, json_t *words, probe_reply *reply, void *arg,
		 void (*done)(void *arg))
{
	probe_start_long(r, words, NULL, reply, arg, done);
}

void probe_start_long(struct request *r, json_t *words, probe_digest *digest,
		      probe_reply *reply, void *arg, void (*done)(void *arg))
{
	auto_json json_t *config = json_pack(
		"{s:s, s:s, s:o, s:i, s:i}", "sandbox", r->sandbox->name, "mode",
		"command", "command", words, "timeout", PROBE_S, "retain", 60);
	struct probe *p = config ? calloc(1, sizeof(*p)) : NULL;
	struct err err = { 0 };
	int code;

	if (!p) {
		if (done)
			done(arg);
		reply_failure(r, -ENOMEM, "no memory for a program");
		return;
	}
	*p = (struct probe){ .digest = digest, .reply = reply, .arg = arg, .done = done,
			     .out = { .cap = OUT_MAX } };
	follow_new_name(r->sandbox->name, p->job);
	code = awaited_start(&p->awaited, &ops, r, &(struct follow_job){
		.name = p->job, .config = config,
		.owner = text_member(r->sandbox->meta, "owner"),
		.ops = &follow_ops, .arg = p }, &err);
	if (code == 0)
		return;
	free_probe(&p->awaited);
	reply_failure(r, code, err.text);
}
