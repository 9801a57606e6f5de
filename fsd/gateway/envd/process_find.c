/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds commands among the mount's jobs, so that a restarted gateway knows all
 * of them. Owns no state. On workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "process.h"

void command_done(struct command *c)
{
	json_decref(c->config);
	json_decref(c->result);
	fd_close(&c->events);
}

json_int_t command_pid(const json_t *event)
{
	return json_integer_value(json_object_get(event, "pid"));
}

static void take_event(struct command *c, const char *line, size_t len)
{
	auto_json json_t *event = text_event(line, len);
	const char *name = text_member(event, "event");
	const char *state = text_member(event, "state");
	json_t *result = json_object_get(event, "result");

	if (!name)
		return;
	if (!strcmp(name, "state") && state && !strcmp(state, "running"))
		c->pid = command_pid(event);
	if (!strcmp(name, "result") && json_is_object(result))
		c->result = json_incref(result);
	c->ended |= !strcmp(name, "end");
}

/* Reads all events that exist, or those up to the program's start. Does not
 * parse the output in between. */
static int read_events(struct command *c, bool all)
{
	auto_buf struct buf text = { .cap = 2u << 20 };

	while (all || !c->pid) {
		ssize_t n;
		size_t at = 0;
		char *end;

		if (buf_reserve(&text, 65536) < 0)
			return -ENOMEM;
		n = read(c->events, text.data + text.len, 65536);
		if (n == 0 || (n < 0 && errno == EAGAIN))
			return 0;
		if (n < 0)
			return -errno;
		text.len += (size_t)n;
		while ((end = memchr(text.data + at, '\n', text.len - at))) {
			size_t len = (size_t)(end - text.data) - at;
			const char *line = text.data + at;

			if (!memmem(line, MIN(len, 80u), "\"std", 4))
				take_event(c, line, len);
			at += len + 1;
		}
		buf_eat(&text, at);
	}
	return 0;
}

static bool has_ended(struct gateway *g, const char *job)
{
	auto_buf struct buf text = { 0 };
	char path[96];

	snprintf(path, sizeof(path), "%s/state", job);
	return mount_line(&g->mount, path, &text) < 0 || !text.len ||
	       !strcmp(text.data, "done");
}

/* Reads a command. all: with its result, and its events up to their present
 * end. */
static int open_command(struct gateway *g, const char *job, bool all,
			struct command *c)
{
	char path[96];
	int r;

	*c = (struct command){ .events = -1 };
	snprintf(c->job, sizeof(c->job), "%s", job);
	snprintf(path, sizeof(path), "%s/config.json", job);
	r = mount_json(&g->mount, path, &c->config, NULL);
	snprintf(path, sizeof(path), "%s/events", job);
	if (r == 0)
		r = c->events = mount_file(&g->mount, path,
					   O_RDONLY | O_NONBLOCK, NULL);
	if (r >= 0)
		r = read_events(c, all);
	if (r < 0)
		command_done(c);
	return r;
}

struct look {
	struct request *request;
	char prefix[32];
	const json_t *pid, *tag; /* pid or tag of the wanted command */
	struct command *found;
	bool all; /* the argument `all` of open_command() */
	void (*fn)(void *arg, struct command *c);
	void *arg;
};

static bool is_it(const struct look *look, const struct command *c)
{
	const char *tag = command_tag(c);

	if (look->pid)
		return c->pid && c->pid == json_integer_value(look->pid);
	return tag && !strcmp(tag, json_string_value(look->tag));
}

static int look_at(void *arg, const char *name)
{
	struct look *look = arg;
	struct gateway *g = look->request->gateway;
	struct command c;
	bool found;

	if (strncmp(name, look->prefix, strlen(look->prefix)) != 0 ||
	    strlen(name) >= sizeof(c.job) ||
	    (look->fn && has_ended(g, name)) ||
	    open_command(g, name, false, &c) < 0)
		return 0;
	if (look->fn && c.pid)
		look->fn(look->arg, &c);
	found = look->found && is_it(look, &c);
	command_done(&c);
	if (!found || open_command(g, name, look->all, look->found) < 0)
		return 0;
	if (!look->all)
		look->found->ended = has_ended(g, name);
	return -ECANCELED;
}

static int look_through(struct look *look, struct err *err)
{
	struct request *r = look->request;

	snprintf(look->prefix, sizeof(look->prefix), "gw.%s.p.",
		 r->sandbox->name);
	return mount_list(&r->gateway->mount, ".", look_at, look, err);
}

int command_each(struct request *r, void (*fn)(void *arg, struct command *c),
		 void *arg, struct err *err)
{
	struct look look = { .request = r, .fn = fn, .arg = arg };

	return look_through(&look, err);
}

bool command_find(struct request *r, const json_t *selector, bool all,
		  struct command *ret)
{
	struct look look = { .request = r, .found = ret, .all = all };
	struct err err = { 0 };
	int code;

	look.pid = json_object_get(selector, "pid");
	look.tag = json_object_get(selector, "tag");
	if (!json_is_integer(look.pid))
		look.pid = NULL;
	if (!look.pid && !json_is_string(look.tag)) {
		reply_connect(r, "invalid_argument", "process: it is {\"pid\": "
			      "N} or {\"tag\": \"NAME\"}");
		return false;
	}
	code = look_through(&look, &err);
	if (code == -ECANCELED)
		return true;
	if (code < 0)
		reply_failure(r, code, err.text);
	else if (look.pid)
		reply_connect(r, "not_found", "process with pid %lld not found",
			      (long long)json_integer_value(look.pid));
	else
		reply_connect(r, "not_found", "process with tag '%.100s' not "
			      "found", json_string_value(look.tag));
	return false;
}

const char *command_tag(const struct command *c)
{
	return text_member(json_object_get(c->config, "note"), "tag");
}

/* Adds "NAME=VALUE", which env(1) sets. */
static void add_variable(json_t *env, const char *word)
{
	const char *value = word ? strchr(word, '=') : NULL;
	auto_free char *name = value ? strndup(word, (size_t)(value - word)) : NULL;

	if (name)
		json_object_set_new(env, name, json_string(value + 1));
}

json_t *command_show(const struct command *c)
{
	json_t *words = json_object_get(c->config, "command");
	json_t *skip = json_object_get(json_object_get(c->config, "note"), "skip");
	json_t *env = json_object_get(c->config, "env");
	size_t first = (size_t)json_integer_value(skip);
	const char *cmd = json_string_value(json_array_get(words, first));
	const char *cwd = text_member(c->config, "cwd");
	json_t *args = json_array();
	json_t *json;

	env = env ? json_copy(env) : json_object();
	for (size_t i = 1; i < first; i++)
		add_variable(env, json_string_value(json_array_get(words, i)));
	for (size_t i = first + 1; i < json_array_size(words); i++)
		json_array_append(args, json_array_get(words, i));
	json = json_pack("{s:s, s:o, s:o}", "cmd", cmd ? cmd : "", "args", args,
			 "envs", env);
	json_object_set_new(json, "cwd", json_string(cwd ? cwd : "/home/user"));
	return json;
}
