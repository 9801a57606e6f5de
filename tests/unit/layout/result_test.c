/* SPDX-License-Identifier: Apache-2.0 */
/* result.json: the whole text, what is null, and what the guest may say. */
#include "layout/result.h"
#include "layout/result_brief.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/limits.h"
#include "tests/unit/tap.h"

static const struct result_file files[] = {
	{ "plots", 0, NULL, 0755, true },
	{ "plots/a b.PNG", 1234, NULL, 0644, false },
	{ "50%\xff\n\"\\\x7f\xe6\x97\xa5.csv", 0, NULL, 04755, false },
};

static const struct result_left left[] = {
	{ "big", 9, "over output_limit" },
	{ "\xe9%", 0, "it cannot be read" },
};

static const struct result_connection connections[] = {
	{ "api.example", 443, "192.0.2.7", 805, 1572, 1234, "ok", NULL },
	{ "evil.example", 0, NULL, RESULT_UNKNOWN, RESULT_UNKNOWN, RESULT_UNKNOWN,
	  "denied", "no rule names it" },
};
static const struct result_network network = { 805, 1572, connections, 2, 3 };

static const struct result_port port = { 8080, 2, 5, 6 };

static const char *const missing[] = { "qemu-user", "qemu-seccomp", NULL };

static const struct result_attempt attempts[] = {
	{ true, STATUS_FAILED, "it \"broke\"", 1767323045000000000ull,
	  1767323045001000000ull },
	{ false, STATUS_EXITED, "never shown", 1, 1 },
	{ true, STATUS_INTERRUPTED, NULL, 0, 1767323045002000000ull },
};

static struct job_result full(void)
{
	return (struct job_result){
		.job = "hello",
		.id = "0123456789abcdef",
		.language = "python",
		.status = STATUS_SIGNALED,
		.exit_code = 139,
		.signal = 11,
		.program_exit_code = -1,
		.attempt = 4,
		.attempts = attempts,
		.stdin_read = 5,
		.stdout_bytes = 6,
		.stderr_dropped = 7,
		.output = files,
		.output_count = 3,
		.output_dropped = 2,
		.left = left,
		.left_count = 2,
		.guest_json = "{\"value\": [1.0, 12345678901234567890]}",
		.guest_len = 38,
		.wall_ms = 12,
		.user_ms = RESULT_UNKNOWN,
		.system_ms = 1,
		.peak_memory_bytes = 9000000,
		.peak_processes = RESULT_UNKNOWN,
		.queued_ms = 0,
		.machine_ms = 1,
		.run_ms = 12,
		.collect_ms = 2,
		.total_ms = 15,
		.environment = "data",
		.environment_id = "9c41d7702b1e",
		.warm = 0,
		.why = "\"env\" has TZ",
		.source = "warm",
		.accel = "tcg",
		.template_id = "00112233aabbccdd",
		.missing_walls = missing,
		.network = &network,
		.ports = &port,
		.port_count = 1,
		.created_ns = 1767323045678000000ull,
		.started_ns = 1767323045999999999ull,
		.ended_ns = 1767323046000000000ull,
		.kept_until_ns = 1767323106000000000ull,
	};
}

