/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's view of a request's head: target, route, host, origin, key, signature. */
#include "fsd/gateway/base/origin.h"
#include "fsd/gateway/routes.h"
#include "fsd/gateway/jobs/sandbox.h"
#include "fsd/gateway/control/sandbox_guard.h"
#include "fsd/gateway/base/text.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

static void test_targets(void)
{
	struct target t;

	is_int(target_parse("/a%2Fb//c?x=1&y=a+b%20c&z", &t), 0, "a target");
	is_int(t.parts, 2, "empty parts do not count");
	is_str(t.part[0], "a/b", "%%2F is no separator");
	is_str(target_query(&t, "y"), "a b c", "a query is decoded once");
	is_str(target_query(&t, "z"), "", "a name without a value");
	is_str(target_query(&t, "w"), NULL, "a name that is not there");
	target_done(&t);
	is_int(target_parse("/a%00b", &t), -EINVAL, "a NUL in the path");
	target_done(&t);
	is_int(target_parse("/a?b=%00", &t), -EINVAL, "a NUL in the query");
	target_done(&t);
	is_int(target_parse("/a/%2e%2e/b", &t), -EINVAL, "\"..\" however it is written");
	target_done(&t);
	is_int(target_parse("/a%4", &t), -EINVAL, "half of a %%XX");
	target_done(&t);
	is_int(target_parse("http://x/a", &t), -EINVAL, "a target without a slash first");
	target_done(&t);
	is_int(target_parse("/1/2/3/4/5/6/7/8/9/10/11/12/13", &t), -E2BIG,
	       "too many parts");
	target_done(&t);
}

static void is_route(const char *method, const char *uri, unsigned services,
		     const char *path, const char *part)
{
	const char *parts[TARGET_PARTS] = { 0 };
	const struct route *route;
	struct target t;
	bool other = false;

	target_parse(uri, &t);
	route = route_find(routes, method, &t, services, parts, &other);
	is_str(route ? route->path : other ? "405" : NULL, path, "%s %s", method,
	       uri);
	if (part)
		is_str(parts[0], part, "%s: its part", uri);
	target_done(&t);
}

static void test_routes(void)
{
	is_route("GET", "/health", SERVICE_CONTROL, "/health", NULL);
	is_route("GET", "/sandboxes/abc", SERVICE_ALL, "/sandboxes/{}", "abc");
	is_route("DELETE", "/sandboxes/abc/", SERVICE_ALL, "/sandboxes/{}", "abc");
	is_route("PATCH", "/sandboxes/abc", SERVICE_ALL, "405", NULL);
	is_route("GET", "/sandboxes/metrics", SERVICE_ALL, "/sandboxes/metrics",
		 NULL);
	is_route("POST", "/execute", SERVICE_ENVD, NULL, NULL);
	is_route("POST", "/execute", SERVICE_CODE, "/execute", NULL);
	is_route("GET", "/", SERVICE_ALL, "/", NULL);
	is_route("DELETE", "/volumes/x/y", SERVICE_ALL, "/volumes", NULL);
	is_route("GET", "/sandboxes/a/b/c", SERVICE_ALL, NULL, NULL);
}

static void test_table(void)
{
	for (const struct route *r = routes; r->path; r++) {
		ok((r->handler || r->tunnel) && r->service, "%s %s has a handler", r->method, r->path);
		ok(!(r->service & SERVICE_CONTROL) || r->key ||
			   !strcmp(r->path, "/health") || !strcmp(r->path, "/") ||
			   !strcmp(r->path, "/ui"),
		   "%s %s needs a key", r->method, r->path);
		ok(!(r->service & (SERVICE_CODE | SERVICE_ENVD)) || r->guard,
		   "%s %s is guarded", r->method, r->path);
	}
}

