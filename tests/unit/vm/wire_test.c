/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between host and guest: what is written is read, what lies is not. */
#include "guest/wire/wire_fs.h"
#include "guest/wire/wire_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

static const char *args[] = {"/home/user/code.py", "a b", ""};
static const char *env[] = {"HOME=/home/user", "X=\xc3\xbc"};

static struct wire_job sample_job(void)
{
	struct wire_job job = {
		.runner = WIRE_RUN_NODE,
		.mode = WIRE_MODE_CALL,
		.cpus = 2,
		.processes = 256,
		.memory_bytes = 1ull << 40,
		.stdout_limit = 1,
		.stderr_limit = 2,
		.output_limit = UINT64_MAX,
		.output_files = 7,
		.linger_ms = 60000,
		.fresh = 1,
		.realtime_ns = 1700000000123456789ull,
		.call = "main",
		.cwd = "/home/user/d",
		.argv = {3, args},
		.envp = {2, env},
	};

	return job;
}

static size_t encode_job(const struct wire_job *job, uint8_t *bytes,
			 size_t size)
{
	struct wire_writer w = {bytes, size, 0};

	wire_job_put(&w, job);
	return w.used;
}

static void test_header(void)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_header h = {0};

	wire_header_put(bytes, 0x1234, WIRE_KILL, WIRE_KILL_ALL);
	is_int(wire_header_get(bytes, &h), 0, "a header is read");
	is_int(h.length, 0x1234, "its length");
	is_int(h.type, WIRE_KILL, "its type");
	is_int(h.arg, WIRE_KILL_ALL, "its argument");
	is_int(bytes[0], 0x34, "integers are little-endian");

	wire_header_put(bytes, WIRE_PAYLOAD_MAX, WIRE_OUT, 0);
	is_int(wire_header_get(bytes, &h), 0, "a payload may be full");
	wire_header_put(bytes, WIRE_PAYLOAD_MAX + 1, WIRE_OUT, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "and not fuller");
	wire_header_put(bytes, WIRE_JOB_MAX, WIRE_JOB, 0);
	is_int(wire_header_get(bytes, &h), 0, "a JOB may be larger");
	wire_header_put(bytes, WIRE_JOB_MAX + 1, WIRE_JOB, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "within its own bound");
	wire_header_put(bytes, UINT32_MAX, WIRE_OUT, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "no length is negative");

	wire_header_put(bytes, 0, WIRE_NONE, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "no type is no frame");
	wire_header_put(bytes, 0, 14, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "nor is a gap");
	wire_header_put(bytes, 0, WIRE_TYPE_MAX, 0);
	is_int(wire_header_get(bytes, &h), -EPROTO, "nor what is beyond");
	wire_header_put(bytes, 0, WIRE_PING, 0);
	bytes[4] ^= 1;
	is_int(wire_header_get(bytes, &h), -EPROTO,
	       "another version's magic is refused");
}

static void test_lane(void)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_header h = {0};

	wire_header_put(bytes, WIRE_JOB_MAX, WIRE_JOB, 0);
	wire_lane_put(bytes, WIRE_LANE_MAX);
	is_int(wire_header_get(bytes, &h), -EPROTO,
	       "a lane is no part of a length");
	is_int(wire_lane_take(bytes), WIRE_LANE_MAX, "it is taken off");
	is_int(wire_header_get(bytes, &h), 0, "then the header is read");
	is_int(h.length, WIRE_JOB_MAX, "with its length");
	is_int(wire_lane_take(bytes), 0, "a lane is taken once");
}

static void test_share(void)
{
	struct wire_share got, share = {
		.memory_bytes = 1ull << 33, .processes = 256, .cpus = 2,
		.realtime_ns = 1700000000123456789ull,
	};
	uint8_t bytes[64];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	uint32_t pid = 9;

	wire_share_put(&w, &share);
	is_int(wire_share_get(bytes, w.used, &got), 0, "a SHARE is read");
	ok(!memcmp(&got, &share, sizeof(got)), "all of it");
	is_int(wire_share_get(bytes, w.used - 1, &got), -EPROTO,
	       "a short one is refused");
	bytes[12] = 0;
	is_int(wire_share_get(bytes, w.used, &got), -EPROTO,
	       "so is one without a processor");
	is_int(wire_pid_get(bytes, 0, &pid), 0, "STARTED may be empty");
	is_int(pid, 0, "then no pid is known");
	is_int(wire_pid_get("\1\2\0\0", 4, &pid), 0, "or have one");
	is_int(pid, 0x201, "which is read");
	is_int(wire_pid_get("\1\2\0", 3, &pid), -EPROTO, "but no part of one");
}

