/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job in `fsd run`: prints why it failed or what was cut, and finds the exit
 * code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_int.h"

#define EXIT_CUT 125    /* instead of 0, when something was dropped */

/* Handles a job without exit_code: prints why. Return: the exit code. */
static int no_outcome(struct client *k)
{
	char state[16];

	if (client_read(k, "state", state, sizeof(state)) > 0)
		return !strcmp(state, "refused\n") ? 2 : 1; /* said in error */
	if (errno == ENOENT || errno == ESTALE)
		return client_fail(k, 137, "the job was removed");
	return client_fail(k, 125, "%s does not answer any more (%s): how the job has "
		    "ended is not known", k->mount.mnt, strerror(errno));
}

/* Reads a whole file of the job into memory. */
static void read_file(struct client *k, const char *name, struct buf *ret)
{
	auto_close int fd = openat(k->draft.dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	ret->cap = LIMIT_RESULT_BYTES;
	while (fd >= 0 && n > 0 && buf_reserve(ret, 65536) == 0) {
		n = read(fd, ret->data + ret->len, 65536);
		ret->len += (size_t)MAX(n, 0);
	}
}

/* The words of "message" for a limit, and the option that changes it. A key in
 * parentheses is the user's only in config.json. */
static const struct {
	const char *says;
	enum run_opt opt;
} limits[] = {
	{ " (timeout)", RUN_TIMEOUT },
	{ " (memory_mb)", RUN_MEMORY },
	{ " over stdout_limit were dropped", RUN_STDOUT_LIMIT },
	{ " over stderr_limit were dropped", RUN_STDERR_LIMIT },
};

/* Prints one sentence of the message. */
static void tell_sentence(struct client *k, const char *text, size_t len)
{
	char word[32];

	if (len > 8 && !strncmp(text, "output: ", 8))
		return; /* tell_left_out() */
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		size_t says = strlen(limits[i].says);

		if (len < says ||
		    strncmp(text + len - says, limits[i].says, says) != 0)
			continue;
		len -= limits[i].says[1] == '(' ? says : 0;
		client_fail(k, 0, "%.*s; %s changes it", (int)len, text,
			    run_option_word(limits[i].opt, word));
		return;
	}
	client_fail(k, 0, "%.*s", (int)len, text);
}

static void tell_message(struct client *k, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "; ");
		size_t len = end ? (size_t)(end - text) : strlen(text);

		tell_sentence(k, text, len);
		text += len + (end ? 2 : 0);
	}
}

/* Prints the entries that were left out. whose: "DIR/output", as the user named it. */
static void tell_left_out(struct client *k, const char *whose,
			  const struct result_brief *b)
{
	const char *line = b->left_out.data ? b->left_out.data : "";
	char word[32];

	client_fail(k, 0, "%s: %llu %s left out%s", whose,
	     (unsigned long long)b->output_dropped,
	     b->output_dropped == 1 ? "entry was" : "entries were",
	     *line ? ":" : "");
	while (*line) {
		size_t len = strcspn(line, "\n");

		client_fail(k, 0, "  %.*s", (int)len, line);
		line += len + (line[len] != '\0');
	}
	if (b->left_out.data && strstr(b->left_out.data, ": over output_limit\n"))
		client_fail(k, 0, "  %s changes output_limit",
			    run_option_word(RUN_OUTPUT_LIMIT, word));
	if (b->left_out_count && b->output_dropped > b->left_out_count)
		client_fail(k, 0, "  ... see output_left_out in result.json");
}

/* Prints which limit has ended the run or cut its results; `error` says why a run failed.
 * Return: true if part of the requested results is missing. */
static bool tell_limits(struct client *k, const struct result_brief *b)
{
	static const char *const said[] = { "exited", "signaled", "timeout",
					    "out_of_memory" };
	bool files = is_set(k->c, RUN_OUTPUT) && b->output_dropped;

	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		if (!strcmp(b->status, said[i]) && b->message.len)
			tell_message(k, b->message.data);
	if (files) {
		auto_buf struct buf whose = { 0 };

		buf_fmt(&whose, "%s/output", k->c->value[RUN_OUTPUT]);
		tell_left_out(k, whose.failed ? "output" : whose.data, b);
	}
	return files || b->stdout_dropped || b->stderr_dropped;
}