static const char full_text[] =
	"{\n"
	"  \"schema\": 1,\n"
	"  \"job\": \"hello\",\n"
	"  \"id\": \"0123456789abcdef\",\n"
	"  \"language\": \"python\",\n"
	"  \"session\": null,\n"
	"  \"session_state\": null,\n"
	"  \"step\": null,\n"
	"  \"environment\": {\"name\": \"data\", \"id\": \"9c41d7702b1e\", "
	"\"warm\": false, \"why\": \"\\\"env\\\" has TZ\"},\n"
	"  \"status\": \"signaled\",\n"
	"  \"exit_code\": 139,\n"
	"  \"signal\": \"SIGSEGV\",\n"
	"  \"message\": null,\n"
	"  \"program_exit_code\": null,\n"
	"  \"attempt\": 4,\n"
	"  \"attempts\": [\n"
	"    {\"status\": \"failed\", \"message\": \"it \\\"broke\\\"\", "
	"\"started\": \"2026-01-02T03:04:05.000Z\", "
	"\"ended\": \"2026-01-02T03:04:05.001Z\"},\n"
	"    {\"status\": null, \"message\": null, \"started\": null, "
	"\"ended\": null},\n"
	"    {\"status\": \"interrupted\", \"message\": null, "
	"\"started\": null, \"ended\": \"2026-01-02T03:04:05.002Z\"}\n"
	"  ],\n"
	"  \"stdin\": {\"read\": 5},\n"
	"  \"stdout\": {\"bytes\": 6, \"dropped\": 0},\n"
	"  \"stderr\": {\"bytes\": 0, \"dropped\": 7},\n"
	"  \"output\": [\n"
	"    {\"path\": \"plots\", \"bytes\": 0, \"mode\": \"0755\", "
	"\"mime\": \"inode/directory\"},\n"
	"    {\"path\": \"plots/a b.PNG\", \"bytes\": 1234, \"mode\": "
	"\"0644\", \"mime\": \"image/png\"},\n"
	"    {\"path\": \"50%25%FF\\n\\\"\\\\\\u007f\xe6\x97\xa5.csv\", "
	"\"path_encoding\": \"percent\", \"bytes\": 0, \"mode\": \"4755\", \"mime\": \"text/csv\"}\n"
	"  ],\n"
	"  \"output_dropped\": 2,\n"
	"  \"output_left_out\": [\n"
	"    {\"path\": \"big\", \"bytes\": 9, \"reason\": "
	"\"over output_limit\"},\n"
	"    {\"path\": \"%E9%25\", \"path_encoding\": \"percent\", "
	"\"bytes\": 0, \"reason\": \"it cannot be read\"}\n"
	"  ],\n"
	"  \"value\": [1.0,12345678901234567890],\n"
	"  \"text\": null,\n"
	"  \"results\": null,\n"
	"  \"error\": null,\n"
	"  \"usage\": {\"wall_ms\": 12, \"user_ms\": null, \"system_ms\": 1, "
	"\"peak_memory_bytes\": 9000000, \"peak_processes\": null},\n"
	"  \"timing\": {\"queued_ms\": 0, \"machine_ms\": 1, \"run_ms\": 12, "
	"\"collect_ms\": 2, \"total_ms\": 15},\n"
	"  \"machine\": {\"source\": \"warm\", \"accel\": \"tcg\", "
	"\"template\": \"00112233aabbccdd\", "
	"\"missing_walls\": [\"qemu-user\", \"qemu-seccomp\"]},\n"
	"  \"network\": {\"sent\": 805, \"received\": 1572, \"connections\": [\n"
	"    {\"host\": \"api.example\", \"port\": 443, \"address\": \"192.0.2.7\", "
	"\"sent\": 805, \"received\": 1572, \"ms\": 1234, \"verdict\": \"ok\", "
	"\"reason\": null},\n"
	"    {\"host\": \"evil.example\", \"port\": null, \"address\": null, "
	"\"sent\": null, \"received\": null, \"ms\": null, \"verdict\": \"denied\", "
	"\"reason\": \"no rule names it\"}\n"
	"  ], \"dropped\": 3},\n"
	"  \"ports\": [\n"
	"    {\"port\": 8080, \"connections\": 2, \"sent\": 5, \"received\": 6}\n"
	"  ],\n"
	"  \"created\": \"2026-01-02T03:04:05.678Z\",\n"
	"  \"started\": \"2026-01-02T03:04:05.999Z\",\n"
	"  \"ended\": \"2026-01-02T03:04:06.000Z\",\n"
	"  \"kept_until\": \"2026-01-02T03:05:06.000Z\"\n"
	"}\n";

static void test_whole(void)
{
	struct job_result r = full();
	auto_buf struct buf out = { .cap = 0 };

	is_int(result_render(&r, &out), 0, "a result is rendered");
	is_str(out.data, full_text, "every field, in order, to the byte");
	buf_done(&out);
	out.cap = 500;
	is_int(result_render(&r, &out), -EFBIG, "a caller's cap holds");
}

