/* SPDX-License-Identifier: Apache-2.0 */
/* What a cell gave becomes lines; texts of foreign protocols. */
#include "fsd/gateway/code/code.h"

#include <stdlib.h>

#include "layout/base/cleanup.h"
#include "tests/unit/tap.h"

#define END "{\"type\":\"end_of_execution\"}\n"

static int read_file(void *arg, const char *path, struct buf *out)
{
	(void)arg;
	return !strcmp(path, "big.png") ? buf_str(out, "PNG")
	       : !strcmp(path, "much.png") ? -EAGAIN : -EFBIG;
}

static void gives(const char *sentence, const char *result,
		  const struct cell_end *given, const char *lines)
{
	auto_json json_t *json = json_loads(result, 0, NULL);
	auto_buf struct buf out = { 0 };
	static const bool none[CELL_SHOWN];
	struct cell_end end = given ? *given : (struct cell_end){ 0 };

	end.read = read_file;
	end.shown = end.shown ? end.shown : none;
	cell_lines(&out, json, &end);
	is_str(out.data, lines, "%s", sentence);
}

static void test_shown(void)
{
	auto_json json_t *one = json_loads(
		"{\"bundle\":1,\"main\":false,\"results\":[{\"mime\":\"text/plain\","
		"\"data\":\"x\",\"bundle\":1},{\"mime\":\"image/png\",\"base64\":"
		"\"AA==\",\"bundle\":1}]}", 0, NULL);
	auto_json json_t *odd = json_loads(
		"{\"results\":[{\"mime\":\"text/plain\",\"data\":\"x\"}]}", 0, NULL);
	auto_json json_t *path = json_loads(
		"{\"results\":[{\"mime\":\"text/plain\",\"path\":\"big.png\","
		"\"bundle\":2}]}", 0, NULL);
	bool told[CELL_SHOWN] = { false };
	auto_buf struct buf out = { 0 };

	cell_shown(&out, one, told);
	cell_shown(&out, one, told);
	cell_shown(&out, odd, told);
	is_str(out.data, "{\"type\":\"result\",\"extra\":{},\"text\":\"x\","
	       "\"png\":\"AA==\",\"is_main_result\":false}\n",
	       "what is shown is told once, and what has no number not at all");
	ok(told[1] && !told[2], "its number is noted");
	gives("what was told when it was shown is not told at the end",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":["
	      "{\"mime\":\"text/plain\",\"data\":\"x\",\"bundle\":1},"
	      "{\"mime\":\"a/b\",\"data\":\"y\",\"bundle\":2}]}",
	      &(struct cell_end){ .shown = told },
	      "{\"type\":\"result\",\"extra\":{\"a/b\":\"y\"},"
	      "\"is_main_result\":false}\n" END);
	buf_clear(&out);
	cell_shown(&out, path, told);
	is_str(out.data, "{\"type\":\"result\",\"extra\":{},"
	       "\"is_main_result\":false}\n",
	       "a path among what is shown is not read");
}

static void test_results(void)
{
	gives("a value",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":[{\"mime\":"
	      "\"text/plain\",\"data\":\"'a'\",\"bundle\":0,\"main\":true}]}",
	      NULL,
	      "{\"type\":\"result\",\"extra\":{},\"text\":\"a\","
	      "\"is_main_result\":true}\n" END);
	gives("one display is one line, whatever types it has",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":["
	      "{\"mime\":\"text/plain\",\"data\":\"x\",\"bundle\":0,\"main\":false},"
	      "{\"mime\":\"image/png\",\"base64\":\"AA==\",\"bundle\":0},"
	      "{\"mime\":\"a/b\",\"data\":\"y\",\"bundle\":1}]}",
	      NULL,
	      "{\"type\":\"result\",\"extra\":{},\"text\":\"x\",\"png\":\"AA==\","
	      "\"is_main_result\":false}\n"
	      "{\"type\":\"result\",\"extra\":{\"a/b\":\"y\"},"
	      "\"is_main_result\":false}\n" END);
	gives("a large one is read from the output",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":["
	      "{\"mime\":\"image/png\",\"path\":\"big.png\",\"main\":true}]}",
	      NULL,
	      "{\"type\":\"result\",\"extra\":{},\"png\":\"UE5H\","
	      "\"is_main_result\":true}\n" END);
	gives("one that has no memory now is told of",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":["
	      "{\"mime\":\"image/png\",\"path\":\"much.png\",\"main\":true}]}",
	      NULL,
	      "{\"type\":\"stderr\",\"text\":\"A result of the type image/png is "
	      "left out: results of this client take as much memory as they may\\n\","
	      "\"timestamp\":\"\"}\n"
	      "{\"type\":\"result\",\"extra\":{},\"is_main_result\":true}\n" END);
	gives("one that is too large is told of",
	      "{\"status\":\"exited\",\"exit_code\":0,\"results\":["
	      "{\"mime\":\"image/png\",\"path\":\"huge.png\",\"main\":true}]}",
	      NULL,
	      "{\"type\":\"stderr\",\"text\":\"A result of the type image/png is "
	      "left out: it is longer than 32 MiB\\n\",\"timestamp\":\"\"}\n"
	      "{\"type\":\"result\",\"extra\":{},\"is_main_result\":true}\n" END);
}

