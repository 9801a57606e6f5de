/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes of E2B, each a sandbox of the mount. Its "meta" holds what only
 * clients know (the id, the token, their metadata), so that a restarted gateway
 * finds it there. Owns no state. On workers.
 */
#include "control.h"
#include "egress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/env.h"

/* a later version would send attributes of files */
#define ENVD_VERSION "0.6.1"
#define DISK_MB 10240

/* --- what is known of a sandbox -------------------------------------------------------- */

const char *control_state(struct gateway *g, const struct sandbox *s)
{
	auto_buf struct buf text = { 0 };

	if (sandbox_line(g, s->name, "state", &text) < 0 || !text.len ||
	    !strcmp(text.data, "lost"))
		return NULL;
	return !strcmp(text.data, "paused") ? "paused" : "running";
}

bool control_has_machine(struct gateway *g, const struct sandbox *s)
{
	auto_buf struct buf text = { 0 };

	return sandbox_line(g, s->name, "state", &text) == 0 &&
	       (!strcmp(text.data, "idle") || !strcmp(text.data, "busy"));
}

int64_t control_end(struct gateway *g, const struct sandbox *s)
{
	auto_buf struct buf text = { 0 };
	int64_t end;

	if (sandbox_line(g, s->name, "until", &text) < 0)
		return -1;
	end = text.len ? text_untime(text.data) : 0;
	return end < 0 ? 0 : end;
}

static json_t *or_null(json_t *json)
{
	return json ? json_incref(json) : json_null();
}

static int64_t integer_of(const json_t *object, const char *name, int64_t other)
{
	const json_t *number = json_object_get(object, name);

	return json_is_integer(number) ? json_integer_value(number) : other;
}

json_t *control_show(struct gateway *g, const struct sandbox *s)
{
	const char *state = control_state(g, s);
	int64_t end = state ? control_end(g, s) : -1;
	char started[32], ends[32];

	if (end < 0)
		return NULL;
	text_time(integer_of(s->meta, "started", 0), started);
	text_time(end ? end : INT64_C(253402300799000), ends);
	return json_pack(
		"{s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:s, s:o, "
		"s:[]}",
		"templateID", or_null(json_object_get(s->meta, "template")),
		"alias", or_null(json_object_get(s->meta, "template")),
		"sandboxID", s->id, "clientID", "fsd", "startedAt", started,
		"endAt", ends, "state", state, "cpuCount",
		(json_int_t)integer_of(s->config, "cpus", 1), "memoryMB",
		(json_int_t)integer_of(s->config, "memory_mb", 512),
		"diskSizeMB", DISK_MB, "envdVersion", ENVD_VERSION, "metadata",
		or_null(json_object_get(s->meta, "metadata")), "volumeMounts");
}

/*
 * Returns the domain below which the client reaches ports of sandboxes; NULL: it is not
 * known. Without --domain it is localhost, with the port by which the client has come: a
 * tunnel may have another port than the gateway.
 */
static const char *domain_of(const struct request *r, char room[32])
{
	unsigned port = 80;

	if (r->gateway->options.domain || r->gateway->options.ports == PORTS_NO ||
	    !host_is_loopback(request_header(r, "Host"), &port))
		return r->gateway->options.domain;
	snprintf(room, 32, "localhost:%u", port);
	return room;
}

json_t *control_show_access(const struct request *r)
{
	const struct sandbox *s = r->sandbox;
	char room[32];
	const char *domain = domain_of(r, room);
	json_t *traffic = json_object_get(s->meta, "traffic");
	json_t *json = json_pack(
		"{s:o, s:o, s:s, s:s, s:s, s:s, s:s?}", "templateID",
		or_null(json_object_get(s->meta, "template")), "alias",
		or_null(json_object_get(s->meta, "template")), "sandboxID",
		s->id, "clientID", "fsd", "envdVersion", ENVD_VERSION,
		"envdAccessToken", s->token, "domain", domain);

	if (traffic)
		json_object_set(json, "trafficAccessToken", traffic);
	return json;
}

/* Returns whether the control plane shows the debug sandbox: only without keys, when all
 * clients may do what --debug-ports allows. */
static bool has_debug(const struct gateway *g)
{
	return g->options.debug_ports && !g->keys.file;
}

