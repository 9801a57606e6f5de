/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on lanes: frames with a lane, files under another name, what goes on. */
#include "guest/run/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/os/port.h"
#include "tests/unit/tap.h"

static struct port port_new(void)
{
	struct port p = {.fd = -1, .out = malloc(PORT_OUT_SIZE),
			 .in_size = 4096, .in = malloc(4096)};

	if (!p.out || !p.in)
		abort();
	return p;
}

static void port_free(struct port *p)
{
	free(p->out);
	free(p->in);
}

/* What was put comes in again, so many bytes of it. */
static void come_in(struct port *p, size_t size)
{
	memcpy(p->in, p->out, size);
	p->in_at = 0;
	p->in_end = size;
}

static void test_frames(void)
{
	struct port p = port_new();
	struct frame f;
	uint8_t lane = 0;

	memcpy(port_room(&p), "abc", 3);
	port_commit_lane(&p, 7, WIRE_OUT, 1, 3);
	come_in(&p, p.out_end - 1);
	is_int(port_next_lane(&p, &f, &lane), 0, "a part of a frame waits");
	p.in_end++;
	p.in[p.in_end - 1] = 'c';
	is_int(port_next_lane(&p, &f, &lane), 1, "then it is whole");
	is_int(lane, 7, "and its lane is known still");
	ok(f.header.type == WIRE_OUT && f.header.arg == 1 &&
	   f.header.length == 3 && !memcmp(f.payload, "abc", 3), "so is the rest");
	come_in(&p, p.out_end);
	is_int(port_next(&p, &f), -EPROTO,
	       "where no lanes are it is no frame");
	port_free(&p);
}

static size_t waits_in(int fd, char *room, size_t size)
{
	ssize_t n = read(fd, room, size);

	return n < 0 ? 0 : (size_t)n;
}

static void test_input(const char *path)
{
	struct port p = port_new();
	struct input_stream in;
	int ends[2], fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	char room[16];

	if (pipe2(ends, O_NONBLOCK) || fd < 0 || write(fd, "given", 5) != 5 ||
	    input_open(&in, ends[1]))
		abort();
	close(fd);
	is_int(input_from(&in, path), 0, "standard input may be a file");
	ok(input_is_pending(&in), "it waits to be written");
	input_pump(&in, &p);
	is_int((long long)waits_in(ends[0], room, sizeof(room)), 5,
	       "the program has it");
	ok(!port_is_pending(&p), "and the host is told nothing");
	input_pump(&in, &p);
	ok(!input_is_pending(&in) && in.fd < 0, "at its end the pipe is closed");
	is_int(read(ends[0], room, 1), 0, "as the program sees");
	close(ends[0]);
	free(in.bytes);
	port_free(&p);
}

static void test_drain(void)
{
	struct drain d = {.count = 0};
	struct pollfd p[DRAIN_MAX];
	int ends[2], more[2];

	if (pipe2(ends, O_NONBLOCK) || pipe2(more, O_NONBLOCK))
		abort();
	drain_add(&d, ends[0]);
	close(ends[0]);
	is_int(drain_poll(&d, p), 1, "what is still written is looked at");
	is_int(write(ends[1], "late", 4), 4, "its writer may go on");
	drain_read(&d);
	is_int(d.count, 1, "as long as there is one");
	close(ends[1]);
	drain_read(&d);
	is_int(d.count, 0, "then it is over");
	for (int i = 0; i < DRAIN_MAX + 5; i++)
		drain_add(&d, more[0]);
	is_int(d.count, DRAIN_MAX, "the oldest make room");
	close(more[0]);
	close(more[1]);
	drain_read(&d);
	is_int(d.count, 0, "and all of them end");
}

static void test_kind(void)
{
	const bool waits[WIRE_RUN_MAX] = {[WIRE_RUN_PYTHON] = true};
	const bool none[WIRE_RUN_MAX] = {false};
	struct wire_job step = {.runner = WIRE_RUN_PYTHON,
				.mode = WIRE_MODE_SESSION};
	struct wire_job shell = {.runner = WIRE_RUN_BASH};

	is_int(lane_kind(&step, waits), WIRE_RUN_PYTHON,
	       "a session takes the interpreter that waits");
	is_int(lane_kind(&step, none), WIRE_RUN_EXEC, "or a fresh one");
	is_int(lane_kind(&shell, waits), WIRE_RUN_EXEC,
	       "a shell's program is started");
}

static int put(struct files *f, const char *path)
{
	uint8_t bytes[256];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	int r;

	wire_put_u32(&w, 0600);
	wire_put_u64(&w, 0);
	wire_put_time(&w, (struct wire_time){0});
	wire_put_str(&w, path);
	r = files_begin(f, WIRE_FILE_REG, bytes, w.used, NULL);
	return r ? r : files_end(f, NULL);
}

static void test_files(void)
{
	struct files f = {
		.fd = -1, .own_dir = -1, .replace = true,
		.own = {{"code.py", ".code-3.py"}},
		.home = open(".", O_RDONLY | O_DIRECTORY),
	};

	is_int(put(&f, "code.py"), 0, "a program's file comes");
	ok(!access(".code-3.py", F_OK) && access("code.py", F_OK),
	   "under a name of its own");
	is_int(put(&f, "data.py"), 0, "another file");
	ok(!access("data.py", F_OK), "under the one that it has");
	f.own[0] = (struct files_own){"code.py", "code.py"};
	f.own_dir = open("own", O_RDONLY | O_DIRECTORY);
	is_int(put(&f, "code.py"), 0, "a step's");
	ok(!access("own/code.py", F_OK) && access("code.py", F_OK),
	   "in the job's directory");
	files_close(&f);
}

int main(void)
{
	char place[] = "/tmp/guest_lane_XXXXXX";

	if (!mkdtemp(place) || chdir(place) || mkdir("own", 0700))
		abort();
	test_frames();
	test_input("input");
	test_drain();
	test_kind();
	test_files();
	ok(!system("rm -r \"$PWD\""), "nothing is left");
	return done_testing();
}
