/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No worker waits for it. Its end may come on the loop before the handler has returned,
 * so the reply is made by whichever of on_begun() and on_over() comes last.
 */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "layout/base/cleanup.h"

#define PROBE_S 30
#define OUT_MAX (8u << 20)

struct probe {
	struct request *request; /* a reference; NULL: the client has gone */
	struct follow *follow;
	char job[64];
	struct buf out;
	bool good;               /* it has ended well */
	bool begun, over;
	probe_reply *reply;
	void *arg;
	void (*done)(void *arg);
};

static void free_probe(struct probe *p)
{
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

/* The reply is there, and the request is over. */
static void reply(struct probe *p)
{
	struct request *r = p->request;
	bool good = p->good && buf_add(&p->out, "", 1) == 0;

	p->request = NULL;
	r->state = NULL;
	p->reply(r, p->arg, good ? p->out.data : NULL);
	if (!p->begun) /* who has called on_begun() answers */
		return;
	request_answer(r);
	request_unref(r);
}

static void on_over(void *arg, int error)
{
	struct probe *p = arg;

	p->over = true;
	p->good = p->good && !error;
	if (!p->request) {
		free_probe(p);
	} else if (p->begun) {
		reply(p);
		free_probe(p);
	}
}

static const struct follow_ops follow_ops = { on_event, NULL, on_over };

static void on_begun(struct request *r)
{
	struct probe *p = r->state;

	if (p->over) {
		reply(p);
		request_unref(r); /* which is not the last */
		free_probe(p);
		return;
	}
	p->begun = true;
}

static void on_gone(struct request *r)
{
	struct probe *p = r->state;

	if (!p)
		return;
	r->state = NULL;
	p->request = NULL;
	if (p->over)
		free_probe(p);
	else
		follow_abandon(p->follow, 0);
	request_unref(r);
}

static const struct stream_ops ops = { .begun = on_begun, .gone = on_gone };

void probe_start(struct request *r, json_t *words, probe_reply *fn, void *arg,
		 void (*done)(void *arg))
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
	*p = (struct probe){ .request = request_ref(r), .reply = fn, .arg = arg,
			     .done = done, .out = { .cap = OUT_MAX } };
	follow_new_name(r->sandbox->name, p->job);
	r->state = p;
	reply_later(r, &ops);
	code = follow_start(r->gateway, &(struct follow_job){
		.name = p->job, .config = config,
		.owner = text_member(r->sandbox->meta, "owner"),
		.ops = &follow_ops, .arg = p }, &p->follow, &err);
	if (code == 0)
		return;
	r->later = false;
	r->ops = NULL;
	r->state = NULL;
	request_unref(r); /* which is not the last */
	free_probe(p);
	reply_failure(r, code, err.text);
}
