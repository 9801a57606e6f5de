/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the mount for all viewers: health, walls, machines, sandboxes, jobs.
 * Times are absolute, so that an unchanged part stays the same text. On
 * workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/health.h"
#include "ui_int.h"

/* Figures of .fsd/stats that are shown. */
static const struct {
	const char *name, *stat;
} figures[] = {
	{ "warm", "fsd_machines_warm" },
	{ "starting", "fsd_machines_starting" },
	{ "running", "fsd_machines_in_use" },
	{ "most", "fsd_machines_max" },
	{ "waiting", "fsd_runs_waiting" },
	{ "wait_machine", "fsd_machines_awaited" },
	{ "oldest_wait_s", "fsd_queue_oldest_seconds" },
	{ "idle_bytes", "fsd_idle_memory_bytes" },
	{ "promised_bytes", "fsd_memory_promised_bytes" },
};

double ui_figure(const char *stats, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = stats; line && *line;
	     line = strchr(line, '\n'), line += line != NULL)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtod(line + len, NULL);
	return 0;
}

static json_t *string_of(const struct buf *b)
{
	return text_string(b->data ? b->data : "", b->len);
}

/* --- of the mount
 * -------------------------------------------------------------------- */

static void look_at_health(struct gateway *g, json_t *ret)
{
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };
	bool ok;

	if (mount_read(&g->mount, ".fsd/health", &text, &err) < 0) {
		buf_clear(&text);
		buf_str(&text, err.text);
	}
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	ok = text.len && health_is_ok(text.data);
	json_object_set_new(ret, "health",
			    json_pack("{s:b, s:o}", "ok", ok, "text",
				      string_of(&text)));
}

/* Parses a line "NAME  STATE  WHY". */
static json_t *read_wall(char *line)
{
	char *state = strstr(line, "  "), *why;

	if (!state)
		return NULL;
	*state = '\0';
	state += 2;
	why = strstr(state, "  ");
	if (why) {
		*why = '\0';
		why += 2;
	}
	return json_pack("{s:o, s:o, s:o}", "name",
			 text_string(line, strlen(line)), "state",
			 text_string(state, strlen(state)), "why",
			 text_string(why ? why : "", why ? strlen(why) : 0));
}

static void look_at_walls(struct gateway *g, json_t *ret)
{
	auto_buf struct buf text = { 0 };
	json_t *walls = json_array();
	char *line, *next;

	if (mount_read(&g->mount, ".fsd/security", &text, NULL) < 0)
		buf_clear(&text);
	for (line = text.data; line && *line; line = next) {
		json_t *wall;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		wall = read_wall(line);
		if (wall)
			json_array_append_new(walls, wall);
	}
	json_object_set_new(ret, "walls", walls);
}

static void look_at_machines(struct gateway *g, json_t *ret)
{
	auto_buf struct buf text = { 0 };
	json_t *machines = json_object();

	if (mount_read(&g->mount, ".fsd/stats", &text, NULL) < 0)
		buf_clear(&text);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		json_object_set_new(
			machines, figures[i].name,
			json_integer((json_int_t)ui_figure(text.data,
							   figures[i].stat)));
	json_object_set_new(ret, "machines", machines);
}

/* --- sandboxes --------------------------------------------------------------------- */

struct walk {
	struct gateway *gateway;
	const struct ui_jobs *jobs;
	json_t *list;
};

static size_t commands_of(const struct ui_jobs *jobs, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < jobs->count; i++)
		count += !strcmp(jobs->job[i].state, "running") &&
			 !strcmp(jobs->job[i].sandbox, name);
	return count;
}

/* Returns when the sandbox was made, in ms since 1970. */
static int64_t started(struct gateway *g, const char *name, const json_t *config)
{
	const json_t *told = json_object_get(json_object_get(config, "meta"),
					     "started");
	auto_buf struct buf path = { 0 };
	struct stat st;

	if (json_is_integer(told))
		return json_integer_value(told);
	ui_sandbox_path(&path, name, "");
	if (mount_stat(&g->mount, path.data, &st, NULL) < 0)
		return 0;
	return st.st_mtim.tv_sec * INT64_C(1000);
}

/* Returns the client's name for the sandbox: MCP's have a name, others a template. */
static const char *called(const json_t *config)
{
	const json_t *meta = json_object_get(config, "meta");
	const char *name = text_member(meta, "mcp");

	if (!name)
		name = text_member(meta, "template");
	if (!name)
		name = text_member(config, "environment");
	return name ? name : "base";
}

