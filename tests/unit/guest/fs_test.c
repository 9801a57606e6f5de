/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a machine as FS shows them: the time of a file, of any year. */
#include "guest/files/fs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/os/sys.h"
#include "guest/wire/wire_fs.h"
#include "layout/base/num.h"
#include "tests/unit/tap.h"

static struct port port;
static struct fs_trees trees = {.home = -1, .root = -1};

/* What the machine answers. Return: its errno; *ret: the stat, if there is one. */
static int ask(struct wire_fs *fs, struct wire_fs_stat *ret)
{
	static uint8_t request[WIRE_FS_REQUEST_MAX];
	struct wire_writer w = {request, sizeof(request), 0};
	struct frame frame = {.payload = request};
	const uint8_t *data;
	uint32_t id, error;
	struct err err;
	size_t size;

	wire_fs_put(&w, fs);
	frame.header.length = (uint32_t)w.used;
	port_forget(&port);
	if (fs_answer(&trees, &port, &frame, &err) ||
	    wire_fs_reply_get(port.out + WIRE_HEADER_SIZE,
			      port.out_end - WIRE_HEADER_SIZE, &id, &error,
			      &data, &size))
		return -1;
	if (!error && wire_fs_stat_get(data, size, ret))
		return -1;
	return (int)error;
}

static const struct {
	int64_t s;
	uint32_t ns;
	const char *name;
} times[] = {
	{-315619200, 0, "1960"},
	{-1, 999999999, "the last moment before 1970"},
	{0, 0, "1970"},
	{0, 1, "and a nanosecond"},
	{1790000000, 123456789, "today"},
	{9223372036, 854775807, "2262, the last that 64 bits of nanoseconds have"},
	{19880899200, 5, "2600"},
	{99999999999, 0, "5138"},
	{253402300799, 0, "9999"},
};

static void test_times(void)
{
	char path[] = "f", to[] = "";
	struct wire_fs_stat st;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct wire_fs set = {.op = WIRE_FS_TIMES, .path = path, .to = to,
				      .mtime = {times[i].s, times[i].ns, true}};
		struct wire_fs look = {.op = WIRE_FS_STAT, .path = path,
				       .to = to};
		struct stat real;

		is_int(ask(&set, &st), 0, "a time is set:");
		fstatat(trees.home, "f", &real, 0);
		ok(real.st_mtim.tv_sec == times[i].s &&
		   real.st_mtim.tv_nsec == (long)times[i].ns, "%s", times[i].name);
		is_int(ask(&look, &st), 0, "and shown:");
		ok(st.mtime.known && st.mtime.s == times[i].s &&
		   st.mtime.ns == times[i].ns, "%s", times[i].name);
	}
}

static void test_unknown(void)
{
	char path[] = "f", to[] = "";
	struct wire_fs_stat before, after;
	struct wire_fs fs = {.op = WIRE_FS_TIMES, .path = path, .to = to,
			     .atime = {7, 0, true}};

	is_int(ask(&fs, &before), 0, "one of two times is set");
	fs.atime.known = false;
	is_int(ask(&fs, &after), 0, "or none");
	ok(before.mtime.s == after.mtime.s && before.mtime.ns == after.mtime.ns,
	   "then it stays as it is");
	fs.mtime = (struct wire_time){1, 1000000000, true};
	is_int(ask(&fs, &after), -1, "a second has no more nanoseconds");
}

int main(void)
{
	char dir[] = "/dev/shm/guest-fs.XXXXXX";
	int fd;

	port = (struct port){.fd = -1, .out = malloc(PORT_OUT_SIZE)};
	if (!port.out || !mkdtemp(dir) || chmod(dir, 0755))
		abort();
	trees.home = open(dir, O_RDONLY | O_DIRECTORY);
	fd = openat(trees.home, "f", O_CREAT | O_WRONLY, 0644);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, USER_ID, USER_ID)))
		abort();
	test_times();
	test_unknown();
	unlinkat(trees.home, "f", 0);
	rmdir(dir);
	close(fd);
	close(trees.home);
	free(port.out);
	return done_testing();
}