static void test_hosts(void)
{
	struct hosts h = { .domain = "sbx.example", .host = { "10.0.0.1" },
			   .hosts = 1, .origin = { "https://app.example" },
			   .origins = 1, .port = { 3000, 49999 }, .ports = 2 };
	static const struct {
		const char *host;
		bool ours;
	} rows[] = {
		{ "localhost", true }, { "LOCALHOST:3000", true },
		{ "127.0.0.1:3000", true }, { "[::1]:3000", true },
		{ "[::1]", true }, { "10.0.0.1", true },
		{ "sbx.example", true }, { "49983-abc.sbx.example:443", true },
		{ "8080-abc.localhost:3000", true },
		{ "evilsbx.example", false }, { "localhost.evil.example", false },
		{ "", false }, { "[::1", false }, { "localhost:80:80", false },
		{ "localhost:", false }, { "127.0.0.1.evil.example", false },
		{ "sbx.example.evil.example", false }, { NULL, false },
	};
	char id[64];
	unsigned port;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(host_is_ours(&h, rows[i].host), rows[i].ours,
		       "the host \"%s\"", rows[i].host ? rows[i].host : "(none)");
	ok(!origin_is_allowed(&h, "http://localhost:5000"), "it gets no CORS");
	ok(host_label(&h, "49999-abc.sbx.example", &port, id, sizeof(id)) &&
		   port == 49999 && !strcmp(id, "abc"), "a label of a port and an id");
	ok(host_label(&h, "8080-abc.localhost:3000", &port, id, sizeof(id)) &&
		   port == 8080 && !strcmp(id, "abc"), "a label under localhost");
	ok(!host_label(&h, "49999-abc.evil.example", &port, id, sizeof(id)),
	   "a label under another domain");
	ok(!host_label(&h, "127.0.0.1", &port, id, sizeof(id)), "no label");
	ok(!host_label(&h, "99999999-abc.sbx.example", &port, id, sizeof(id)),
	   "a port that is none");
}

