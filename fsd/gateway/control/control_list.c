/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /sandboxes: lists the caller's sandboxes, filtered, sorted, in pages.
 * Owns no state. On workers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "layout/base/cleanup.h"

#define PAGE 100u

struct item {
	int64_t started;
	char id[64];
	json_t *json; /* owned */
};

struct list_call {
	struct request *request;
	json_t *metadata; /* metadata that must match, or NULL */
	int64_t after;
	const char *template, *states;
	struct item *item;
	size_t count, room;
};

/* Returns whether a word is in a list with commas. */
static bool is_among(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (*words) {
		size_t n = strcspn(words, ",");

		if (n == len && !memcmp(words, word, n))
			return true;
		words += n + (words[n] == ',');
	}
	return false;
}

static bool has_metadata(const json_t *has, const json_t *wanted)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)wanted, name, value)
		if (!json_equal(json_object_get(has, name), value))
			return false;
	return true;
}

static bool is_wanted(const struct list_call *call, const struct sandbox *s,
		      int64_t started)
{
	const char *owner = text_member(s->meta, "owner");
	const char *template = text_member(s->meta, "template");

	return owner && !strcmp(owner, call->request->caller.owner) &&
	       started >= call->after &&
	       (!call->template ||
		(template && !strcmp(template, call->template))) &&
	       has_metadata(json_object_get(s->meta, "metadata"), call->metadata);
}

static int add_item(struct list_call *call, json_t *json, const char *id,
		    int64_t started)
{
	struct item *more;

	if (call->count == call->room) {
		call->room = call->room ? 2 * call->room : 64;
		more = reallocarray(call->item, call->room, sizeof(*more));
		if (!more) {
			json_decref(json);
			return -ENOMEM;
		}
		call->item = more;
	}
	more = &call->item[call->count++];
	more->started = started;
	more->json = json;
	snprintf(more->id, sizeof(more->id), "%s", id);
	return 0;
}

static int look_at(void *arg, const char *name)
{
	struct list_call *call = arg;
	struct gateway *g = call->request->gateway;
	struct sandbox *s = NULL;
	json_t *json = NULL;
	int64_t started;
	int r = 0;

	if (strlen(name) >= SANDBOX_NAME ||
	    sandbox_open_named(g, name, &s, NULL) < 0)
		return 0;
	started = json_integer_value(json_object_get(s->meta, "started"));
	if (*s->id && is_wanted(call, s, started))
		json = control_show(g, s);
	if (json && call->states &&
	    !is_among(call->states, text_member(json, "state"))) {
		json_decref(json);
		json = NULL;
	}
	if (json)
		r = add_item(call, json, s->id, started);
	sandbox_free(s);
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->started != y->started)
		return x->started < y->started ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* Parses "a=b&c=d": encoded as a query, and each text once more. */
static json_t *read_metadata(const char *text)
{
	auto_free char *copy = strdup(text);
	json_t *json = json_object();
	char *pair = copy;

	while (pair && *pair) {
		char *next = strchr(pair, '&'), *value = strchr(pair, '=');

		if (next)
			*next++ = '\0';
		if (!value || (next && value > next)) {
			json_decref(json);
			return NULL;
		}
		*value++ = '\0';
		if (target_decode(pair, 1) < 0 || target_decode(pair, 0) < 0 ||
		    target_decode(value, 1) < 0 || target_decode(value, 0) < 0 ||
		    json_object_set_new(json, pair, json_string(value)) < 0) {
			json_decref(json);
			return NULL;
		}
		pair = next;
	}
	return json;
}

/*
 * Finds the beginning of the page after the item named by a token, "TIME.ID".
 */
static size_t find_start(const struct list_call *call, const char *token,
			 bool newest)
{
	struct item key = { .started = strtoll(token, NULL, 10) };
	const char *dot = strchr(token, '.');
	size_t at = 0;

	snprintf(key.id, sizeof(key.id), "%s", dot ? dot + 1 : "");
	while (at < call->count) {
		const struct item *i =
			&call->item[newest ? call->count - 1 - at : at];
		int order = by_time(i, &key);

		if (newest ? order < 0 : order > 0)
			break;
		at++;
	}
	return at;
}

static void reply_page(struct list_call *call, size_t limit, bool newest)
{
	struct request *r = call->request;
	const char *token = request_query(r, "nextToken");
	size_t at = token ? find_start(call, token, newest) : 0;
	json_t *page = json_array();
	const struct item *last = NULL;

	for (size_t n = 0; n < limit && at < call->count; n++, at++) {
		last = &call->item[newest ? call->count - 1 - at : at];
		json_array_append(page, last->json);
	}
	if (last && at < call->count) {
		char next[96];

		snprintf(next, sizeof(next), "%lld.%s",
			 (long long)last->started, last->id);
		reply_json(r, 200, page);
		reply_header(r, "X-Next-Token", next);
		return;
	}
	reply_json(r, 200, page);
}

static bool take_queries(struct list_call *call, uint64_t *limit)
{
	struct request *r = call->request;
	const char *metadata = request_query(r, "metadata");
	const char *after = request_query(r, "startedAfter");
	const char *text = request_query(r, "limit");

	call->template = request_query(r, "template");
	call->states = request_query(r, "state");
	if (call->states && !*call->states)
		call->states = NULL;
	call->metadata = metadata && *metadata ? read_metadata(metadata) : NULL;
	call->after = after && *after ? text_untime(after) : 0;
	if (metadata && *metadata && !call->metadata)
		reply_error(r, 400, "metadata: it is pairs such as a=b&c=d");
	else if (call->after < 0)
		reply_error(r, 400, "startedAfter: it is a time such as "
			    "2026-01-02T03:04:05Z");
	else if (text && parse_u64(text, 1, PAGE, limit) < 0)
		reply_error(r, 400, "limit: it is a number from 1 to %u", PAGE);
	else
		return true;
	return false;
}

void get_sandboxes(struct request *r)
{
	struct list_call call = { .request = r };
	const char *order = request_query(r, "order");
	struct err err = { 0 };
	uint64_t limit = PAGE;
	int code;

	if (take_queries(&call, &limit)) {
		code = mount_list(&r->gateway->mount, SANDBOXES, look_at, &call,
				  &err);
		if (call.count)
			qsort(call.item, call.count, sizeof(*call.item),
			      by_time);
		if (code < 0)
			reply_failure(r, code, err.text);
		else
			reply_page(&call, limit,
				   !order || strcmp(order, "asc") != 0);
	}
	for (size_t i = 0; i < call.count; i++)
		json_decref(call.item[i].json);
	free(call.item);
	json_decref(call.metadata);
}