bool control_guard(struct request *r)
{
	struct err err = { 0 };
	const char *id = r->part[0], *owner;
	bool debug = !strcmp(id, SANDBOX_DEBUG);
	int code = !debug ? sandbox_open(r->gateway, id, &r->sandbox, &err)
		   : has_debug(r->gateway)
			   ? control_open_debug(r->gateway, id, &r->sandbox, &err)
			   : -ENOENT;

	snprintf(r->sandbox_id, sizeof(r->sandbox_id), "%s", id);
	if (code < 0 && code != -ENOENT && code != -ENODATA) {
		reply_failure(r, code, err.text);
		return false;
	}
	owner = code == 0 ? text_member(r->sandbox->meta, "owner") : NULL;
	if (owner && !strcmp(owner, r->caller.owner))
		return true;
	reply_error(r, 404, "sandbox \"%.64s\" was not found", id);
	return false;
}

/* --- making one --------------------------------------------------------------------- */

/* Returns whether the mount has an environment of this name. */
static bool is_environment(const struct gateway *g, const char *name)
{
	char path[128];
	int fd;

	if (!*name || strlen(name) > 64 || strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), ".fsd/templates/%s/abi", name);
	fd = mount_file(&g->mount, path, O_PATH, NULL);
	if (fd < 0)
		return false;
	fd_close(&fd);
	return true;
}

const char *gateway_environment(const struct gateway *g)
{
	const char *given = g->options.environment;

	return given ? given : is_environment(g, "data") ? "data" : "base";
}

/* Returns whether a template of that name may be used: one of E2B's own, or one
 * named by --template; both stand for the gateway's environment. */
static bool is_template(const struct gateway *g, const char *name)
{
	static const char *const stock[] = {
		"base", "code-interpreter", "code-interpreter-v1",
		"code-interpreter-beta", "code-interpreter-stateful",
	};

	for (size_t i = 0; i < ARRAY_SIZE(stock); i++)
		if (!strcmp(stock[i], name))
			return true;
	for (unsigned i = 0; i < g->options.sizes; i++)
		if (!strcmp(g->options.size[i].name, name))
			return true;
	return is_environment(g, name);
}

static void set_size(struct gateway *g, const char *template, json_t *config)
{
	const struct options *o = &g->options;
	uint64_t memory = o->memory, cpus = o->cpus;

	for (unsigned i = 0; i < o->sizes; i++)
		if (!strcmp(o->size[i].name, template)) {
			memory = o->size[i].memory_mb;
			cpus = o->size[i].cpus ? o->size[i].cpus : o->cpus;
		}
	json_object_set_new(config, "memory_mb",
			    json_integer((json_int_t)memory));
	json_object_set_new(config, "cpus", json_integer((json_int_t)cpus));
}

/* Sets the parts of config that follow from the template. */
static void set_up(struct gateway *g, const char *template, json_t *config)
{
	json_object_set_new(config, "environment",
			    json_string(is_environment(g, template)
						? template
						: gateway_environment(g)));
	set_size(g, template, config);
	json_object_set_new(config, "idle",
			    json_integer((json_int_t)g->options.idle));
	json_object_set_new(config, "pause_life",
			    json_integer((json_int_t)g->options.max_life));
}

/* Makes the sandbox. ret may be NULL. */
static int make(struct gateway *g, const char *name, json_t *config,
		struct sandbox **ret, struct err *err)
{
	char path[128];
	int r = mount_mkdir(&g->mount, sandbox_path(name, "", path), err);

	if (r < 0)
		return r;
	r = sandbox_write(g, name, config, err);
	if (r == 0 && ret)
		r = sandbox_of(name, config, ret, err);
	if (r < 0) {
		crew_clears_up();
		mount_rmdir(&g->mount, path, NULL);
	}
	return r;
}

int control_make_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err)
{
	auto_json json_t *config = json_pack(
		"{s:I, s:{s:s, s:s, s:s, s:s, s:s, s:{}, s:I}}", "life",
		(json_int_t)g->options.life, "meta", "id", id, "token", "",
		"template", gateway_environment(g), "owner", "", "label", "", "metadata",
		"started", (json_int_t)text_now_ms());
	char name[SANDBOX_NAME];

	if (!config)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	set_up(g, gateway_environment(g), config);
	egress_default(g, config);
	sandbox_hash(id, name);
	return make(g, name, config, ret, err);
}

int control_open_debug(struct gateway *g, const char *id, struct sandbox **ret,
		       struct err *err)
{
	char name[SANDBOX_NAME], path[128];
	int r = sandbox_open(g, id, ret, err);

	if (r == 0 && !control_state(g, *ret)) { /* the sandbox's machine has died */
		sandbox_free(*ret);
		*ret = NULL;
		sandbox_hash(id, name);
		mount_rmdir(&g->mount, sandbox_path(name, "", path), NULL);
		r = -ENOENT;
	}
	if (r != -ENOENT)
		return r;
	r = control_make_debug(g, id, ret, err);
	/* another request may have made it at the same time */
	return r == -EEXIST ? sandbox_open(g, id, ret, err) : r;
}

