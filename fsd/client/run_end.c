/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the job: what is said of it, and the exit code of `fsd run`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_int.h"

#define EXIT_KILLED 137 /* of a job that somebody has cancelled */
#define EXIT_CUT 125    /* instead of 0, when something was dropped */

/* There is no exit_code. */
static int no_outcome(struct client *k)
{
	char state[16];

	if (client_read(k, "state", state, sizeof(state)) > 0)
		return !strcmp(state, "refused\n") ? 2 : 1; /* said in error */
	if (errno == ENOENT || errno == ESTALE)
		return client_fail(k, 137, "the job was removed");
	return client_fail(k, 125, "%s does not answer any more (%s): how the job has "
		    "ended is not known", k->mnt, strerror(errno));
}

/* The whole of result.json, into memory: with --json it is printed as well. */
static void read_result(struct client *k, struct buf *ret)
{
	auto_close int fd = openat(k->dir, "result.json", O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	ret->cap = LIMIT_RESULT_BYTES;
	while (fd >= 0 && n > 0 && buf_reserve(ret, 65536) == 0) {
		n = read(fd, ret->data + ret->len, 65536);
		ret->len += (size_t)MAX(n, 0);
	}
}

/* What the option is now, or without it. */
static const char *limit_of(const struct client *k, enum run_opt opt,
			    const char *without)
{
	return is_set(k->c, opt) ? k->c->value[opt] : without;
}

static void tell_cut(struct client *k, const char *stream, const char *option,
		     uint64_t dropped)
{
	if (dropped)
		client_fail(k, 0, "%s: %llu bytes over %s_limit were dropped; %s "
		     "changes it", stream, (unsigned long long)dropped, stream,
		     option);
}

static void tell_left_out(struct client *k, const struct result_brief *b)
{
	const char *line = b->left_out.data ? b->left_out.data : "";

	client_fail(k, 0, "%s: %llu files of the program were left out%s",
	     k->c->value[RUN_OUTPUT], (unsigned long long)b->output_dropped,
	     *line ? ":" : "");
	while (*line) {
		size_t len = strcspn(line, "\n");

		client_fail(k, 0, "  %.*s", (int)len, line);
		line += len + (line[len] != '\0');
	}
	if (b->left_out_count && b->output_dropped > b->left_out_count)
		client_fail(k, 0, "  ... see output_left_out in result.json");
}

/* Says which limit has ended the run or cut its results. Return: something of what
 * was asked for is not there. */
static bool tell_limits(struct client *k, const struct result_brief *b)
{
	bool files = is_set(k->c, RUN_OUTPUT) && b->output_dropped;

	if (!strcmp(b->status, "timeout"))
		client_fail(k, 0, "over its %s s; -t changes it",
		     limit_of(k, RUN_TIMEOUT, "30"));
	else if (!strcmp(b->status, "out_of_memory"))
		client_fail(k, 0, "needed more than %s MiB of memory; -m changes it",
		     limit_of(k, RUN_MEMORY, "256"));
	else if (!strcmp(b->status, "exited") && b->message.len &&
		 is_set(k->c, RUN_MODE))
		client_fail(k, 0, "%s", b->message.data);
	tell_cut(k, "stdout", "--stdout-limit", b->stdout_dropped);
	tell_cut(k, "stderr", "--stderr-limit", b->stderr_dropped);
	if (files)
		tell_left_out(k, b);
	return files || b->stdout_dropped || b->stderr_dropped;
}

/* Return: something was cut. */
static bool look_at_result(struct client *k)
{
	auto_buf struct buf text = { 0 };
	struct result_brief brief = { 0 };
	bool cut = false;

	read_result(k, &text);
	if (is_set(k->c, RUN_JSON) && text.len)
		client_print(k, text.data, text.len);
	if (text.len && result_brief_read(text.data, text.len, &brief) == 0)
		cut = tell_limits(k, &brief);
	result_brief_done(&brief);
	return cut;
}

static void tell_errors(struct client *k)
{
	auto_buf struct buf said = { 0 };
	char text[1024];

	if (client_read(k, "error", text, sizeof(text)) <= 0)
		return;
	client_errors(k, text, &said);
	client_tell(k, said.len ? said.data : text);
}

int client_outcome(struct client *k)
{
	char text[64];
	uint64_t code;
	bool cut;
	int r;

	tell_errors(k);
	cut = look_at_result(k);
	if (k->unread)
		return 128 + SIGPIPE;
	if (client_read(k, "exit_code", text, sizeof(text)) <= 0)
		return no_outcome(k);
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, 0, 255, &code) < 0)
		return 1;
	if (code == EXIT_KILLED && k->early)
		return 128 + k->early;
	r = is_set(k->c, RUN_OUTPUT) ? results_take(k) : 0;
	if (code)
		return (int)code;
	return r || k->lost ? 1 : cut ? EXIT_CUT : 0;
}