static void test_ends(void)
{
	struct cell_end end = { .memory_mb = 64 };

	gives("an exception",
	      "{\"status\":\"exited\",\"exit_code\":1,\"error\":{\"name\":\"E\","
	      "\"value\":\"\\u00e9\",\"traceback\":\"t\"}}",
	      NULL,
	      "{\"type\":\"error\",\"name\":\"E\",\"value\":\"\\u00E9\","
	      "\"traceback\":\"t\"}\n" END);
	gives("an exit", "{\"status\":\"exited\",\"exit_code\":3,\"language\":\"bash\"}",
	      NULL,
	      "{\"type\":\"error\",\"name\":\"ExitStatus\",\"value\":\"3\","
	      "\"traceback\":\"\"}\n" END);
	gives("too little memory", "{\"status\":\"out_of_memory\",\"exit_code\":137}",
	      &end,
	      "{\"type\":\"error\",\"name\":\"OutOfMemory\",\"value\":\"more than "
	      "64 MiB were needed; the interpreter's state is lost\","
	      "\"traceback\":\"\"}\n" END);
	end.restarted = true;
	gives("a restart", "{\"status\":\"cancelled\",\"exit_code\":137}", &end,
	      "{\"type\":\"error\",\"name\":\"ContextRestarting\",\"value\":"
	      "\"Context was restarted\",\"traceback\":\"\"}\n" END);
	end.restarted = false;
	end.message = "why";
	gives("no result at all", "null", &end,
	      "{\"type\":\"error\",\"name\":\"UnexpectedEndOfExecution\","
	      "\"value\":\"why\",\"traceback\":\"\"}\n" END);
}

static void test_output(void)
{
	auto_json json_t *event = json_loads(
		"{\"time\":\"T\",\"base64\":\"YYBi\"}", 0, NULL);
	auto_buf struct buf out = { 0 };

	cell_output(&out, "stdout", event);
	is_str(out.data, "{\"type\":\"stdout\",\"text\":\"a\\uFFFDb\","
	       "\"timestamp\":\"T\"}\n", "bytes that are no UTF-8");
}

static void copies(const char *sentence, const char *data, const char *text)
{
	auto_buf struct buf line = { 0 }, out = { 0 }, wanted = { 0 };
	bool good;

	buf_fmt(&line, "{\"time\": \"2026-01-02T03:04:05.678Z\", \"event\": "
		"\"stdout\", %s}", data);
	good = cell_copy(&out, line.data, line.len);
	if (text)
		buf_fmt(&wanted, "{\"type\":\"stdout\",\"text\":\"%s\",\"timestamp\""
			":\"2026-01-02T03:04:05.678Z\"}\n", text);
	is_int(good, text != NULL, "%s", sentence);
	is_str(out.data ? out.data : "", wanted.data ? wanted.data : "",
	       "and gives that");
}

static void test_copy(void)
{
	static const char *const bad[] = {
		"a\"", "\\", "\\x", "\\u00", "\\u004", "\\ud800", "\\u00g0", "\x01",
		"\xc3\xa9", "\x7f", "a\", \"b\": \"",
	};

	copies("plain output is copied", "\"data\": \"a\\n\\\"\\u001b\\\\\"",
	       "a\\n\\\"\\u001b\\\\");
	copies("and of no length", "\"data\": \"\"", "");
	copies("bytes that are no UTF-8 are not", "\"base64\": \"YQ==\"", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf struct buf data = { 0 };

		buf_fmt(&data, "\"data\": \"%s\"", bad[i]);
		copies("a string that has to be parsed is not", data.data, NULL);
	}
	copies("nor what is cut", "\"data\": \"", NULL);
}

static void test_base64(void)
{
	static const char *const good[][2] = {
		{ "", "" }, { "YQ==", "a" }, { "YWI=", "ab" }, { "YWJj", "abc" },
		{ "YWI", "ab" }, { "Y\nW\rI=", "ab" }, { "_-8=", "\xff\xef" },
	};
	static const char *const bad[] = { "Y", "YQ=a", "Y*==", "Y===" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		auto_buf struct buf out = { 0 };

		is_int(text_unbase64(&out, good[i][0], strlen(good[i][0])), 0,
		       "\"%s\" is base64", good[i][0]);
		is_str(out.data ? out.data : "", good[i][1], "of that");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf struct buf out = { 0 };

		is_int(text_unbase64(&out, bad[i], strlen(bad[i])), -EINVAL,
		       "\"%s\" is none", bad[i]);
	}
}

static void test_times(void)
{
	char text[32];

	text_time(1767323045678, text);
	is_str(text, "2026-01-02T03:04:05.678Z", "a time");
	is_int(text_untime(text), 1767323045678, "and back");
	is_int(text_untime("2026-01-02T03:04:05Z"), 1767323045000, "without a part");
	is_int(text_untime("2026-01-02"), -1, "a day is no time");
}

int main(void)
{
	test_shown();
	test_results();
	test_ends();
	test_output();
	test_copy();
	test_base64();
	test_times();
	return done_testing();
}
