/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command in a sandbox's machine as a job of follow.c, and waits for its
 * end. If the gateway dies meanwhile, the job ends with it. On workers.
 */
#include "ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "layout/base/cleanup.h"
#include "sandbox.h"

#define ASK_S 30
#define TEXT_MAX (64u << 10)

/* Reads the job's events to its end. Return: 0, 1 or negative errno, as
 * ask_machine(). */
static int hear(const struct gateway *g, const char *job, struct buf *out,
		struct err *err)
{
	auto_buf struct buf code = { .cap = TEXT_MAX };
	struct mount own = { .fd = -1 };
	int r = mount_below(&g->mount, job, &own, err);

	if (r == 0)
		r = mount_read(&own, "wait", &code, err);
	if (r == 0)
		r = mount_read(&own, "stdout", out, err);
	mount_close(&own);
	return r < 0 ? r : !code.len || strcmp(code.data, "0\n") != 0;
}

int ask_machine(struct gateway *g, const char *sandbox, json_t *words, struct buf *out,
		struct err *err)
{
	auto_json json_t *config = json_pack(
		"{s:s, s:s, s:o, s:i, s:i}", "sandbox", sandbox, "mode", "command",
		"command", words, "timeout", ASK_S, "retain", ASK_S);
	char name[FOLLOW_NAME];
	auto_close int events = -1, hold = -1;
	int r = config ? sandbox_check_machine(g, sandbox, err) : -ENOMEM;

	if (r < 0)
		return r;
	follow_new_name(sandbox, name);
	r = follow_make(g, &(struct follow_job){ .name = name, .config = config },
			&events, &hold, err);
	if (r < 0)
		return r;
	r = hear(g, name, out, err);
	if (r < 0)
		crew_clears_up();
	mount_remove_job(&g->mount, name, NULL);
	return r;
}