static size_t encode_network(const struct wire_network *net, uint8_t *bytes,
			     size_t size)
{
	struct wire_writer w = { bytes, size, 0 };

	wire_network_put(&w, net);
	return w.used;
}

static void test_network(void)
{
	struct wire_route route[] = {
		{ .first = { [10] = 0xff, 0xff, 10 }, .bits = 104 },
		{ .first = { 0x20, 0x01, 0x0d, 0xb8, [15] = 5 }, .bits = 128, .ip6 = true },
		{ .bits = 0, .ip6 = true },
	};
	struct wire_network got, net = { .flags = WIRE_NETWORK_FLAGS, .route_count = 3,
					 .route = route, .ca = "-----BEGIN CERTIFICATE-----\n" };
	uint8_t bytes[256];
	size_t size;

	size = encode_network(&net, bytes, sizeof(bytes));
	is_int(wire_network_get(bytes, size, &got), 0, "a NET is read");
	ok(got.flags == net.flags && got.route_count == 3 && !strcmp(got.ca, net.ca),
	   "its flags and certificates");
	ok(!memcmp(got.route, route, sizeof(route)), "and its blocks");
	wire_network_done(&got);
	is_int(wire_network_get(bytes, size - 1, &got), -EPROTO, "a short one is refused");
	bytes[8] = 95;
	is_int(wire_network_get(bytes, size, &got), -EPROTO,
	       "so is an IPv4 block that begins before the IPv4 addresses");
	bytes[8] = 102;
	is_int(wire_network_get(bytes, size, &got), -EPROTO,
	       "one whose address has bits after its prefix");
	bytes[8] = 104;
	bytes[4] = 255;
	bytes[5] = 255;
	is_int(wire_network_get(bytes, size, &got), -EPROTO,
	       "a count of blocks that are not there");
	net.flags = 0;
	size = encode_network(&net, bytes, sizeof(bytes));
	is_int(wire_network_get(bytes, size, &got), -EPROTO, "and one without a flag");
}

static void test_names(void)
{
	is_str(wire_type_name(WIRE_STDIN_ACK), "STDIN_ACK", "a type's name");
	is_str(wire_type_name(0), "?", "no type has no name");
	is_str(wire_type_name(WIRE_TYPE_MAX), "?", "nor has an unknown one");
	is_str(wire_type_name(UINT32_MAX), "?", "however large");
}

