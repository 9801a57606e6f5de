/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a job as a draft, submits it by one rename, removes it. It also turns what the
 * mount says of a job into the words of the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_drop.h"
#include "run_int.h"

int job_draft_fail(struct job_draft *d, enum draft_fault fault, int code,
		   const char *fmt, ...)
{
	va_list ap;

	d->fault = fault;
	va_start(ap, fmt);
	vsnprintf(d->said, sizeof(d->said), fmt, ap);
	va_end(ap);
	return code;
}

static int failed(struct job_draft *d, const char *name)
{
	d->error = errno;
	return job_draft_fail(d, DRAFT_MOUNT, 1, "%s/%s: %s", d->mount->mnt, name,
			      strerror(errno));
}

int job_draft_make(struct job_draft *d, const char *name, bool hold)
{
	auto_buf struct buf config = { 0 };
	int root = d->mount->root;
	int r = draft_make_config(d, &config);

	if (r)
		return r;
	if (mkdirat(root, name, 0700) < 0)
		return failed(d, name);
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir < 0)
		return failed(d, name);
	/* A mount of an older fsd has no such file. */
	if (hold)
		d->hold = openat(d->dir, "hold", O_RDONLY | O_CLOEXEC);
	r = draft_put_files(d);
	return r ? r : draft_put_config(d, &config);
}

int job_draft_submit(struct job_draft *d, const char *name)
{
	if (renameat(d->mount->root, d->name, d->mount->root, name) < 0)
		return failed(d, name);
	snprintf(d->name, sizeof(d->name), "%s", name);
	return 0;
}

void job_draft_done(struct job_draft *d, bool keep)
{
	bool draft = d->name[0] == '.';

	fd_close(&d->hold);
	if (d->dir >= 0 && (draft || !keep)) {
		job_drop(d->dir);
		job_dropped(d->mount->root, d->name, d->dir);
	}
	fd_close(&d->dir);
}

/* --- its words ---------------------------------------------------------------------- */

/* Finds whether the text begins with the name of the program's file or a key of
 * config.json, and writes the user's own words for it. Return: the length of that part,
 * or 0. */
static size_t known_as(const struct job_draft *d, const char *text, struct buf *ret)
{
	const char *name = d->program->name;
	char key[64], word[32];

	if (name[0] && d->program->what && !strncmp(text, name, strlen(name)) &&
	    !strncmp(text + strlen(name), ": ", 2)) {
		buf_str(ret, d->program->what);
		return strlen(name);
	}
	for (int i = 0; i < RUN_OPTIONS; i++) {
		if (!run_options[i].key ||
		    (project_has_config(d->c) && !run_is_given(d->c, i)))
			continue;
		snprintf(key, sizeof(key), "config.json: \"%s\"",
			 run_options[i].key);
		if (strncmp(text, key, strlen(key)) != 0)
			continue;
		buf_str(ret, run_option_word(i, word));
		return strlen(key);
	}
	return 0;
}

void job_draft_errors(const struct job_draft *d, const char *text, struct buf *ret)
{
	while (*text) {
		size_t len = strcspn(text, "\n") + 1, known;

		len = MIN(len, strlen(text));
		known = known_as(d, text, ret);
		buf_add(ret, text + known, len - known);
		text += len;
	}
}
