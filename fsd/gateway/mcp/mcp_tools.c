/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of tools. Each argument is a row, too: the schema that clients get
 * and the check of their arguments are made from it. On workers.
 */
#include "mcp.h"

#include <inttypes.h>
#include <string.h>

#include "fsd/gateway/control/egress.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/lang.h"

/* BYTES is a text that may have a NUL. */
enum kind { TEXT, BYTES, NUMBER, TEXTS };

struct argument {
	const char *name;
	enum kind kind;
	bool required;
	const char *about;
	int64_t least, most, usual; /* bounds and default of a number */
	const char *const *choices; /* allowed values of a text, or NULL: all */
};

#define ARGUMENTS 6

struct tool {
	const char *name, *title, *about;
	/* hints to the client: the tool only reads; it may destroy something */
	bool reads, destroys;
	struct argument argument[ARGUMENTS];
	/* Continues about behind the words on the network; NULL: there are none. */
	const char *about_end;
	/* One of the two is set: run() starts a job, fn() returns a result. */
	enum mcp_state (*run)(struct mcp *m, const json_t *arguments);
	json_t *(*fn)(struct mcp *m, const json_t *arguments);
};

#define NAME(id, runner, name, ...) name,
static const char *const languages[] = { LANG_TABLE(NAME, LANG_NO_ENDING) NULL };

#define ARGUMENT(n, k, needed, text)                                          \
	{ .name = n, .kind = k, .required = needed, .about = text }
#define INTEGER(n, text, low, high, other)                                    \
	{ .name = n, .kind = NUMBER, .about = text, .least = low,             \
	  .most = high, .usual = other }
#define SANDBOX(needed)                                                       \
	ARGUMENT("sandbox", TEXT, needed,                                     \
		 "A name of your choice, 1 to 64 of A-Z a-z 0-9 . _ -; the "  \
		 "first use makes it")
#define THERE ARGUMENT("sandbox", TEXT, true, "The name of a sandbox that there is")
#define TIMEOUT INTEGER("timeout", "Seconds", 1, 600, 30)

static const struct tool tools[] = {
	{ "run_code", "Run code",
	  "Runs a program in an isolated machine ",
	  false, false,
	  { ARGUMENT("code", TEXT, true, "The program's text"),
	    { .name = "language", .kind = TEXT,
	      .about = "python if it is not given", .choices = languages },
	    SANDBOX(false), TIMEOUT,
	    ARGUMENT("files", TEXTS, false, "Files that the program finds: their text by relative path, without \"..\"") },
	  .about_end =
	  ". The server's instructions say which modules are there. Returns "
	  "its output, the value of its last expression and what it shows. "
	  "With a sandbox, variables and files stay for the next call; "
	  "without one the machine is gone afterwards and new files are "
	  "returned.",
	  .run = mcp_run_code },
	{ "run_command", "Run a command",
	  "Runs a command line with bash in an isolated machine ",
	  false, false,
	  { ARGUMENT("command", TEXT, true, "The command line"), SANDBOX(false),
	    ARGUMENT("cwd", TEXT, false, "Where it starts; /home/user"), TIMEOUT,
	    ARGUMENT("stdin", BYTES, false, "Its standard input") },
	  .about_end =
	  ". Returns its output. With a sandbox, files and processes, also a "
	  "server started with \"&\", stay for the next call.",
	  .run = mcp_run_command },
	{ "write_file", "Write a file",
	  "Writes a file in a sandbox. Its directory is made if need be.",
	  false, true,
	  { SANDBOX(true),
	    ARGUMENT("path", TEXT, true, "Absolute, or relative to /home/user"),
	    ARGUMENT("content", BYTES, false, "The file's text"),
	    ARGUMENT("content_base64", TEXT, false, "Or its bytes in base64") },
	  .fn = mcp_write_file },
	{ "read_file", "Read a file",
	  "Returns a file of a sandbox: text, an image, or base64.", true,
	  false,
	  { THERE,
	    ARGUMENT("path", TEXT, true, "Absolute, or relative to /home/user"),
	    INTEGER("offset", "Where to begin, in bytes", 0, INT64_C(1) << 50, 0),
	    INTEGER("limit", "The most bytes", 1, 8 << 20, 64 << 10) },
	  .fn = mcp_read_file },
	{ "list_files", "List files",
	  "Returns what a directory of a sandbox has, with sizes.", true, false,
	  { THERE,
	    ARGUMENT("path", TEXT, false, "The directory; /home/user"),
	    INTEGER("depth", "Levels", 1, 3, 1) },
	  .fn = mcp_list_files },
	{ "stop_sandbox", "Stop a sandbox",
	  "Ends a sandbox with all that runs in it and all of its files.",
	  false, true, { THERE }, .fn = mcp_stop_sandbox },
	{ "list_sandboxes", "List sandboxes",
	  "Returns your sandboxes: name, state, and their end if one is set.",
	  true, false, { { .name = NULL } }, .fn = mcp_list_sandboxes },
};