static int look_at_sandbox(void *arg, const char *name)
{
	struct walk *walk = arg;
	struct gateway *g = walk->gateway;
	auto_json json_t *config = NULL;
	auto_buf struct buf path = { 0 }, state = { 0 }, until = { 0 };
	const json_t *memory, *meta;

	config = ui_sandbox_config(g, name);
	if (!config)
		return 0; /* the sandbox is gone, or another user's */
	ui_sandbox_path(&path, name, "state");
	mount_line(&g->mount, path.data, &state);
	ui_sandbox_path(&path, name, "until");
	mount_line(&g->mount, path.data, &until);
	memory = json_object_get(config, "memory_mb");
	meta = json_object_get(config, "meta");
	json_array_append_new(walk->list, json_pack(
		"{s:s?, s:O?, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s}", "id",
		text_member(meta, "id"), "metadata",
		json_object_get(meta, "metadata"), "name",
		text_string(name, strlen(name)), "called",
		json_string(called(config)), "state", string_of(&state),
		"started", (json_int_t)started(g, name, config), "until",
		(json_int_t)(until.len ? text_untime(until.data) : 0),
		"memory_mb",
		json_is_integer(memory) ? json_integer_value(memory)
					: (json_int_t)256,
		"commands", (json_int_t)commands_of(walk->jobs, name), "owner",
		ui_config_owner(config)));
	return 0;
}

/* --- jobs
 * -------------------------------------------------------------------------------- */

static bool is_under_way(const struct ui_job *job)
{
	return !strcmp(job->state, "running") || !strcmp(job->state, "queued");
}

static json_t *show_job(const struct ui_job *job)
{
	return json_pack("{s:o, s:s, s:o, s:o, s:I, s:s}", "name",
			 text_string(job->run.name, strlen(job->run.name)),
			 "state", job->state, "language",
			 text_string(job->run.language,
				     strlen(job->run.language)),
			 "sandbox",
			 text_string(job->sandbox, strlen(job->sandbox)),
			 "since",
			 (json_int_t)(job->changed.tv_sec * INT64_C(1000) +
				      job->changed.tv_nsec / 1000000),
			 "owner", job->run.owner);
}

/* Returns whether the job is the gateway's own: the gateway removes it and adds its run
 * to the ring. */
static bool is_told(const struct ui_job *job)
{
	return !strncmp(job->run.name, "gw.", 3);
}

static void take_jobs(const struct ui_jobs *jobs, struct ui_look *ret)
{
	json_t *list = json_array();

	ret->run = calloc(jobs->count + 1, sizeof(*ret->run));
	for (size_t i = 0; i < jobs->count; i++) {
		const struct ui_job *job = &jobs->job[i];

		if (is_under_way(job))
			json_array_append_new(list, show_job(job));
		else if (ui_job_is_over(job) && !is_told(job) && ret->run)
			ret->run[ret->runs++] = job->run;
	}
	json_object_set_new(ret->json, "jobs", list);
	json_object_set_new(ret->json, "more_jobs",
			    json_integer((json_int_t)jobs->more));
}

void ui_look_at(struct gateway *g, struct ui_jobs *jobs, struct ui_look *ret)
{
	struct walk walk = { g, jobs, json_array() };
	struct err err = { 0 };

	*ret = (struct ui_look){ .json = json_object() };
	look_at_health(g, ret->json);
	look_at_walls(g, ret->json);
	look_at_machines(g, ret->json);
	ui_jobs_look(g, jobs, &err);
	mount_list(&g->mount, SANDBOXES, look_at_sandbox, &walk, &err);
	json_object_set_new(ret->json, "sandboxes", walk.list);
	take_jobs(jobs, ret);
	json_object_set_new(ret->json, "problem",
			    text_string(err.text, strlen(err.text)));
}

void ui_look_done(struct ui_look *look)
{
	json_decref(look->json);
	free(look->run);
	*look = (struct ui_look){ 0 };
}

/* --- for one owner
 * --------------------------------------------------------------------------- */

static json_t *of_owner(const json_t *list, const char *owner)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);
		json_t *copy;

		if (strcmp(text_member(item, "owner"), owner) != 0)
			continue;
		copy = json_copy(item);
		json_object_del(copy, "owner");
		json_array_append_new(ret, copy);
	}
	return ret;
}

json_t *ui_look_show(const struct ui_look *look, const char *owner)
{
	static const char *const owned[] = { "sandboxes", "jobs" };
	json_t *ret = json_copy(look->json);

	for (size_t i = 0; ret && i < ARRAY_SIZE(owned); i++)
		json_object_set_new(ret, owned[i],
				    of_owner(json_object_get(look->json,
							     owned[i]),
					     owner));
	return ret;
}