static void test_cursor(void)
{
	const uint8_t bytes[] = {1, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
	const uint8_t nul[] = {2, 0, 0, 0, 'a', 0};
	struct wire_cursor c;
	char *text;

	wire_begin(&c, bytes, sizeof(bytes));
	is_int(wire_get_u32(&c), 1, "a number is read");
	is_int(wire_end(&c), -EPROTO, "what is left over is an error");
	text = wire_get_str(&c, 3);
	is_str(text, "abc", "a text is read");
	free(text);
	is_int(wire_end(&c), 0, "then the payload is at its end");
	is_int((long long)wire_get_u64(&c), 0, "past it numbers are 0");
	is_str(wire_get_str(&c, 9), NULL, "texts are NULL");
	is_int(wire_end(&c), -EPROTO, "and the cursor has failed");

	wire_begin(&c, bytes + 4, sizeof(bytes) - 4);
	is_str(wire_get_str(&c, 2), NULL, "a text over its bound is refused");
	wire_begin(&c, bytes + 4, sizeof(bytes) - 5);
	is_str(wire_get_str(&c, 9), NULL, "so is one that is cut off");
	wire_begin(&c, nul, sizeof(nul));
	is_str(wire_get_str(&c, 9), NULL, "so is one with NUL inside");
	wire_begin(&c, bytes, 3);
	is_int(wire_get_u32(&c), 0, "half a number is none");
	wire_begin(&c, NULL, 0);
	is_int(wire_end(&c), 0, "an empty payload is at its end");
}

static void test_writer(void)
{
	uint8_t bytes[8];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	memset(bytes, 0xee, sizeof(bytes));
	wire_put_u32(&w, 1);
	wire_put_u64(&w, 2);
	is_int((long long)w.used, 12, "a writer counts past its end");
	is_int(bytes[0], 1, "what fits is written");
	ok(bytes[4] == 2 && bytes[7] == 0, "up to the end");
	wire_put_str(&w, "abc");
	is_int((long long)w.used, 19, "and goes on counting");
}

static void test_job(void)
{
	static uint8_t bytes[4096];
	struct wire_job job = sample_job(), got;
	size_t used = encode_job(&job, bytes, sizeof(bytes));

	is_int(wire_job_get(bytes, used, &got), 0, "a JOB is read");
	is_int(got.runner, job.runner, "its runner");
	is_int((long long)got.memory_bytes, (long long)job.memory_bytes,
	       "its memory");
	ok(got.output_limit == UINT64_MAX, "its largest number");
	is_int((long long)got.realtime_ns, (long long)job.realtime_ns,
	       "its time");
	is_int(got.linger_ms, 60000, "for how long what it leaves may linger");
	is_int(got.fresh, 1, "in which interpreter");
	is_str(got.call, "main", "its function");
	is_str(got.cwd, "/home/user/d", "where it starts");
	is_int(got.argv.count, 3, "its arguments");
	is_str(got.argv.item[1], "a b", "each of them");
	is_str(got.argv.item[2], "", "an empty one too");
	is_str(got.envp.item[1], env[1], "its environment");
	wire_job_done(&got);
	wire_job_done(&got);
	ok(!got.call && !got.argv.count, "wire_job_done() may come twice");

	unsigned refused = 0;

	for (size_t cut = 0; cut < used; cut++)
		refused += wire_job_get(bytes, cut, &got) == -EPROTO;
	is_int(refused, (long long)used, "a JOB cut off anywhere is refused");
	is_int(wire_job_get(bytes, used + 1, &got), -EPROTO,
	       "so is one with a byte too many");
}

/* One wrong field each. */
static void test_job_range(void)
{
	static uint8_t bytes[4096];
	struct wire_job job, got;

	job = sample_job();
	job.runner = WIRE_RUN_MAX;
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "an unknown runner is refused");
	job = sample_job();
	job.mode = WIRE_MODE_MAX;
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "an unknown mode");
	job = sample_job();
	job.argv.count = 0;
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "no argument at all");
	job = sample_job();
	job.cpus = 0;
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "no processor");
	job = sample_job();
	job.cwd = "d";
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "a start in no absolute path");
	job = sample_job();
	job.call = "";
	is_int(wire_job_get(bytes, encode_job(&job, bytes, sizeof(bytes)),
			    &got), -EPROTO, "a call of nothing");
}

/* A count that promises more than the payload can hold must not be believed:
 * it would be an allocation of the peer's choice. */
static void test_job_count(void)
{
	static uint8_t bytes[4096];
	struct wire_job job = sample_job(), got;
	size_t used = encode_job(&job, bytes, sizeof(bytes));
	size_t fixed = 4 * 4 + 4 * 8 + 3 * 4 + 8;
	size_t at = fixed + 4 + strlen(job.call) + 4 + strlen(job.cwd);

	is_int(bytes[at], 3, "the count of arguments is where it is thought");
	memset(bytes + at, 0xff, 4);
	is_int(wire_job_get(bytes, used, &got), -EPROTO,
	       "a count of four thousand million is refused");
	bytes[at] = 0xff;
	bytes[at + 1] = 0x0f;
	bytes[at + 2] = bytes[at + 3] = 0;
	is_int(wire_job_get(bytes, used, &got), -EPROTO,
	       "so is one within bounds that the payload cannot hold");
}

