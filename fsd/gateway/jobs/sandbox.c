/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes sandboxes of the mount: config.json, with the clients' part
 * in "meta". Owns no state. On workers.
 */
#include "sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/base/text.h"
#include "layout/base/cleanup.h"

void sandbox_hash(const char *id, char ret[SANDBOX_NAME])
{
	uint8_t sum[SUM_SIZE];

	text_sum(id, strlen(id), sum);
	text_hex(sum, (SANDBOX_NAME - 1) / 2, ret);
}

const char *sandbox_path(const char *name, const char *rest, char room[128])
{
	int len = snprintf(room, 128, SANDBOXES "/%s%s%s", name,
			   *rest ? "/" : "", rest);

	if (len >= 128) /* a cut name could name another sandbox */
		*room = '\0';
	return room;
}

void sandbox_free(struct sandbox *s)
{
	if (s)
		json_decref(s->config);
	free(s);
}

int sandbox_of(const char *name, json_t *config, struct sandbox **ret,
	       struct err *err)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	const char *id;

	if (!s)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->config = json_incref(config);
	s->meta = json_object_get(s->config, "meta");
	id = text_member(s->meta, "id");
	s->token = text_member(s->meta, "token");
	s->token = s->token ? s->token : "";
	snprintf(s->id, sizeof(s->id), "%s", id ? id : "");
	*ret = s;
	return 0;
}

int sandbox_open_named(struct gateway *g, const char *name,
		       struct sandbox **ret, struct err *err)
{
	auto_json json_t *config = NULL;
	char path[128];
	int r = mount_json(&g->mount, sandbox_path(name, "config.json", path),
			   &config, err);

	return r < 0 ? r : sandbox_of(name, config, ret, err);
}

int sandbox_open(struct gateway *g, const char *id, struct sandbox **ret,
		 struct err *err)
{
	char name[SANDBOX_NAME];
	int r;

	sandbox_hash(id, name);
	r = sandbox_open_named(g, name, ret, err);
	/* another client has made it: not ours */
	if (r == 0 && strcmp((*ret)->id, id) != 0) {
		sandbox_free(*ret);
		*ret = NULL;
		return err_set(err, -ENOENT, "there is no such sandbox");
	}
	return r;
}

int sandbox_write(struct gateway *g, const char *name, json_t *config,
		  struct err *err)
{
	auto_free char *text = json_dumps(config, JSON_COMPACT);
	char path[128];

	if (!text)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	return mount_write(&g->mount, sandbox_path(name, "config.json", path),
			   text, strlen(text), err);
}

int sandbox_change(struct gateway *g, const char *id,
		   void (*fn)(json_t *meta, void *arg), void *arg,
		   struct err *err)
{
	struct sandbox *s = NULL;
	struct alone alone;
	int code;

	alone_begin(&g->alones, &alone, id);
	code = sandbox_open(g, id, &s, err);
	if (code == 0) {
		fn(s->meta, arg);
		code = sandbox_write(g, s->name, s->config, err);
	}
	alone_end(&alone);
	sandbox_free(s);
	return code;
}

int sandbox_line(struct gateway *g, const char *name, const char *file,
		 struct buf *ret)
{
	char path[128];

	return mount_line(&g->mount, sandbox_path(name, file, path), ret);
}

/* Returns whether the sandbox has asked for a machine already. name NULL: a job without
 * a sandbox, which has not. */
static bool has_asked(struct gateway *g, const char *name)
{
	auto_buf struct buf text = { 0 };

	return name && sandbox_line(g, name, "state", &text) == 0 && text.len &&
	       strcmp(text.data, "new") != 0;
}

int sandbox_check_machine(struct gateway *g, const char *name, struct err *err)
{
	auto_buf struct buf health = { 0 };

	if (has_asked(g, name) ||
	    mount_read(&g->mount, ".fsd/health", &health, NULL) < 0 ||
	    !health.len || strncmp(health.data, "full: ", 6) != 0 ||
	    !strstr(health.data, " and 0 in use; "))
		return 0; /* a machine in use may become free at any time: let the job wait */
	return err_set(err, -EDQUOT, "there is no machine for it: sandboxes have "
		       "all of them, idle and paused ones included; end one, or "
		       "wait until one ends");
}
