/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a sandbox's machine: a command runs there, and the worker waits for its end. The
 * job has the gateway's mark and lock, as those of follow.c, so a gateway that dies
 * within it leaves nothing.
 */
#include "ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "follow.h"
#include "layout/base/cleanup.h"

#define ASK_S 30
#define TEXT_MAX (64u << 10)

static json_t *make_config(const char *sandbox, json_t *words)
{
	return json_pack("{s:s, s:s, s:o, s:i, s:i, s:{s:s}}", "sandbox", sandbox,
			 "mode", "command", "command", words, "timeout", ASK_S,
			 "retain", ASK_S, "note", FOLLOW_MARK, FOLLOW_GOES);
}

/* Return: the exit code, or negative errno. */
static int run(const struct mount *own, const json_t *config, struct buf *out,
	       struct err *err)
{
	auto_free char *text = json_dumps(config, JSON_COMPACT);
	auto_close int events = follow_events(own, err);
	auto_buf struct buf code = { .cap = TEXT_MAX };
	int r = events < 0 ? events : 0;

	if (r == 0)
		r = text ? mount_write(own, "config.json", text, strlen(text), err)
			 : err_set(err, -ENOMEM, "no memory for a job");
	if (r == 0)
		r = mount_read(own, "wait", &code, err);
	if (r == 0)
		r = mount_read(own, "stdout", out, err);
	return r < 0 ? r : code.len ? atol(code.data) != 0 : 1;
}

int ask_machine(struct gateway *g, const char *sandbox, json_t *words, struct buf *out,
		struct err *err)
{
	auto_json json_t *config = make_config(sandbox, words);
	struct mount own = { .fd = -1 };
	char job[FOLLOW_NAME];
	int r = config ? control_check_machine(g, sandbox, err) : -ENOMEM;

	if (r < 0)
		return r;
	follow_new_name(sandbox, job);
	r = mount_mkdir(&g->mount, job, err);
	if (r < 0)
		return r;
	r = mount_below(&g->mount, job, &own, err);
	if (r == 0)
		r = run(&own, config, out, err);
	mount_close(&own);
	if (r < 0)
		crew_clears_up();
	mount_remove_job(&g->mount, job, NULL);
	return r;
}