static void test_exit(void)
{
	struct wire_exit e = {
		.kind = WIRE_EXIT_SIGNAL,
		.value = 9,
		.unasked = 1,
		.left = 3,
		.begun = WIRE_BEGUN_ENV,
		.wall_ns = 1,
		.peak_processes = WIRE_UNKNOWN,
		.result_dropped = 12,
		.begun_by = "OMP_NUM_THREADS",
	};
	struct wire_exit got = {0};
	uint8_t bytes[WIRE_EXIT_MAX];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	wire_exit_put(&w, &e);
	is_int(wire_exit_get(bytes, w.used, &got), 0, "an EXIT is read");
	ok(!memcmp(&got, &e, sizeof(e)), "all of it");
	is_int(wire_exit_get(bytes, w.used - 1, &got), -EPROTO,
	       "a short one is refused");
	bytes[4] = 65;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "there is no signal 65");
	bytes[4] = 0;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO, "nor a signal 0");
	bytes[0] = WIRE_EXIT_CODE;
	is_int(wire_exit_get(bytes, w.used, &got), 0, "but a code 0");
	bytes[5] = 1;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO, "and no 256");
	bytes[5] = 0;
	bytes[12] = 2;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "unasked is a yes or a no");
	bytes[12] = 1;
	bytes[0] = WIRE_EXIT_KIND_MAX;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "an unknown kind is refused");
	bytes[0] = WIRE_EXIT_CODE;
	bytes[20] = WIRE_BEGUN_WARM;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "a warm interpreter has no reason");
	bytes[20] = WIRE_BEGUN_FILE;
	is_int(wire_exit_get(bytes, w.used, &got), 0, "a fresh one has");
	is_str(got.begun_by, e.begun_by, "and it is told");
	bytes[w.used - 1] = 0x1b;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "a reason is printable");
	bytes[20] = WIRE_BEGUN_MAX;
	is_int(wire_exit_get(bytes, w.used, &got), -EPROTO,
	       "an unknown begin is refused");
}

static void test_cold(void)
{
	ok(wire_cold_ok(""), "nothing is cold");
	ok(wire_cold_ok("a: b\nc: d\n"), "two modules are");
	ok(!wire_cold_ok("a: b"), "a line has its end");
	ok(!wire_cold_ok("a\n\nb\n"), "none is empty");
	ok(!wire_cold_ok("a\t\n"), "nor has control characters");
}

static void test_links(void)
{
	static const struct {
		unsigned depth;
		const char *target;
		bool ok;
	} links[] = {
		{ 0, "a", true }, { 0, "a/b", true }, { 0, "./a//b/.", true },
		{ 0, ".", true }, { 0, "..", false }, { 1, "..", true },
		{ 1, "../a", true }, { 1, "../..", false },
		{ 2, "../../x", true }, { 0, "a/..", true },
		{ 0, "a/../..", false }, { 0, "a/../b", true },
		{ 1, "a/../../../b", false }, { 0, "", false },
		{ 0, "/a", false }, { 5, "/", false }, { 0, "...", true },
		{ 0, "..a", true }, { 3, "../../../../etc/passwd", false },
	};
	char long_name[300];

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		ok(wire_link_ok(links[i].depth, links[i].target) == links[i].ok,
		   "%s, %u deep, is judged", links[i].target, links[i].depth);
	memset(long_name, 'x', sizeof(long_name));
	long_name[256] = '\0';
	ok(!wire_link_ok(0, long_name), "no name has 256 bytes");
	is_int(wire_path_depth("a"), 0, "a name has no directory");
	is_int(wire_path_depth("a/b/c"), 2, "a path has");
}