/* The text behind a key, up to the line's end. */
static const char *line_of(const struct job_result *r, const char *key)
{
	static char line[1024];
	auto_buf struct buf out = { .cap = 0 };
	char start[64];
	const char *at;

	if (result_render(r, &out) < 0)
		return NULL;
	snprintf(start, sizeof(start), "\n  \"%s\": ", key);
	at = strstr(out.data, start);
	if (!at)
		return NULL;
	at += strlen(start);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

static void test_absent(void)
{
	struct job_result r = {
		.status = STATUS_FAILED,
		.exit_code = 125,
		.message = "no machine could be had: \"qemu\" is missing\n",
		.program_exit_code = 3,
		.stdout_bytes = RESULT_UNKNOWN,
		.wall_ms = RESULT_UNKNOWN,
	};

	is_str(line_of(&r, "job"), "null,", "no name is null");
	is_str(line_of(&r, "status"), "\"failed\",", "a word for the end");
	is_str(line_of(&r, "signal"), "null,", "no signal is null");
	is_str(line_of(&r, "message"), "\"no machine could be had: \\\"qemu\\\" "
	       "is missing\\n\",", "a message is quoted");
	is_str(line_of(&r, "program_exit_code"), "3,", "the program's code");
	is_str(line_of(&r, "stdout"), "{\"bytes\": null, \"dropped\": 0},",
	       "an unknown size is null");
	is_str(line_of(&r, "output"), "[],", "no files are an empty list");
	is_str(line_of(&r, "value"), "null,", "no value is null");
	is_str(line_of(&r, "machine"), "{\"source\": null, \"accel\": null, "
	       "\"template\": null, \"missing_walls\": null},",
	       "no machine is four nulls");
	is_str(line_of(&r, "ended"), "null,", "no time is null");
}

static void says(const char *json, const char *value, const char *error,
		 const char *message)
{
	struct job_result r = full();

	r.guest_json = json;
	r.guest_len = strlen(json);
	is_str(line_of(&r, "value"), value, "value of %.70s", json);
	is_str(line_of(&r, "error"), error, "error of %.70s", json);
	is_str(line_of(&r, "message"), message, "message of %.70s", json);
}

static void test_guest(void)
{
	says("", "null,", "null,", "null,");
	says("{\"value\": null}", "null,", "null,", "null,");
	says("{\"value\": \"a\\n\"}", "\"a\\n\",", "null,", "null,");
	says("{\"value\": {\"value\": 1e999, \"a\" : [ ]}}",
	     "{\"value\":1e999,\"a\":[]},", "null,", "null,");
	says("{\"value\": {\"a\\u0000b\": \"\\u0000\", \"\\\\u0000\": "
	     "9007199254740993}}",
	     "{\"a\\u0000b\":\"\\u0000\",\"\\\\u0000\":9007199254740993},",
	     "null,", "null,");
	says("{\"value\": \"\\ud800\"}", "null,", "null,", "\"the program's "
	     "value was not kept: line 1, column 18: half of a character stands "
	     "before this; its other half, \\\\udc00 to \\\\udfff, is "
	     "missing\",");
	says("{\"error\": {\"name\": \"E\", \"value\": \"v\", \"traceback\": "
	     "\"T\\n\", \"x\": 1}}", "null,", "{\"name\": \"E\", \"value\": "
	     "\"v\", \"traceback\": \"T\\n\"},", "null,");
	says("{\"error\": {\"name\": 3}}", "null,", "{\"name\": null, "
	     "\"value\": null, \"traceback\": null},", "null,");
	says("{\"error\": \"E\"}", "null,", "null,", "null,");
	says("[1]", "null,", "null,", "\"the program's value was not kept: it "
	     "is not an object\",");
	says("{\"value\": 1", "null,", "null,", "\"the program's value was not "
	     "kept: the JSON text ends too early, at byte 11\",");
	says("{\"value\": 1}\n{\"value\": 2}", "null,", "null,", "\"the "
	     "program's value was not kept: line 2, column 1: a second "
	     "object begins here; there is to be one\",");
	says("{\"value\": 1, \"value\": 2}", "null,", "null,", "\"the "
	     "program's value was not kept: line 1, column 20: duplicate "
	     "object key near '\\\"value\\\"'\",");
	says("{\"value\": 1}, \"exit_code\": 0, \"x\": {\"y\": 2}", "null,",
	     "null,", "\"the program's value was not kept: line 1, column 13: "
	     ", stands behind the end; nothing may\",");
	says("{\"value\": \"\xff\"}", "null,", "null,", "\"the program's value "
	     "was not kept: byte 11 (0xff) is not valid UTF-8\",");
	says("{\"value\": NaN}", "null,", "null,", "\"the program's value was "
	     "not kept: line 1, column 11: NaN is no number of JSON\",");
}

static void test_guest_bounds(void)
{
	struct job_result r = full();
	size_t len = LIMIT_VALUE_BYTES + 1;
	char *text = calloc(1, len + 1);
	size_t at;

	if (!text)
		abort();
	memset(text, ' ', len);
	r.guest_json = text;
	r.guest_len = len;
	is_str(line_of(&r, "message"), "\"the program's value was not kept: it "
	       "has 16777217 bytes; at most 16777216 are kept\",",
	       "a value that is too big is not kept");
	at = (size_t)sprintf(text, "{\"value\":");
	memset(text + at, '[', 255);
	memset(text + at + 255, ']', 255);
	strcpy(text + at + 510, "}");
	r.guest_len = strlen(text);
	is_str(line_of(&r, "message"), "null,", "256 levels are kept");
	memset(text + at, '[', 1000);
	memset(text + at + 1000, ']', 1000);
	strcpy(text + at + 2000, "}");
	r.guest_len = strlen(text);
	is_str(line_of(&r, "value"), "null,", "1001 levels are not");
	r.message = "it ran";
	is_str(line_of(&r, "message"), "\"it ran; the program's value was not "
	       "kept: byte 264: nested deeper than 256 levels\",",
	       "and the message has both sentences");
	free(text);
}

/* Each part takes memory: a text of 6 MB makes no gigabytes. */
static void test_guest_parts(void)
{
	const size_t count = 2000000;
	char *text = malloc(3 * count + 100), *p = text;
	struct job_result r = { .job = "j", .id = "i" };

	if (!text)
		return;
	p += sprintf(p, "{\"value\": [0");
	for (size_t i = 0; i < count - 4; i++)
		p = stpcpy(p, ",1");
	strcpy(p, "]}");
	r.guest_json = text;
	r.guest_len = strlen(text);
	is_str(line_of(&r, "message"), "\"the program's value was not kept: it "
	       "has more than 2000000 numbers and strings; a list or an object "
	       "counts as 4 of them\",", "a value of too many parts is not kept");
	p = text + sprintf(text, "{\"value\": [{}");
	for (size_t i = 0; i < 399997; i++)
		p = stpcpy(p, ",{}");
	strcpy(p, "]}");
	r.guest_len = strlen(text);
	is_str(line_of(&r, "message"), "null,", "399998 objects are kept");
	strcpy(p, ",{}]}");
	r.guest_len = strlen(text);
	is_str(line_of(&r, "value"), "null,", "one more is not");
	free(text);
}

static void test_rich_paths(void)
{
	static const struct result_file made[] = {
		{ .path = "d", .is_dir = true }, { .path = "d/plot.png" },
	};
	static const char *const lies[] = {
		"../d/plot.png", "/etc/passwd", "d", "d/plot.png\\u0000x", "",
		"d/none", "d/../d/plot.png",
	};
	struct job_result r = { .job = "j", .id = "i", .output = made,
				.output_count = 2 };
	char text[200];

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		snprintf(text, sizeof(text), "{\"results\": [{\"mime\": \"a/b\", "
			 "\"path\": \"%s\"}]}", lies[i]);
		r.guest_json = text;
		r.guest_len = strlen(text);
		is_str(line_of(&r, "results"), "[],",
		       "a path that is no file of output: %s", lies[i]);
	}
}