static void test_origins(void)
{
	struct hosts h = { .domain = "sbx.example", .origin = { "https://app.example" },
			   .origins = 1, .port = { 3000, 80 }, .ports = 2 };
	static const struct {
		const char *origin, *host;
		bool ours;
	} rows[] = {
		{ "http://localhost:3000", "localhost:3000", true },
		{ "http://127.0.0.1:3000", "localhost:3000", true },
		{ "HTTP://LOCALHOST:3000", "localhost:3000", true },
		{ "http://[::1]:3000", "[::1]:3000", true },
		{ "http://localhost", "localhost", true },
		{ "https://app.example", "localhost:3000", true },
		{ "http://localhost:9999", "localhost:3000", false },
		{ "http://localhost:30000", "localhost:3000", false },
		{ "http://8080-abc.localhost:3000", "localhost:3000", false },
		{ "http://8080-abc.sbx.example:3000", "localhost:3000", false },
		{ "https://8080-abc.sbx.example", "sbx.example", false },
		{ "http://localhost:3000", NULL, true },
		{ "http://localhost:9999", NULL, false },
		{ "https://localhost:3000", "localhost:3000", false },
		{ "https://localhost", "localhost", false },
		{ "https://localhost", "localhost:3000", false },
		{ "https://sbx.example:8443", "sbx.example:8443", true },
		{ "https://sbx.example:8443", "sbx.example", false },
		{ "http://localhost:8080", "localhost:8080", true },
		{ "http://localhost:8080", "127.0.0.1:8080", false },
		{ "https://app.example.evil.example", "localhost:3000", false },
		{ "https://app.example:444", "localhost:3000", false },
		{ "http://evil.example:3000", "evil.example:3000", false },
		{ "http://localhost@evil.example", "localhost:3000", false },
		{ "http://evil@localhost:3000", "localhost:3000", false },
		{ "http://localhost:3000/x", "localhost:3000", false },
		{ "http://localhost:3000?x", "localhost:3000", false },
		{ "http://localhost/", "localhost:3000", false },
		{ "http://localhost#x", "localhost:3000", false },
		{ "http://localhost\\x", "localhost:3000", false },
		{ "http://localhost:", "localhost:3000", false },
		{ "http://localhost:003000", "localhost:3000", false },
		{ "http://localhost:4294970296", "localhost:3000", false },
		{ "http://", "localhost:3000", false },
		{ "file://localhost", "localhost:3000", false },
		{ "localhost:3000", "localhost:3000", false },
		{ "null", "localhost:3000", false },
		{ "", "localhost:3000", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(origin_is_ours(&h, rows[i].origin, rows[i].host),
		       rows[i].ours, "the origin \"%s\" asks \"%s\"",
		       rows[i].origin, rows[i].host ? rows[i].host : "(none)");
	h.ports = 1; /* 3000 only */
	ok(origin_is_ours(&h, "https://sbx.example", "sbx.example"),
	   "a page behind a proxy that ends TLS");
	ok(!origin_is_ours(&h, "https://sbx.example", "sbx.example:3000"),
	   "the same page asks what is behind the proxy");
}

static void test_keys(void)
{
	static const char text[] = "# ours\n\n  0123456789abcdef  first one \n"
				   "fedcba9876543210\r\n";
	struct keys keys = { .file = "x" };
	struct caller caller;
	struct err err;
	char key[45];

	is_int(keys_parse(&keys, text, strlen(text), &err), 0, "two keys");
	is_int(keys.count, 2, "comments and empty lines are none");
	ok(keys_find(&keys, "0123456789abcdef", &caller), "one of them");
	is_str(caller.label, "first one ", "its label");
	ok(keys_find(&keys, "fedcba9876543210", &caller), "the other");
	is_int(strlen(caller.owner), 16, "it is an owner");
	ok(!keys_find(&keys, "0123456789abcdeg", &caller), "a wrong key");
	ok(!keys_find(&keys, NULL, &caller), "none");
	keys_done(&keys);
	is_int(keys_parse(&keys, "short\n", 6, &err), -EINVAL, "a key that is short");
	keys_done(&keys);
	is_int(keys_parse(&keys, "#\n", 2, &err), -EINVAL, "a file without a key");
	keys_done(&keys);
	is_int(keys_new(key), 0, "a new key");
	is_int(strspn(key + 4, "0123456789abcdef"), 40, "it has 40 digits");
}

static void test_signature(void)
{
	char text[64];

	/* printf 'a.txt:read:user:token:123' | openssl dgst -sha256 -binary | base64 */
	sandbox_signature("a.txt", "read", "user", "token", "123", text);
	is_str(text, "v1_bfpU5LpWYqa5N/TEj+pbg5u5SndMk+ln0zTtwKuqTEc", "a signature that expires");
	sandbox_signature("a.txt", "write", "", "token", NULL, text);
	is_str(text, "v1_NZTacqiPXBPzo1ph+Jtmp5a1Z4bkb6e4jqoOcm4rW48", "one that does not");
	sandbox_hash("abc", text);
	is_str(text, "ba7816bf8f01cfea", "a sandbox's name is of its id's sum");
}

static void test_sentences(void)
{
#define DIR ".fsd/sandboxes/0123456789abcdef"
	static const char *const row[][2] = {
		{ DIR "/files/a/b: Not a directory", "/home/user/a/b: Not a directory" },
		{ DIR "/root/etc/x: gone", "/etc/x: gone" },
		{ DIR "/config.json: \"life\" is 0", "\"life\" is 0" },
		{ "gw.x.y: config.json: \"env\" is 1", "\"env\" is 1" },
		{ "gw.x: sandbox \"0123456789abcdef\" is paused; `echo resume > " DIR
		  "/ctl` goes on with it",
		  "the sandbox is paused; Sandbox.connect(ID) goes on with it" },
		{ "sandbox \"0123456789abcdef\" has ended", "the sandbox has ended" },
		{ "path /home/user/config.json: No such file",
		  "path /home/user/config.json: No such file" },
		{ "sandbox \"box\" is good", "sandbox \"box\" is good" },
		{ "", "" },
	};
	char room[TEXT_SENTENCE], text[2 * TEXT_SENTENCE];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		is_str(text_outside(row[i][0], room), row[i][1], "a client's words: %zu", i);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	is_int((long long)strlen(text_outside(text, room)), TEXT_SENTENCE - 1,
	       "a long sentence is cut");
}

static json_t *event_of(const char *line)
{
	return text_event(line, strlen(line));
}

static void test_events(void)
{
	static const char refused[] =
		"{\"event\": \"error\", \"message\": \"gw.x: sandbox "
		"\\\"0123456789abcdef\\\" is lost: " DIR "/files/a\"}";
	static const char result[] =
		"{\"event\": \"result\", \"result\": {\"message\": "
		"\"config.json: gw.x: it ends\", \"text\": \"gw.x: mine\"}}";
	static const char output[] =
		"{\"event\": \"stdout\", \"data\": \"gw.x: \\u0000 mine\"}";
	json_t *event = event_of(refused), *inner;

	is_str(text_member(event, "message"), "the sandbox is lost: /home/user/a",
	       "a refusal among the events is in the client's words");
	json_decref(event);
	event = event_of(result);
	inner = json_object_get(event, "result");
	is_str(text_member(inner, "message"), "it ends", "so is a result's message");
	is_str(text_member(inner, "text"), "gw.x: mine", "but not what the program says");
	json_decref(event);
	event = event_of(output);
	is_int((long long)json_string_length(json_object_get(event, "data")), 12,
	       "nor its output");
	json_decref(event);
	ok(!event_of("no event"), "a line may be none");
	text_result(NULL);
}

int main(void)
{
	test_targets();
	test_routes();
	test_table();
	test_hosts();
	test_origins();
	test_keys();
	test_signature();
	test_sentences();
	test_events();
	return done_testing();
}
