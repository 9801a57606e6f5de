/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the job of `fsd run` as a draft, `.run-...`, and submits it by one rename; removes
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_drop.h"
#include "run_int.h"

int draft_make(struct client *k)
{
	auto_buf struct buf config = { 0 };
	int r;

	r = client_make_config(k, &config);
	if (r)
		return r;
	snprintf(k->job, sizeof(k->job), ".run-%d-%llx", (int)getpid(),
		 (unsigned long long)now_ns());
	if (mkdirat(k->root, k->job, 0700) == 0)
		k->dir = openat(k->root, k->job,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->dir < 0)
		return client_complain(1, "%s/%s: %s", k->mnt, k->job,
				strerror(errno));
	/* A mount of an older fsd has no such file. */
	if (!is_set(k->c, RUN_KEEP))
		k->hold = openat(k->dir, "hold", O_RDONLY | O_CLOEXEC);
	r = client_put_files(k);
	if (r == 0)
		r = client_put_stdin(k);
	return r ? r : client_put_config(k, &config);
}

int draft_submit(struct client *k)
{
	if (renameat(k->root, k->job, k->root, k->job + 1) < 0)
		return client_complain(1, "%s/%s: %s", k->mnt, k->job + 1,
				strerror(errno));
	memmove(k->job, k->job + 1, strlen(k->job));
	if (is_set(k->c, RUN_KEEP))
		client_complain(0, "the job stays: %s/%s", k->mnt, k->job);
	return 0;
}

void draft_remove(struct client *k)
{
	bool draft = k->job[0] == '.';

	input_close(&k->input);
	fd_close(&k->hold);
	if (k->dir >= 0 && (draft || !is_set(k->c, RUN_KEEP))) {
		job_drop(k->dir);
		job_dropped(k->root, k->job, k->dir);
	}
	fd_close(&k->dir);
}

/* --- its words ---------------------------------------------------------------------- */

/* The beginning of a sentence about the program's file or a key of config.json, as
 * the user knows it. Return: how much of the text it stands for, 0: none. */
static size_t known_as(const struct client *k, const char *text, struct buf *ret)
{
	const char *name = k->program.name;
	char key[64], word[32];

	if (name[0] && k->program.what && !strncmp(text, name, strlen(name)) &&
	    !strncmp(text + strlen(name), ": ", 2)) {
		buf_str(ret, k->program.what);
		return strlen(name);
	}
	for (int i = 0; i < RUN_OPTIONS; i++) {
		if (!run_options[i].key ||
		    (project_has_config(k->c) && !run_is_given(k->c, i)))
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

void client_errors(struct client *k, const char *text, struct buf *ret)
{
	while (*text) {
		size_t len = strcspn(text, "\n") + 1, known;

		len = MIN(len, strlen(text));
		known = known_as(k, text, ret);
		buf_add(ret, text + known, len - known);
		text += len;
	}
}