/* --- the list ---------------------------------------------------------------------- */

static json_t *schema_of(const struct argument *a)
{
	json_t *schema = json_pack("{s:s}", "description", a->about), *list;

	switch (a->kind) {
	case TEXT:
	case BYTES:
		json_object_set_new(schema, "type", json_string("string"));
		if (!a->choices)
			break;
		list = json_array();
		for (unsigned i = 0; a->choices[i]; i++)
			json_array_append_new(list, json_string(a->choices[i]));
		json_object_set_new(schema, "enum", list);
		break;
	case NUMBER:
		json_object_set_new(schema, "type", json_string("integer"));
		json_object_set_new(schema, "minimum", json_integer(a->least));
		json_object_set_new(schema, "maximum", json_integer(a->most));
		json_object_set_new(schema, "default", json_integer(a->usual));
		break;
	case TEXTS:
		json_object_set_new(schema, "type", json_string("object"));
		json_object_set_new(schema, "additionalProperties",
				    json_pack("{s:s}", "type", "string"));
		break;
	}
	return schema;
}

static json_t *input_schema(const struct tool *t)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct argument *a = t->argument; a->name; a++) {
		json_object_set_new(properties, a->name, schema_of(a));
		if (a->required)
			json_array_append_new(required, json_string(a->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
			 properties, "required", required,
			 "additionalProperties", 0);
}

/* The schema of the object of mcp_result(). */
static json_t *output_schema(void)
{
	static const char text[] =
		"{\"type\":\"object\",\"properties\":{"
		"\"status\":{\"type\":\"string\"},"
		"\"exit_code\":{\"type\":\"integer\"},"
		"\"stdout\":{\"type\":\"string\"},"
		"\"stderr\":{\"type\":\"string\"},"
		"\"text\":{\"type\":[\"string\",\"null\"]},"
		"\"error\":{\"type\":[\"object\",\"null\"]},"
		"\"results\":{\"type\":\"array\"},"
		"\"state\":{\"type\":\"string\","
		"\"enum\":[\"kept\",\"lost\",\"none\"]},"
		"\"timed_out\":{\"type\":\"boolean\"},"
		"\"truncated\":{\"type\":\"boolean\"},"
		"\"files\":{\"type\":\"array\"}},"
		"\"required\":[\"status\",\"exit_code\",\"stdout\",\"stderr\"]}";

	return json_loads(text, 0, NULL);
}

json_t *mcp_tools_list(const struct mcp *m)
{
	const bool network = egress_offer(m->gateway).network;
	auto_buf struct buf words = { 0 };
	json_t *list = json_array();

	egress_words(m->gateway, &words);
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		const struct tool *t = &tools[i];
		auto_buf struct buf about = { 0 };
		json_t *one;

		buf_str(&about, t->about);
		if (t->about_end)
			buf_fmt(&about, "%s%s", words.data, t->about_end);
		one = json_pack("{s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b}}", "name", t->name,
				"title", t->title, "description",
				text_string(about.data, about.len), "inputSchema",
				input_schema(t), "annotations", "readOnlyHint", t->reads,
				"destructiveHint", t->destroys, "openWorldHint",
				t->about_end && network);
		if (t->run)
			json_object_set_new(one, "outputSchema", output_schema());
		json_array_append_new(list, one);
	}
	return list;
}

/* --- a call ------------------------------------------------------------------------- */