static void test_path(void)
{
	static const char *const good[] = {
		"a", "a/b", "...", ".a", "a/..b", "%2e%2e", "a\\b", "a b",
		"\xf0\x9f\x98\x80",
	};
	static const char *const bad[] = {
		"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/..", "../a",
		"a/../b", "./a",
	};
	char path[WIRE_PATH_MAX + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(wire_path_ok(good[i]), "%s is a path", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!wire_path_ok(bad[i]), "%s is none", bad[i]);
	test_links();

	memset(path, 'a', sizeof(path));
	path[255] = '\0';
	ok(wire_path_ok(path), "a name has 255 bytes");
	path[255] = 'a';
	path[256] = '\0';
	ok(!wire_path_ok(path), "and not 256");

	for (size_t i = 0; i < 64; i++)
		memcpy(path + 2 * i, "a/", 2);
	path[127] = '\0';
	ok(wire_path_ok(path), "64 components are good");
	memcpy(path + 127, "/a", 3);
	ok(!wire_path_ok(path), "65 are not");

	memset(path, 'a', sizeof(path));
	for (size_t i = 200; i < sizeof(path); i += 200)
		path[i] = '/';
	path[WIRE_PATH_MAX] = '\0';
	ok(wire_path_ok(path), "a path has 4095 bytes");
	path[WIRE_PATH_MAX] = 'a';
	path[WIRE_PATH_MAX + 1] = '\0';
	ok(!wire_path_ok(path), "and not 4096");
}

static size_t fs_bytes(uint8_t *room, size_t size, const struct wire_fs *fs)
{
	struct wire_writer w = {room, size, 0};

	wire_fs_put(&w, fs);
	return w.used;
}

static void fs_refused(const struct wire_fs *fs, const char *name)
{
	static uint8_t room[WIRE_FS_REQUEST_MAX + 100];
	struct wire_fs got;
	size_t n = fs_bytes(room, sizeof(room), fs);

	is_int(wire_fs_get(room, n, &got), -EPROTO, "FS: %s is refused", name);
}

static void test_fs(void)
{
	static char long_path[WIRE_PATH_MAX + 1];
	static uint8_t room[WIRE_FS_REQUEST_MAX], data[WIRE_FS_CHUNK + 1];
	char path[] = "d/f", to[] = "d/g", empty[] = "", up[] = "../f";
	struct wire_fs got, fs = {
		.id = 7, .op = WIRE_FS_WRITE, .path = path, .offset = 1ull << 40,
		.flags = WIRE_FS_APPEND, .to = empty, .data = "abc", .size = 3,
	};
	size_t n = fs_bytes(room, sizeof(room), &fs);

	is_int(wire_fs_get(room, n, &got), 0, "an FS is decoded");
	ok(got.id == 7 && got.op == WIRE_FS_WRITE && got.size == 3 &&
	   got.offset == 1ull << 40 && got.flags == WIRE_FS_APPEND &&
	   !memcmp(got.data, "abc", 3), "all of it");
	is_str(got.path, path, "its path");
	wire_fs_done(&got);
	for (size_t cut = 1; cut <= 4; cut++)
		is_int(wire_fs_get(room, n - 3 - cut, &got), -EPROTO,
		       "one that lacks %zu bytes is refused", cut);
	fs.op = WIRE_FS_STAT;
	fs_refused(&fs, "data where there is none");
	fs.op = WIRE_FS_WRITE;
	fs.data = data;
	fs.size = WIRE_FS_CHUNK + 1;
	fs_refused(&fs, "too much data");
	fs = (struct wire_fs){.op = WIRE_FS_MAX, .path = path, .to = empty};
	fs_refused(&fs, "an unknown operation");
	fs.op = WIRE_FS_STAT;
	fs.path = up;
	fs_refused(&fs, "a path that leaves the home");
	fs.path = empty;
	is_int(wire_fs_get(room, fs_bytes(room, sizeof(room), &fs), &got), 0,
	       "the home itself has attributes");
	wire_fs_done(&got);
	fs.op = WIRE_FS_UNLINK;
	fs_refused(&fs, "to unlink the home");
	fs.path = path;
	fs.to = to;
	fs_refused(&fs, "a second path where there is none");
	fs.op = WIRE_FS_RENAME;
	fs.to = up;
	fs_refused(&fs, "a new path that leaves the home");
	fs.to = empty;
	fs_refused(&fs, "a new path that is the home");
	fs = (struct wire_fs){.op = WIRE_FS_READ, .path = path, .to = empty,
			      .length = WIRE_FS_CHUNK + 1};
	fs_refused(&fs, "to read too much");
	fs.length = 1;
	fs.offset = UINT64_MAX;
	fs_refused(&fs, "an offset that is no file's");
	fs.offset = 0;
	fs.mode = 04755;
	fs_refused(&fs, "a mode with more than rights");
	fs.mode = 0;
	fs.flags = WIRE_FS_FLAGS + 1;
	fs_refused(&fs, "an unknown flag");
	fs.flags = 0;
	fs.tree = WIRE_FS_TREE_MAX;
	fs_refused(&fs, "an unknown tree");
	fs = (struct wire_fs){.op = WIRE_FS_PROCESSES, .path = path,
			      .to = empty};
	fs_refused(&fs, "processes of a file");
	memset(long_path, 'a', sizeof(long_path) - 1);
	for (size_t i = 200; i < sizeof(long_path) - 2; i += 200)
		long_path[i] = '/';
	fs = (struct wire_fs){.op = WIRE_FS_RENAME, .path = long_path,
			      .to = long_path};
	n = fs_bytes(room, sizeof(room), &fs);
	ok(n <= WIRE_FS_REQUEST_MAX && n <= WIRE_PAYLOAD_MAX &&
	   !wire_fs_get(room, n, &got), "the longest paths are good");
	wire_fs_done(&got);
}

static int reply_of(uint32_t op, const struct wire_writer *w)
{
	struct wire_fs fs = {.op = op, .length = 4, .size = 4};

	return wire_fs_reply_check(&fs, w->p, w->used);
}

static int processes_of(const char *text)
{
	struct wire_writer w = {(uint8_t *)(uintptr_t)text, strlen(text),
				strlen(text)};

	return reply_of(WIRE_FS_PROCESSES, &w);
}

static void test_processes(void)
{
	is_int(processes_of(""), 0, "no process");
	is_int(processes_of("1 0 python3 -m x\n20 96 (a b)\n"), 0, "two");
	is_int(processes_of("1 0 a"), -EPROTO, "a line has its end");
	is_int(processes_of("1 a\n"), -EPROTO, "and two numbers");
	is_int(processes_of("1 0 a\n\n"), -EPROTO, "none is empty");
	is_int(processes_of("1 0 \033[m\n"), -EPROTO,
	       "nor has control characters");
}

static void test_fs_reply(void)
{
	uint8_t room[256];
	struct wire_writer w = {room, sizeof(room), 0};
	struct wire_fs_stat st = {.kind = WIRE_FILE_DIR, .mode = 0755,
				  .size = 9, .mtime = {1, 2, true}};
	const uint8_t *data;
	uint32_t id, error;
	size_t size;

	wire_fs_stat_put(&w, &st);
	is_int(reply_of(WIRE_FS_STAT, &w), 0, "a stat");
	is_int(reply_of(WIRE_FS_UNLINK, &w), -EPROTO, "but nothing to UNLINK");
	is_int(reply_of(WIRE_FS_READ, &w), -EPROTO, "more than was asked for");
	room[0] = WIRE_FILE_LINK;
	is_int(reply_of(WIRE_FS_STAT, &w), -EPROTO, "an unknown kind");
	room[0] = 0;
	room[15] = 0x80;
	is_int(reply_of(WIRE_FS_STAT, &w), -EPROTO, "a size that is no file's");
	w.used = 0;
	is_int(reply_of(WIRE_FS_READ, &w), 0, "READ at the end");
	wire_put_u32(&w, 5);
	is_int(reply_of(WIRE_FS_WRITE, &w), -EPROTO, "more written than sent");
	room[0] = 4;
	is_int(reply_of(WIRE_FS_WRITE, &w), 0, "all written");
	room[0] = 0;
	is_int(reply_of(WIRE_FS_WRITE, &w), -EPROTO, "nothing written");
	w.used = 0;
	wire_put_u64(&w, 0);
	wire_put_u32(&w, WIRE_FILE_REG);
	wire_put_str(&w, "name");
	is_int(reply_of(WIRE_FS_LIST, &w), 0, "an entry");
	w.used--;
	is_int(reply_of(WIRE_FS_LIST, &w), -EPROTO, "a part of one");
	w.used = 0;
	wire_put_u32(&w, 3);
	wire_put_u32(&w, ENOENT);
	is_int(wire_fs_reply_get(room, 8, &id, &error, &data, &size), 0,
	       "an errno");
	ok(id == 3 && error == ENOENT && !size, "is told");
	is_int(wire_fs_reply_get(room, 9, &id, &error, &data, &size), -EPROTO,
	       "but no data beside it");
	room[6] = 1;
	is_int(wire_fs_reply_get(room, 8, &id, &error, &data, &size), -EPROTO,
	       "nor what is no errno");
}

int main(void)
{
	test_header();
	test_lane();
	test_share();
	test_network();
	test_names();
	test_cursor();
	test_writer();
	test_job();
	test_job_range();
	test_job_count();
	test_exit();
	test_cold();
	test_path();
	test_fs();
	test_fs_reply();
	test_processes();
	return done_testing();
}
