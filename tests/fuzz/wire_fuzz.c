/* SPDX-License-Identifier: Apache-2.0 */
/* A frame: header, then the payload as each decoder of foreign bytes sees it.
 * What was decoded and is encoded again must be the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "guest/wire/wire_fs.h"
#include "guest/wire/wire_network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_header(const uint8_t *data)
{
	uint8_t again[WIRE_HEADER_SIZE];
	struct wire_header h;

	if (wire_header_get(data, &h))
		return;
	check(h.length <= WIRE_JOB_MAX && *wire_type_name(h.type) != '?');
	wire_header_put(again, h.length, h.type, h.arg);
	check(!memcmp(again, data, sizeof(again)));
}

/* A lane hides nothing of a header but a length that is too large. */
static void check_lane(const uint8_t *data)
{
	uint8_t taken[WIRE_HEADER_SIZE];
	struct wire_header h;
	uint8_t lane;

	memcpy(taken, data, sizeof(taken));
	lane = wire_lane_take(taken);
	check(!lane || wire_header_get(data, &h));
	wire_lane_put(taken, lane);
	check(!memcmp(taken, data, sizeof(taken)));
}

static void check_job(const uint8_t *data, size_t size)
{
	struct wire_writer w = {malloc(size + 1), size, 0};
	struct wire_job job;

	if (w.p && !wire_job_get(data, size, &job)) {
		check(job.argv.count >= 1 &&
		      job.envp.count <= WIRE_STRINGS_MAX);
		wire_job_put(&w, &job);
		check(w.used == size && !memcmp(w.p, data, size));
		wire_job_done(&job);
	}
	free(w.p);
}

static void check_exit(const uint8_t *data, size_t size)
{
	uint8_t again[WIRE_EXIT_MAX];
	struct wire_writer w = {again, sizeof(again), 0};
	struct wire_exit e;

	if (wire_exit_get(data, size, &e))
		return;
	wire_exit_put(&w, &e);
	check(w.used == size && !memcmp(again, data, size));
}

static void check_share(const uint8_t *data, size_t size)
{
	uint8_t again[32];
	struct wire_writer w = {again, sizeof(again), 0};
	struct wire_share share;

	if (wire_share_get(data, size, &share))
		return;
	wire_share_put(&w, &share);
	check(w.used == size && !memcmp(again, data, size));
}

static void check_network(const uint8_t *data, size_t size)
{
	struct wire_writer w = { malloc(size + 1), size, 0 };
	struct wire_network net;

	if (w.p && !wire_network_get(data, size, &net)) {
		check(net.route_count <= WIRE_NETWORK_ROUTES_MAX);
		wire_network_put(&w, &net);
		check(w.used == size && !memcmp(w.p, data, size));
		wire_network_done(&net);
	}
	free(w.p);
}

static void check_fs(const uint8_t *data, size_t size)
{
	struct wire_writer w = {malloc(size + 1), size, 0};
	struct wire_fs fs;

	if (w.p && !wire_fs_get(data, size, &fs)) {
		check(fs.op < WIRE_FS_MAX && fs.size <= WIRE_FS_CHUNK &&
		      fs.length <= WIRE_FS_CHUNK && fs.mode <= 0777);
		check(!fs.path[0] || wire_path_ok(fs.path));
		check(!fs.to[0] || wire_path_ok(fs.to));
		wire_fs_put(&w, &fs);
		check(w.used == size && !memcmp(w.p, data, size));
		wire_fs_done(&fs);
	}
	free(w.p);
}

/* Against each operation that it may be the reply to. */
static void check_fs_reply(const uint8_t *data, size_t size)
{
	struct wire_fs fs = {.length = 8, .size = 8};
	struct wire_fs_stat st;
	uint32_t id, error;

	if (wire_fs_reply_get(data, size, &id, &error, &data, &size))
		return;
	check(!error || !size);
	for (fs.op = 0; fs.op < WIRE_FS_MAX; fs.op++)
		if (!wire_fs_reply_check(&fs, data, size) &&
		    fs.op == WIRE_FS_STAT)
			check(!wire_fs_stat_get(data, size, &st) &&
			      st.size <= WIRE_FS_SIZE_MAX);
}

/* As FILE carries it. */
static void check_path(const uint8_t *data, size_t size)
{
	struct wire_cursor c;
	char *path;

	wire_begin(&c, data, size);
	wire_get_u32(&c);
	wire_get_u64(&c);
	path = wire_get_str(&c, WIRE_PATH_MAX);
	if (path && !wire_end(&c) && wire_path_ok(path)) {
		check(path[0] != '/' && !strstr(path, "//"));
		check(strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
	}
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < WIRE_HEADER_SIZE)
		return 0;
	check_header(data);
	check_lane(data);
	data += WIRE_HEADER_SIZE;
	size -= WIRE_HEADER_SIZE;
	check_job(data, size);
	check_exit(data, size);
	check_share(data, size);
	check_network(data, size);
	check_path(data, size);
	check_fs(data, size);
	check_fs_reply(data, size);
	return 0;
}
