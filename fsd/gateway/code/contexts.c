/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: they are listed in the sandbox's "meta". The two that clients
 * expect from the start have ids computed from the sandbox's id, so they need
 * no entry. On workers.
 */
#include <errno.h>
#include <string.h>

#include "code.h"
#include "layout/base/cleanup.h"
#include "layout/lang.h"
#include "running.h"

#define HOME "/home/user"

const char *code_language(const char *name)
{
	const struct lang *lang = lang_by_alias(name);

	return lang ? lang_living(lang)->name : NULL;
}

/* A UUID of version 4, from any 16 bytes. */
static void make_uuid(const uint8_t bytes[16], char ret[CONTEXT_ID])
{
	char hex[33];

	text_hex(bytes, 16, hex);
	hex[12] = '4';
	hex[16] = "89ab"[bytes[8] & 3];
	snprintf(ret, CONTEXT_ID, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		 hex + 12, hex + 16, hex + 20);
}

void context_default(const struct sandbox *s, const char *language,
		     struct context *ret)
{
	uint8_t sum[SUM_SIZE];
	char text[96];

	snprintf(text, sizeof(text), "%s:%s", s->id, language);
	text_sum(text, strlen(text), sum);
	make_uuid(sum, ret->id);
	snprintf(ret->language, sizeof(ret->language), "%s", language);
	snprintf(ret->cwd, sizeof(ret->cwd), HOME);
}

static bool take_context(const json_t *json, struct context *ret)
{
	const char *id = text_member(json, "id");
	const char *language = text_member(json, "language");
	const char *cwd = text_member(json, "cwd");

	if (!id || !language || !cwd || strlen(id) >= CONTEXT_ID)
		return false;
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	snprintf(ret->language, sizeof(ret->language), "%s", language);
	snprintf(ret->cwd, sizeof(ret->cwd), "%s", cwd);
	return true;
}

bool context_find(const struct sandbox *s, const char *id, struct context *ret)
{
	json_t *contexts = json_object_get(s->meta, "contexts"), *one;
	json_t *gone = json_object_get(s->meta, "gone");
	size_t i;

	for (i = 0; i < LANG_MAX; i++) {
		if (langs[i].lives_as != langs[i].id)
			continue;
		context_default(s, langs[i].name, ret);
		if (!strcmp(ret->id, id))
			return !json_object_get(gone, id);
	}
	json_array_foreach(contexts, i, one)
		if (take_context(one, ret) && !strcmp(ret->id, id))
			return true;
	return false;
}

void get_code_health(struct request *r)
{
	reply_json(r, 200, json_string("OK"));
}

static json_t *show(const struct context *c)
{
	return json_pack("{s:s, s:s, s:s}", "id", c->id, "language",
			 c->language, "cwd", c->cwd);
}

void get_contexts(struct request *r)
{
	/* E2B's clients expect these two contexts in each sandbox */
	static const enum lang_id expected[] = { LANG_PYTHON, LANG_JAVASCRIPT };
	json_t *all = json_array(), *one;
	struct context c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		context_default(r->sandbox, langs[expected[i]].name, &c);
		json_array_append_new(all, show(&c));
	}
	json_array_foreach(json_object_get(r->sandbox->meta, "contexts"), i, one)
		if (take_context(one, &c))
			json_array_append_new(all, show(&c));
	reply_json(r, 200, all);
}

/* --- changing them ----------------------------------------------------------------- */

static json_t *contexts_of(json_t *meta)
{
	json_t *contexts = json_object_get(meta, "contexts");

	if (contexts)
		return contexts;
	json_object_set_new(meta, "contexts", json_array());
	return json_object_get(meta, "contexts");
}

static void add(json_t *meta, void *context)
{
	json_array_append_new(contexts_of(meta), show(context));
}

static void drop(json_t *meta, void *context)
{
	json_t *contexts = contexts_of(meta), *one;
	const struct context *c = context;
	size_t i;

	json_array_foreach(contexts, i, one) {
		const char *id = text_member(one, "id");

		if (id && !strcmp(id, c->id)) {
			json_array_remove(contexts, i);
			return;
		}
	}
}

void post_contexts(struct request *r)
{
	auto_json json_t *body = NULL;
	const char *language, *cwd;
	struct context c = { 0 };
	struct err err = { 0 };
	char random[SANDBOX_ID + 1];
	uint8_t sum[SUM_SIZE];
	int code;

	if (request_json(r, &body) < 0)
		return;
	language = text_member(body, "language");
	language = code_language(language && *language
					 ? language : langs[LANG_DEFAULT].name);
	cwd = text_member(body, "cwd");
	cwd = cwd && *cwd ? cwd : HOME;
	if (!language) {
		reply_error(r, 400, "there is no such language; there are %s",
			    lang_names_sentence().text);
		return;
	}
	if (strlen(cwd) >= sizeof(c.cwd)) {
		reply_error(r, 400, "cwd is longer than %zu bytes",
			    sizeof(c.cwd) - 1);
		return;
	}
	code = text_random(random, SANDBOX_ID);
	text_sum(random, sizeof(random), sum);
	make_uuid(sum, c.id);
	snprintf(c.language, sizeof(c.language), "%s", language);
	snprintf(c.cwd, sizeof(c.cwd), "%s", cwd);
	if (code == 0)
		code = sandbox_change(r->gateway, r->sandbox->id, add, &c,
				      &err);
	if (code < 0)
		reply_failure(r, code, err.text);
	else
		reply_json(r, 200, show(&c));
}

/* Ends the context's interpreter, if it was started. */
static int end_session(struct request *r, const char *id, struct err *err)
{
	char path[160];
	int code;

	snprintf(path, sizeof(path), SANDBOXES "/%s/sessions/%s",
		 r->sandbox->name, id);
	code = mount_rmdir(&r->gateway->mount, path, err);
	return code == -ENOENT ? 0 : code;
}

static bool find_part(struct request *r, struct context *c)
{
	if (context_find(r->sandbox, r->part[0], c))
		return true;
	reply_error(r, 404, "Context %.64s not found", r->part[0]);
	return false;
}

/* Ends the context's interpreter, and forgets the context if `forget`. */
static void end_context(struct request *r, bool forget)
{
	struct err err = { 0 };
	struct context c;
	int code;

	if (!find_part(r, &c))
		return;
	running_restart(r->gateway, c.id);
	code = end_session(r, c.id, &err);
	if (code == 0 && forget)
		code = sandbox_change(r->gateway, r->sandbox->id, drop, &c,
				      &err);
	if (code < 0)
		reply_failure(r, code, err.text);
	else
		reply_json(r, 200, json_null());
}

void restart_context(struct request *r)
{
	end_context(r, false);
}

void delete_context(struct request *r)
{
	end_context(r, true);
}
