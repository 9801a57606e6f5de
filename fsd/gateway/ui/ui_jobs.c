/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of the mount. A job is read again only if it has changed: the time
 * and inode of its file `state` show that. So thousands of old jobs cost one
 * call each. On workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "ui_int.h"

#define RESULT_BYTES (1u << 20) /* a longer result.json is not read */
#define CONFIG_BYTES (64u << 10)

bool ui_is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') &&
	       strlen(name) <= LIMIT_JOB_NAME;
}

void ui_sandbox_path(struct buf *path, const char *name, const char *file)
{
	buf_clear(path);
	buf_fmt(path, SANDBOXES "/%s%s%s", name, *file ? "/" : "", file);
}

/* Reads a JSON file, unless it is longer than `most` bytes. */
static json_t *read_json(struct gateway *g, const char *path, size_t most)
{
	struct json_raw raw = { .key = "value" }; /* may have any numbers; is not shown */
	auto_buf struct buf text = { .cap = most };
	json_t *json = NULL;

	if (mount_read(&g->mount, path, &text, NULL) == 0 && text.len)
		json_read(text.data, text.len, LIMIT_VALUE_DEPTH + 8, &raw,
			  &json, NULL);
	return json;
}

/* --- owners ------------------------------------------------------------- */

json_t *ui_sandbox_config(struct gateway *g, const char *name)
{
	auto_buf struct buf path = { 0 };

	ui_sandbox_path(&path, name, "config.json");
	return read_json(g, path.data, 1u << 20);
}

const char *ui_config_owner(const json_t *config)
{
	const char *owner = text_member(json_object_get(config, "meta"), "owner");

	return owner ? owner : "";
}

/* Copies PART of "gw.PART.REST", the name of a job of the gateway; PART is a sandbox
 * or an owner. Return: false: the name has another form. */
static bool name_part(const char *name, char ret[KEY_OWNER])
{
	const char *dot;

	if (strncmp(name, "gw.", 3) != 0)
		return false;
	dot = strchr(name + 3, '.');
	if (!dot || dot - (name + 3) != KEY_OWNER - 1)
		return false;
	memcpy(ret, name + 3, KEY_OWNER - 1);
	ret[KEY_OWNER - 1] = '\0';
	return true;
}

void ui_job_owner(struct gateway *g, const struct ui_job *job,
		  char ret[KEY_OWNER])
{
	auto_json json_t *config = NULL;
	char part[KEY_OWNER];

	ret[0] = '\0';
	if (*job->sandbox)
		config = ui_sandbox_config(g, job->sandbox);
	if (config)
		snprintf(ret, KEY_OWNER, "%s", ui_config_owner(config));
	else if (name_part(job->run.name, part))
		memcpy(ret, part, KEY_OWNER);
}

/* --- one job
 * --------------------------------------------------------------------------------- */

bool ui_job_is_over(const struct ui_job *job)
{
	return !strcmp(job->state, "done") || !strcmp(job->state, "refused");
}

/* Finds the job's sandbox in config.json or, if that is gone, in the job's name. */
static void read_sandbox(struct gateway *g, struct ui_job *job)
{
	auto_buf struct buf path = { 0 };
	auto_json json_t *config = NULL;
	char part[KEY_OWNER];
	const char *name;

	buf_fmt(&path, "%s/config.json", job->run.name);
	config = read_json(g, path.data, CONFIG_BYTES);
	name = text_member(config, "sandbox");
	if (!name && !config && name_part(job->run.name, part))
		name = part;
	if (name && ui_is_name(name))
		snprintf(job->sandbox, sizeof(job->sandbox), "%s", name);
	name = text_member(config, "language");
	if (!name && json_object_get(config, "command"))
		name = "command";
	snprintf(job->run.language, sizeof(job->run.language), "%s",
		 name ? name : "");
}