static void test_bundles(void)
{
	static const struct {
		const char *said, *told;
	} cases[] = {
		{ "\"bundle\": 3, \"main\": true",
		  "\"bundle\": 3, \"main\": true" },
		{ "\"main\": 1", "\"bundle\": null, \"main\": false" },
		{ "\"bundle\": -1, \"main\": \"true\"",
		  "\"bundle\": null, \"main\": false" },
		{ "\"bundle\": [2], \"main\": null",
		  "\"bundle\": null, \"main\": false" },
	};
	struct job_result r = { .job = "j", .id = "i", .step = 7 };
	char said[200], told[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf out = { .cap = 0 };

		snprintf(said, sizeof(said), "{\"results\": [{\"mime\": \"a/b\", "
			 "\"data\": 1, %s}]}", cases[i].said);
		snprintf(told, sizeof(told), "\n    {\"mime\": \"a/b\", "
			 "\"data\": 1, %s}\n", cases[i].told);
		r.guest_json = said;
		r.guest_len = strlen(said);
		is_int(result_render(&r, &out), 0, "it is rendered");
		ok(strstr(out.data, told), "%s is told as %s", cases[i].said,
		   cases[i].told);
	}
	is_str(line_of(&r, "step"), "7,", "which step it was");
}

static void test_mime(void)
{
	is_str(mime_by_name("a.csv"), "text/csv", "csv");
	is_str(mime_by_name("a.tar.gz"), "application/gzip", "tar.gz");
	is_str(mime_by_name("d.png/a"), "application/octet-stream",
	       "a directory's ending does not count");
	is_str(mime_by_name(".png"), "application/octet-stream",
	       "a hidden file has no ending");
	is_str(mime_by_name("d/.png"), "application/octet-stream",
	       "nor has one in a directory");
	is_str(mime_by_name(""), "application/octet-stream", "no name");
	is_str(mime_by_name("a."), "application/octet-stream", "no ending");
}

static void test_time(void)
{
	char room[32];

	time_render(0, room);
	is_str(room, "1970-01-01T00:00:00.000Z", "the epoch");
	time_render(1709210096001999999ull, room);
	is_str(room, "2024-02-29T12:34:56.001Z", "a leap day, cut to ms");
	time_render(UINT64_MAX - 1, room);
	is_str(room, "2554-07-21T23:34:33.709Z", "the last one");
}

