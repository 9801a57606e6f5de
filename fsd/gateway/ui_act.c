/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A viewer's acts on one sandbox or job: it looks at its output, ends it, kills it.
 * Things that another owns are not there for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "ui_int.h"

#define TAIL_BYTES (16u << 10) /* of each stream of a job */
#define SHOWN 32u              /* jobs of one sandbox */

/* The end of a stream, and how long all of it is. */
static json_t *read_tail(struct gateway *g, const char *job, const char *name,
			 int64_t *size)
{
	auto_buf struct buf path = { 0 };
	char text[TAIL_BYTES];
	auto_close int fd = -1;
	struct stat st;
	ssize_t n = 0;

	*size = 0;
	buf_fmt(&path, "%s/%s", job, name);
	fd = path.data ? mount_file(&g->mount, path.data, O_RDONLY, NULL) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		*size = st.st_size;
		n = pread(fd, text, sizeof(text),
			  MAX(st.st_size - (off_t)sizeof(text), 0));
	}
	return text_string(text, n > 0 ? (size_t)n : 0);
}

struct outputs {
	struct gateway *gateway;
	const char *sandbox;
	json_t *list;
	size_t count;
};

static int show_job(void *arg, const char *name)
{
	struct outputs *o = arg;
	struct ui_job job;
	int64_t out_size, err_size;
	json_t *out, *err;

	if (!ui_is_name(name) || !ui_job_read(o->gateway, name, &job) ||
	    strcmp(job.sandbox, o->sandbox) != 0 ||
	    strcmp(job.state, "running") != 0)
		return 0;
	if (o->count++ >= SHOWN)
		return 0;
	out = read_tail(o->gateway, name, "stdout", &out_size);
	err = read_tail(o->gateway, name, "stderr", &err_size);
	json_array_append_new(o->list, json_pack(
		"{s:o, s:o, s:o, s:I, s:o, s:I}", "name",
		text_string(name, strlen(name)), "language",
		text_string(job.run.language, strlen(job.run.language)), "stdout",
		out, "stdout_bytes", (json_int_t)out_size, "stderr", err,
		"stderr_bytes", (json_int_t)err_size));
	return 0;
}

/* Return: its config.json, or NULL, and the reply is there. */
static json_t *find_sandbox(struct request *r)
{
	const char *name = r->part[0];
	json_t *config = ui_is_name(name) ? ui_sandbox_config(r->gateway, name)
					  : NULL;

	if (config && !strcmp(ui_config_owner(config), r->caller.owner))
		return config;
	json_decref(config);
	reply_error(r, 404, "sandbox \"%.64s\" was not found", name);
	return NULL;
}

void get_ui_sandbox(struct request *r)
{
	auto_json json_t *config = find_sandbox(r);
	auto_buf struct buf path = { 0 }, state = { 0 };
	struct outputs o = { r->gateway, r->part[0], NULL, 0 };
	struct err err = { 0 };
	int code;

	if (!config)
		return;
	ui_sandbox_path(&path, o.sandbox, "state");
	ui_line(r->gateway, path.data, &state);
	o.list = json_array();
	code = mount_list(&r->gateway->mount, ".", show_job, &o, &err);
	if (code < 0) {
		json_decref(o.list);
		reply_failure(r, code, err.text);
		return;
	}
	reply_json(r, 200, json_pack(
		"{s:s, s:o, s:o, s:I}", "name", o.sandbox, "state",
		text_string(state.data ? state.data : "", state.len), "jobs",
		o.list, "running", (json_int_t)o.count));
}

static void reply_done(struct request *r, int code, const struct err *err)
{
	if (code < 0 && code != -ENOENT)
		reply_failure(r, code, err->text);
	else
		reply_empty(r, code < 0 ? 404 : 204);
}

void delete_ui_sandbox(struct request *r)
{
	auto_json json_t *config = find_sandbox(r);
	auto_buf struct buf path = { 0 };
	struct err err = { 0 };

	if (!config)
		return;
	ui_sandbox_path(&path, r->part[0], "");
	reply_done(r, mount_rmdir(&r->gateway->mount, path.data, &err), &err);
}

void post_ui_kill(struct request *r)
{
	const char *name = r->part[0];
	struct err err = { 0 };
	struct ui_job job;

	if (!ui_is_name(name) || !ui_job_read(r->gateway, name, &job) ||
	    strcmp(job.run.owner, r->caller.owner) != 0)
		reply_error(r, 404, "job \"%.200s\" was not found", name);
	else if (ui_job_is_over(&job))
		reply_error(r, 409, "job \"%.200s\" has ended already", name);
	else
		reply_done(r, mount_ctl(&r->gateway->mount, name, "kill", &err),
			   &err);
}
