/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actions of a viewer on one sandbox or job: see a sandbox's output, end the sandbox,
 * kill a job. A sandbox or job of another owner gets 404. Handlers run on workers; the
 * reply with outputs is made on the loop.
 */
/*
 * Viewers of the dashboard see the output of a sandbox, end a sandbox, kill a job: its
 * handlers. A sandbox or job of another owner gets 404. They run on
 * workers; the reply with outputs is made on the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "ui_int.h"

#define SHOWN 32u /* most jobs shown of one sandbox */

/* Returns the config.json of the sandbox that the path names; NULL: it has replied. */
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

/* A sandbox as the page shows it. Its jobs come from the reading of the mount that all
 * viewers share. */
struct peek {
	struct crew_work work;
	struct gateway *gateway;
	struct request *request; /* owns a reference */
	char sandbox[LIMIT_JOB_NAME + 1];
	char state[32];
	struct {
		char name[LIMIT_JOB_NAME + 1];
		char language[16];
	} job[SHOWN];
	size_t count; /* number of running jobs */
	json_t *outputs; /* owned; used by a worker */
};

static json_t *show_job(struct peek *p, const char *name, const char *language)
{
	json_t *ret = json_pack("{s:o, s:o}", "name",
				text_string(name, strlen(name)), "language",
				text_string(language, strlen(language)));

	ui_add_tail(ret, p->gateway, name, "stdout", UI_TAIL);
	ui_add_tail(ret, p->gateway, name, "stderr", UI_TAIL);
	return ret;
}

static void read_outputs(struct crew_work *work)
{
	struct peek *p = container_of(work, struct peek, work);

	p->outputs = json_array();
	for (size_t i = 0; i < MIN(p->count, (size_t)SHOWN); i++)
		json_array_append_new(p->outputs, show_job(p, p->job[i].name,
							   p->job[i].language));
}

static void outputs_read(struct crew_work *work)
{
	struct peek *p = container_of(work, struct peek, work);
	struct request *r = p->request;

	if (!r->answered) {
		reply_json(r, 200, json_pack(
			"{s:s, s:o, s:o, s:I}", "name", p->sandbox, "state",
			text_string(p->state, strlen(p->state)), "jobs",
			take_ptr(p->outputs), "running", (json_int_t)p->count));
		request_answer(r);
	}
	request_unref(r);
	json_decref(p->outputs);
	free(p);
}

static void on_looked(struct request *r, void *arg, const struct ui_jobs *jobs)
{
	struct peek *p = arg;

	for (size_t i = 0; i < jobs->count; i++) {
		const struct ui_job *job = &jobs->job[i];

		if (strcmp(job->sandbox, p->sandbox) != 0 ||
		    strcmp(job->state, "running") != 0 || p->count++ >= SHOWN)
			continue;
		snprintf(p->job[p->count - 1].name, sizeof(p->job[0].name), "%s",
			 job->run.name);
		snprintf(p->job[p->count - 1].language,
			 sizeof(p->job[0].language), "%s", job->run.language);
	}
	p->gateway = r->gateway;
	p->request = request_ref(r);
	memcpy(p->work.owner, r->work.owner, sizeof(p->work.owner));
	p->work.light = true;
	p->work.run = read_outputs;
	p->work.done = outputs_read;
	crew_put(&r->gateway->crew, &p->work);
}

void get_ui_sandbox(struct request *r)
{
	auto_json json_t *config = find_sandbox(r);
	auto_buf struct buf path = { 0 }, state = { 0 };
	struct peek *p;

	if (!config)
		return;
	p = calloc(1, sizeof(*p));
	if (p) {
		ui_sandbox_path(&path, r->part[0], "state");
		mount_line(&r->gateway->mount, path.data, &state);
		snprintf(p->sandbox, sizeof(p->sandbox), "%s", r->part[0]);
		snprintf(p->state, sizeof(p->state), "%s",
			 state.data ? state.data : "");
	}
	ui_behind_look(r, on_looked, p);
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