static bool is_choice(const struct argument *a, const char *text)
{
	for (unsigned i = 0; a->choices && a->choices[i]; i++)
		if (!strcmp(a->choices[i], text))
			return true;
	return !a->choices;
}

/* Checks a value. Return: false, and wrong says why. */
static bool check_value(const struct argument *a, const json_t *value,
			char wrong[200])
{
	int64_t number = 0;

	if (a->kind <= BYTES && !json_is_string(value))
		snprintf(wrong, 200, "%s must be a string", a->name);
	else if (a->kind == TEXT && text_has_nul(value))
		snprintf(wrong, 200, "%s has a NUL (\\u0000), which it cannot "
			 "have", a->name);
	else if (a->kind == TEXT && !is_choice(a, json_string_value(value)))
		snprintf(wrong, 200, "%s is \"%.40s\"; it must be one of %s",
			 a->name, json_string_value(value), lang_names_text());
	else if (a->kind == NUMBER && (!mcp_read_number(value, &number) ||
				       number < a->least || number > a->most))
		snprintf(wrong, 200, "%s must be an integer from %" PRId64
			 " to %" PRId64, a->name, a->least, a->most);
	else if (a->kind == TEXTS && !text_are_strings(value))
		snprintf(wrong, 200, "%s must be an object of strings", a->name);
	else
		return true;
	return false;
}

static const struct argument *find_argument(const struct tool *t,
					    const char *name)
{
	for (const struct argument *a = t->argument; a->name; a++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

static bool sandbox_is_good(const char *name)
{
	return *name && strlen(name) <= 64 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
			    "xyz0123456789._-") == strlen(name);
}

static bool check(const struct tool *t, const json_t *arguments,
		  char wrong[200])
{
	const char *sandbox = text_member(arguments, "sandbox"), *name;
	json_t *value;

	for (const struct argument *a = t->argument; a->name; a++)
		if (a->required && !json_object_get(arguments, a->name)) {
			snprintf(wrong, 200, "%s is missing", a->name);
			return false;
		}
	json_object_foreach((json_t *)(uintptr_t)arguments, name, value) {
		const struct argument *a = find_argument(t, name);

		if (!a) {
			snprintf(wrong, 200, "%s has no argument \"%.60s\"",
				 t->name, name);
			return false;
		}
		if (!check_value(a, value, wrong))
			return false;
	}
	if (!sandbox || sandbox_is_good(sandbox))
		return true;
	snprintf(wrong, 200, "sandbox must be 1 to 64 of A-Z a-z 0-9 . _ -");
	return false;
}

static enum mcp_state replied(struct mcp *m, json_t *reply)
{
	m->status = 200;
	m->answer = reply;
	return MCP_REPLIED;
}

/* Copies the arguments without nulls, which some clients send for those left
 * out. */
static json_t *without_nulls(const json_t *given)
{
	json_t *copy = json_object(), *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)given, name, value)
		if (!json_is_null(value))
			json_object_set(copy, name, value);
	return copy;
}

/* Wrong arguments become a result that says so: a model reads it and corrects
 * them, while many clients stop at an error of the protocol. */
enum mcp_state mcp_tools_call(struct mcp *m)
{
	const char *name = text_member(m->params, "name");
	json_t *given = json_object_get(m->params, "arguments");
	auto_json json_t *arguments = NULL;
	const struct tool *t = NULL;
	json_t *result;
	char wrong[200];

	for (size_t i = 0; name && i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name))
			t = &tools[i];
	if (!t) {
		snprintf(wrong, sizeof(wrong), "there is no tool \"%.80s\"",
			 name ? name : "");
		return replied(m, mcp_error(m, MCP_BAD_PARAMS, wrong));
	}
	if (given && !json_is_null(given) && !json_is_object(given))
		return replied(m, mcp_reply(m, mcp_tool_failed(
			"arguments must be an object")));
	arguments = without_nulls(given);
	if (!check(t, arguments, wrong))
		return replied(m, mcp_reply(m, mcp_tool_failed(wrong)));
	if (t->run)
		return t->run(m, arguments);
	result = t->fn(m, arguments);
	return replied(m, result ? mcp_reply(m, result) : m->answer);
}