static void test_leaves_out(void)
{
	static const char some[] = "{\"output_dropped\": 3, \"output_left_out\": ["
		"{\"path\": \"d/x\", \"bytes\": 0}, {\"path\": \"a%41\"}, "
		"{\"path\": \"b%FF%25/y\", \"path_encoding\": \"percent\"}]}";
	static const char more[] = "{\"output_dropped\": 2, \"output_left_out\": ["
		"{\"path\": \"d/x\"}]}";
	static const char none[] = "{\"output_dropped\": 0, \"output_left_out\": []}";
	static const struct {
		const char *path;
		bool left;
	} rows[] = {
		{ "d", true }, { "d/x", true }, { "d/x/deep", true }, { "d/xy", false },
		{ "d/y", false }, { "e", false }, { "a%41", true }, { "aA", false },
		{ "b\xff%", true }, { "b\xff%/y", true }, { "b%FF%25", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok(result_leaves_out(some, strlen(some), rows[i].path) == rows[i].left,
		   "%s was%s left out", rows[i].path, rows[i].left ? "" : " not");
	ok(result_leaves_out(more, strlen(more), "e"),
	   "what is not in the list may be left out if the list is not whole");
	ok(!result_leaves_out(none, strlen(none), "d"), "nothing was left out");
	ok(result_leaves_out("{", 1, "d"), "of a broken result nothing is known");
}

static void test_brief(void)
{
	static const char some_left[] =
		"{\"status\": \"exited\", \"message\": null, \"stdout\": "
		"{\"bytes\": 1, \"dropped\": 7}, \"output_dropped\": 12, "
		"\"output_left_out\": [{\"path\": \"a\\u001b[2J\\u009b\\u00e9\", \"bytes\": 5, "
		"\"reason\": \"a link\"}, 3, {\"path\": 4}]}";
	static const char of_session[] =
		"{\"session\": \"nb\", \"session_state\": \"lost\", "
		"\"text\": \"4\\n2\", \"value\": [1, 2e999]}";
	static const char no_values[] = "{\"text\": null, \"value\": null}";
	static const char *const no_results[] = { "", "[]", "{", "{} x" };
	auto_buf struct buf out = { 0 };
	struct job_result r = full();
	struct result_brief b;

	r.message = "it \"broke\"";
	is_int(result_render(&r, &out), 0, "a result is rendered");
	is_int(result_brief_read(out.data, out.len, &b), 0, "and read again");
	is_str(b.status, "signaled", "its status");
	is_str(b.message.data, "it \"broke\"", "its message");
	is_int(b.stderr_dropped, 7, "what was dropped");
	is_int(b.stdout_dropped, 0, "what was not");
	result_brief_done(&b);

	is_int(result_brief_read(some_left, strlen(some_left), &b), 0, "what was left out");
	is_int(b.stdout_dropped, 7, "is counted");
	is_int(b.left_out_count, 3, "and named, a line each");
	is_str(b.left_out.data, "a\\x1b[2J\\xc2\\x9b\xc3\xa9 (5 bytes): a link\n (0 bytes): \n "
	       "(0 bytes): \n", "without control characters of the guest");
	is_int(b.message.len, 0, "no message is an empty one");
	result_brief_done(&b);

	is_int(result_brief_read(of_session, strlen(of_session), &b), 0,
	       "a step of a session");
	ok(b.text.len == 3 && !memcmp(b.text.data, "4\n2", 3), "has its text");
	ok(b.value.len == 9 && !memcmp(b.value.data, "[1,2e999]", 9),
	   "and its value, as it was");
	is_str(b.session, "nb", "names its session");
	is_str(b.session_state, "lost", "and what came of it");
	result_brief_done(&b);

	is_int(result_brief_read(no_values, strlen(no_values), &b), 0,
	       "null for both");
	ok(!b.text.len && !b.value.len, "is nothing");
	result_brief_done(&b);

	for (size_t i = 0; i < 4; i++) {
		is_int(result_brief_read(no_results[i], strlen(no_results[i]),
					 &b), -EINVAL, "no result: %s",
		       no_results[i]);
		result_brief_done(&b);
	}
}

int main(void)
{
	test_brief();
	test_leaves_out();
	test_whole();
	test_absent();
	test_guest();
	test_guest_bounds();
	test_guest_parts();
	test_rich_paths();
	test_bundles();
	test_mime();
	test_time();
	return done_testing();
}