/* Like tell_limits(), for the files that -g asked for. */
static bool tell_gets(struct client *k, const struct buf *text,
		      const struct result_brief *b)
{
	const struct run_client *c = k->c;
	auto_buf struct buf whose = { 0 };
	char path[BELOW_PATH];

	for (unsigned i = 0; i < c->get_count && b->output_dropped; i++) {
		if (below_path(c->gets[i], path) < 0 ||
		    !result_leaves_out(text->data, text->len, path))
			continue;
		buf_fmt(&whose, "-g %s", c->gets[i]);
		if (!is_set(c, RUN_OUTPUT))
			tell_left_out(k, whose.failed ? "-g" : whose.data, b);
		return true;
	}
	return false;
}

/* Prints the value of a cell or of a call, behind the output. */
static void print_value(struct client *k, const struct buf *value)
{
	if (!value->len)
		return;
	client_print(k, value->data, value->len);
	client_print(k, "\n", 1);
}

/* Prints the error that ended a cell: it is in the result, not in the output. */
static void print_error(struct client *k, const struct buf *error)
{
	auto_buf struct buf config = { 0 };

	if (!error->len)
		return;
	read_file(k, "config.json", &config);
	if (config.len && result_is_cells(config.data, config.len))
		client_print_error(k, error->data, error->len);
}

static void tell_session(struct client *k, const struct result_brief *b)
{
	if (!strcmp(b->session_state, "lost"))
		client_fail(k, 0, "the session %s is lost, with all that its steps "
			    "have made; the next step begins it anew", b->session);
}

/* Warns that the program's files will go with the job, because no option takes them. In a
 * session or a sandbox they stay where they are. */
static void tell_files(struct client *k, const struct result_brief *b)
{
	const struct run_client *c = k->c;

	if (!b->output_count || is_set(c, RUN_OUTPUT) || is_set(c, RUN_KEEP) || c->get_count ||
	    is_set(c, RUN_SANDBOX) || b->session[0])
		return;
	client_fail(k, 0, "the program has left %llu file%s, which %s with the job; -o "
		    "DIR keeps %s", (unsigned long long)b->output_count,
		    b->output_count == 1 ? "" : "s",
		    b->output_count == 1 ? "goes" : "go",
		    b->output_count == 1 ? "it" : "them");
}

#define SLOW_MS 2000

/* Prints why the run got a new interpreter, which imports everything again: this can
 * explain why it was slow. */
static void tell_fresh(struct client *k, const struct result_brief *b)
{
	if (b->environment[0] &&
	    (b->run_ms >= SLOW_MS || !strcmp(b->status, "timeout")))
		client_fail(k, 0, "it began without the modules that %s keeps imported, "
			    "which takes longer: %.*s", b->environment,
			    (int)b->fresh_why.len, b->fresh_why.data);
}

/* Prints what result.json says. Return: true if results were cut. */
static bool look_at_result(struct client *k)
{
	auto_buf struct buf text = { 0 };
	struct result_brief brief = { 0 };
	bool cut = false;

	read_file(k, "result.json", &text);
	if (is_set(k->c, RUN_JSON) && text.len)
		client_print(k, text.data, text.len);
	if (text.len && result_brief_read(text.data, text.len, &brief) == 0) {
		if (!is_set(k->c, RUN_JSON)) {
			print_value(k, &brief.text);
			print_value(k, &brief.value);
			print_error(k, &brief.error);
		}
		input_end(k, brief.stdin_read);
		cut = tell_limits(k, &brief);
		cut |= tell_gets(k, &text, &brief);
		tell_session(k, &brief);
		tell_fresh(k, &brief);
		if (!is_set(k->c, RUN_JSON))
			tell_files(k, &brief);
	}
	result_brief_done(&brief);
	return cut;
}

static void tell_errors(struct client *k)
{
	auto_buf struct buf said = { 0 };
	char text[1024];

	if (client_read(k, "error", text, sizeof(text)) <= 0)
		return;
	job_draft_errors(&k->draft, text, &said);
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
	if (r || k->lost)
		return 1;
	return cut ? EXIT_CUT : gets_take(k);
}