static void read_end(struct gateway *g, struct ui_job *job)
{
	auto_buf struct buf path = { 0 };
	auto_json json_t *result = NULL;

	buf_fmt(&path, "%s/result.json", job->run.name);
	result = read_json(g, path.data, RESULT_BYTES);
	if (result)
		ui_run_read(&job->run, result);
	else
		snprintf(job->run.status, sizeof(job->run.status), "%s",
			 job->state);
	if (!job->run.ended_ms)
		job->run.ended_ms = job->changed.tv_sec * INT64_C(1000);
}

static bool stat_job(struct gateway *g, struct ui_job *job)
{
	auto_buf struct buf path = { 0 };
	struct stat st;

	if (buf_fmt(&path, "%s/state", job->run.name) < 0 ||
	    mount_stat(&g->mount, path.data, &st, NULL) < 0)
		return false;
	job->inode = st.st_ino;
	job->changed = st.st_mtim;
	return true;
}

static void read_job(struct gateway *g, struct ui_job *job)
{
	auto_buf struct buf path = { 0 }, line = { 0 };

	buf_fmt(&path, "%s/state", job->run.name);
	mount_line(&g->mount, path.data, &line);
	snprintf(job->state, sizeof(job->state), "%s",
		 line.data ? line.data : "");
	read_sandbox(g, job);
	if (ui_job_is_over(job))
		read_end(g, job);
	ui_job_owner(g, job, job->run.owner);
}

bool ui_job_read(struct gateway *g, const char *name, struct ui_job *ret)
{
	*ret = (struct ui_job){ 0 };
	snprintf(ret->run.name, sizeof(ret->run.name), "%s", name);
	if (!stat_job(g, ret))
		return false;
	read_job(g, ret);
	return true;
}

/* --- all of them
 * -------------------------------------------------------------------------- */

struct names {
	char (*name)[LIMIT_JOB_NAME + 1];
	size_t count, more;
};

static int add_name(void *arg, const char *name)
{
	struct names *names = arg;

	if (!ui_is_name(name))
		return 0;
	if (names->count == UI_JOBS) {
		names->more++;
		return 0;
	}
	snprintf(names->name[names->count++], sizeof(*names->name), "%s", name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static const struct ui_job *find(const struct ui_jobs *jobs, const char *name)
{
	/* a job's name is its first member */
	return jobs->count ? bsearch(name, jobs->job, jobs->count,
				     sizeof(*jobs->job), by_name)
			   : NULL;
}

static bool is_same(const struct ui_job *a, const struct ui_job *b)
{
	return a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static int look(struct gateway *g, const struct names *names,
		struct ui_jobs *jobs)
{
	struct ui_jobs now = { .more = names->more };

	now.job = calloc(names->count ? names->count : 1, sizeof(*now.job));
	if (!now.job)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++) {
		struct ui_job *job = &now.job[now.count];
		const struct ui_job *old = find(jobs, names->name[i]);

		*job = (struct ui_job){ 0 };
		snprintf(job->run.name, sizeof(job->run.name), "%s",
			 names->name[i]);
		if (!stat_job(g, job))
			continue;
		if (old && is_same(old, job))
			*job = *old;
		else
			read_job(g, job);
		now.count++;
	}
	free(jobs->job);
	*jobs = now;
	return 0;
}

int ui_jobs_look(struct gateway *g, struct ui_jobs *jobs, struct err *err)
{
	struct names names = { 0 };
	int r = -ENOMEM;

	names.name = calloc(UI_JOBS, sizeof(*names.name));
	if (names.name)
		r = mount_list(&g->mount, ".", add_name, &names, err);
	if (r == 0) {
		qsort(names.name, names.count, sizeof(*names.name), by_name);
		r = look(g, &names, jobs);
	}
	free(names.name);
	return r == -ENOMEM ? err_set(err, r, "no memory for the jobs") : r;
}

void ui_jobs_done(struct ui_jobs *jobs)
{
	free(jobs->job);
	*jobs = (struct ui_jobs){ 0 };
}