/* Counts all sandboxes of the mount, and those of one owner. */
struct count {
	struct gateway *gateway;
	const char *owner;
	uint64_t all, own;
};

static int count_all(void *arg, const char *name)
{
	struct count *c = arg;

	(void)name;
	c->all++;
	return 0;
}

static int count_own(void *arg, const char *name)
{
	struct count *c = arg;
	struct sandbox *s = NULL;
	const char *owner;

	if (strlen(name) >= SANDBOX_NAME ||
	    sandbox_open_named(c->gateway, name, &s, NULL) < 0)
		return 0;
	owner = text_member(s->meta, "owner");
	c->own += owner && !strcmp(owner, c->owner);
	sandbox_free(s);
	return 0;
}

static int has_room(struct gateway *g, const char *owner, struct err *err)
{
	uint64_t most = g->options.max_sandboxes;
	struct count c = { .gateway = g, .owner = owner };
	int r = mount_list(&g->mount, SANDBOXES, count_all, &c, err);

	if (r == 0 && c.all >= most)
		r = mount_list(&g->mount, SANDBOXES, count_own, &c, err);
	if (r < 0 || c.own < most)
		return r;
	return err_set(err, -EDQUOT, "there are %llu sandboxes of this key, as "
		       "many as --max-sandboxes allows; end one",
		       (unsigned long long)c.own);
}

int control_make(struct gateway *g, const char *owner, const char *name,
		 json_t *config, struct sandbox **ret, struct err *err)
{
	struct alone alone;
	int r;

	/* take the lock, so that two requests of one owner are not counted at the same
	 * time */
	alone_begin(&g->alones, &alone, owner);
	r = has_room(g, owner, err);
	if (r == 0)
		r = make(g, name, config, ret, err);
	alone_end(&alone);
	return r;
}

/* Refuses members that the gateway cannot fulfil. */
static bool refuse_members(struct request *r, const json_t *body)
{
	const json_t *volumes = json_object_get(body, "volumeMounts");
	const json_t *mcp = json_object_get(body, "mcp");
	const json_t *iam = json_object_get(body, "iam");

	if (json_array_size(volumes) || json_object_size(volumes))
		reply_error(r, 400, "volumeMounts: volumes are not available "
			    "in fsd");
	else if (mcp && !json_is_null(mcp))
		reply_error(r, 400, "mcp: start `fsd mcp` on the host instead");
	else if (iam && !json_is_null(iam))
		reply_error(r, 400, "iam: it is not available in fsd");
	else
		return false;
	return true;
}

uint64_t control_life(struct request *r, const json_t *body, const char *name,
		      uint64_t other)
{
	const struct options *o = &r->gateway->options;
	const json_t *number = json_object_get(body, name);
	double life = json_is_number(number) ? json_number_value(number)
					     : (double)other;

	if (life >= 1 && life <= (double)o->max_life &&
	    (!number || json_is_number(number) || json_is_null(number)))
		return (uint64_t)life;
	reply_error(r, 400, "%s: it is a number of seconds from 1 to %llu", name,
		    (unsigned long long)o->max_life);
	return 0;
}

/* Splits the variables. Those that config.json of a sandbox may not have (LD_PRELOAD and
 * such, env_is_hijack()) go into meta: each command gets them by env(1), each cell in its
 * job's "env". */
static bool take_env(struct request *r, const json_t *body, json_t *config,
		     json_t *meta)
{
	json_t *given = json_object_get(body, "envVars"), *value;
	json_t *env = json_object(), *kept = json_object();
	const char *name;
	bool good = !given || json_is_null(given) || text_are_strings(given);

	if (good)
		json_object_foreach(given, name, value)
			json_object_set(env_is_hijack(name) ? kept : env, name,
					value);
	else
		reply_error(r, 400, "envVars: it is an object of strings");
	json_object_set_new(config, "env", env);
	json_object_set_new(meta, "env", kept);
	return good;
}

static bool take_metadata(struct request *r, const json_t *body, json_t *meta)
{
	json_t *given = json_object_get(body, "metadata");

	if (given && !json_is_null(given) && !text_are_strings(given)) {
		reply_error(r, 400, "metadata: it is an object of strings");
		return false;
	}
	json_object_set_new(meta, "metadata",
			    json_is_object(given) ? json_incref(given)
						  : json_object());
	return true;
}

