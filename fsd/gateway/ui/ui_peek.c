/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The details of one job: its code, the ends of its streams, its log and its
 * error. A job of the gateway is read before it is removed, and the ring keeps
 * the newest of these; any other job is read from the mount. On workers.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "ui_int.h"

#define KEPT_TAIL (4u << 10) /* bytes of each part of a removed job */

void ui_add_tail(json_t *to, struct gateway *g, const char *job,
		 const char *name, size_t most)
{
	auto_buf struct buf path = { 0 };
	char text[UI_TAIL], bytes[32];
	auto_close int fd = -1;
	struct stat st = { .st_size = 0 };
	ssize_t n = 0;

	most = MIN(most, sizeof(text));
	buf_fmt(&path, "%s/%s", job, name);
	fd = path.data ? mount_file(&g->mount, path.data, O_RDONLY, NULL) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, most, MAX(st.st_size - (off_t)most, 0));
	json_object_set_new(to, name, text_string(text, n > 0 ? (size_t)n : 0));
	snprintf(bytes, sizeof(bytes), "%s_bytes", name);
	json_object_set_new(to, bytes, json_integer((json_int_t)st.st_size));
}

/* --- its code ------------------------------------------------------------------ */

static int find_code(void *arg, const char *name)
{
	char *found = arg;

	if (strncmp(name, "code.", 5) != 0 || strlen(name) > 32)
		return 0;
	strcpy(found, name);
	return 1;
}

static void add_words(struct buf *text, const json_t *words)
{
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		buf_fmt(text, "%s%s", i ? " " : "", word ? word : "");
	}
}

/* Returns the job's "code" or "command" in config.json, or the beginning of its file
 * code.*. */
static json_t *code_of(struct gateway *g, const char *job, size_t most)
{
	auto_buf struct buf path = { 0 }, text = { .cap = UI_TAIL };
	auto_json json_t *config = NULL;
	char name[40] = "";
	const char *code;

	buf_fmt(&path, "%s/config.json", job);
	mount_json(&g->mount, path.data, &config, NULL);
	code = text_member(config, "code");
	if (code)
		return text_string(code, MIN(strlen(code), most));
	add_words(&text, json_object_get(config, "command"));
	if (!text.len)
		mount_list(&g->mount, job, find_code, name, NULL);
	if (*name) {
		buf_clear(&path);
		buf_fmt(&path, "%s/%s", job, name);
		mount_read(&g->mount, path.data, &text, NULL);
	}
	return text_string(text.data ? text.data : "", MIN(text.len, most));
}

/* --- all of it ------------------------------------------------------------------- */

static json_t *peek(struct gateway *g, const char *job, size_t most)
{
	static const char *const parts[] = { "stdout", "stderr", "log", "error" };
	json_t *ret = json_object();

	json_object_set_new(ret, "name", text_string(job, strlen(job)));
	json_object_set_new(ret, "code", code_of(g, job, most));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		ui_add_tail(ret, g, job, parts[i], most);
	return ret;
}

json_t *ui_peek(struct gateway *g, const char *job)
{
	return peek(g, job, KEPT_TAIL);
}

/* Runs on the loop, which owns the ring; get_ui_job() runs on a worker. */
static void on_looked(struct request *r, void *arg, const struct ui_jobs *jobs)
{
	auto_free char *name = arg;
	const json_t *seen =
		ui_ring_seen(ui_ring_of(r->gateway), name, r->caller.owner);

	(void)jobs;
	if (seen)
		reply_json(r, 200, json_deep_copy(seen));
	else
		reply_error(r, 404, "job \"%.200s\" was not found", name);
	request_answer(r);
}

void get_ui_job(struct request *r)
{
	const char *name = r->part[0];
	struct ui_job job;

	if (ui_is_name(name) && ui_job_read(r->gateway, name, &job) &&
	    !strcmp(job.run.owner, r->caller.owner))
		reply_json(r, 200, peek(r->gateway, name, UI_TAIL));
	else
		ui_behind_look(r, on_looked, strdup(name));
}