/* Fills the rest of meta. Return: 0 or negative errno. */
static int make_meta(struct request *r, const json_t *body, const char *id,
		     const char *template, json_t *meta)
{
	char token[SANDBOX_TOKEN + 1], traffic[SANDBOX_TOKEN + 1];
	json_t *public = json_object_get(json_object_get(body, "network"),
					 "allowPublicTraffic");
	json_t *resume = json_object_get(body, "autoResume");
	int code = text_random(token, SANDBOX_TOKEN);

	code = code < 0 ? code : text_random(traffic, SANDBOX_TOKEN);
	if (code < 0)
		return code;
	json_object_set_new(meta, "id", json_string(id));
	json_object_set_new(meta, "token", json_string(token));
	json_object_set_new(meta, "template", json_string(template));
	json_object_set_new(meta, "owner", json_string(r->caller.owner));
	json_object_set_new(meta, "label", json_string(r->caller.label));
	json_object_set_new(meta, "started", json_integer(text_now_ms()));
	if (json_is_false(public) || r->gateway->options.ports == PORTS_TOKEN)
		json_object_set_new(meta, "traffic", json_string(traffic));
	if (!json_is_false(public))
		json_object_set_new(meta, "ports_only", json_true());
	if (json_is_true(json_object_get(resume, "enabled")))
		json_object_set_new(meta, "resumes", json_true());
	return 0;
}

/* Adds variables by which programs find out that they are in a sandbox, and in
 * which. */
static void tell_programs(json_t *env, const char *id)
{
	if (!json_object_get(env, "E2B_SANDBOX"))
		json_object_set_new(env, "E2B_SANDBOX", json_string("true"));
	if (!json_object_get(env, "E2B_SANDBOX_ID"))
		json_object_set_new(env, "E2B_SANDBOX_ID", json_string(id));
}

static void make_one(struct request *r, const json_t *body, uint64_t life)
{
	struct gateway *g = r->gateway;
	auto_json json_t *config = json_object();
	json_t *meta = json_object();
	const char *template = text_member(body, "templateID");
	struct err err = { 0 };
	char id[SANDBOX_ID + 1], name[SANDBOX_NAME];
	int code;

	json_object_set_new(config, "meta", meta);
	json_object_set_new(config, "life", json_integer((json_int_t)life));
	if (json_is_true(json_object_get(body, "autoPause")))
		json_object_set_new(config, "at_end", json_string("pause"));
	if (!take_env(r, body, config, meta) || !take_metadata(r, body, meta) ||
	    !egress_take(r, body, true, config, meta))
		return;
	template = template && *template ? template : gateway_environment(g);
	if (!is_template(g, template)) {
		reply_error(r, 404, "template '%.64s' not found: it is no "
			    "environment of this mount", template);
		return;
	}
	code = text_random(id, SANDBOX_ID);
	if (code == 0)
		code = make_meta(r, body, id, template, meta);
	if (code == 0) {
		set_up(g, template, config);
		tell_programs(json_object_get(config, "env"), id);
		sandbox_hash(id, name);
		code = control_make(g, r->caller.owner, name, config, &r->sandbox,
				    &err);
	}
	if (code < 0) {
		reply_failure(r, code, err.text);
		return;
	}
	snprintf(r->sandbox_id, sizeof(r->sandbox_id), "%s", id);
	reply_json(r, 201, control_show_access(r));
}

void post_sandboxes(struct request *r)
{
	auto_json json_t *body = NULL;
	uint64_t life;

	if (request_json(r, &body) < 0 || refuse_members(r, body))
		return;
	life = control_life(r, body, "timeout", r->gateway->options.life);
	if (life)
		make_one(r, body, life);
}

/* --- an existing sandbox ------------------------------------------------ */

void get_sandbox(struct request *r)
{
	json_t *json = control_show(r->gateway, r->sandbox);
	char room[32];
	const char *domain = domain_of(r, room);

	if (!json) {
		reply_error(r, 404, "sandbox \"%.64s\" was not found",
			    r->sandbox_id);
		return;
	}
	json_object_set_new(json, "envdAccessToken",
			    json_string(r->sandbox->token));
	egress_show(r->sandbox->meta, json);
	json_object_set_new(json, "domain",
			    domain ? json_string(domain) : json_null());
	reply_json(r, 200, json);
}

void delete_sandbox(struct request *r)
{
	struct err err = { 0 };
	char path[128];
	int code = mount_rmdir(&r->gateway->mount,
			       sandbox_path(r->sandbox->name, "", path), &err);

	if (code < 0 && code != -ENOENT)
		reply_failure(r, code, err.text);
	else
		reply_empty(r, code < 0 ? 404 : 204);
}

/* For many sandboxes at once there are no figures. */
void get_all_metrics(struct request *r)
{
	reply_json(r, 200, json_pack("{s:{}}", "sandboxes"));
}
