/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs in a home that a hostile program has arranged. */
#include "guest/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/files/collect.h"
#include "guest/wire/wire.h"
#include "tests/unit/tap.h"

static int put(struct files *f, enum wire_file_kind kind, const char *path)
{
	uint8_t bytes[256];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	int r;

	wire_put_u32(&w, 0777);
	wire_put_u64(&w, 0);
	wire_put_time(&w, (struct wire_time){1500000000, 123456789, true});
	wire_put_str(&w, path);
	r = files_begin(f, (uint8_t)kind, bytes, w.used, NULL);
	if (!r && kind == WIRE_FILE_REG)
		r = files_end(f, NULL);
	return r;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

/* In a directory with `outside` beside `home`, the working directory. */
static void enter(struct files *f)
{
	char place[] = "/tmp/guest_files_XXXXXX";

	if (!mkdtemp(place) || chdir(place) || mkdir("outside", 0700) ||
	    mkdir("outside/dir", 0700) || mkdir("home", 0755) ||
	    close(open("outside/file", O_WRONLY | O_CREAT, 0600)))
		abort();
	*f = (struct files){.fd = -1, .replace = true};
	f->home = open("home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void test_links(struct files *f)
{
	ok(!symlink("../outside", "home/link"), "a link leads out of the home");
	ok(put(f, WIRE_FILE_REG, "link/file") < 0,
	   "no file is made behind a link");
	ok(!access("outside/file", F_OK), "nor removed");
	ok(put(f, WIRE_FILE_REG, "link/new") < 0 &&
	   access("outside/new", F_OK), "nor is a new one");
	ok(put(f, WIRE_FILE_DIR, "link/made") < 0 &&
	   access("outside/made", F_OK), "no directory is made behind a link");
	ok(put(f, WIRE_FILE_DIR, "link/dir") < 0 &&
	   mode_of("outside/dir") == 0700, "nor given away");
	ok(put(f, WIRE_FILE_DIR, "link") < 0 && mode_of("outside") == 0700,
	   "nor is what the link itself names");
	ok(put(f, WIRE_FILE_REG, "link") == 0 &&
	   mode_of("home/link") == 0777 && !access("outside/file", F_OK),
	   "a file takes a link's place");
}

static void test_usual(struct files *f)
{
	struct stat st;

	ok(put(f, WIRE_FILE_REG, "aged") == 0 && !stat("home/aged", &st) &&
	   st.st_mtim.tv_sec == 1500000000 && st.st_mtim.tv_nsec == 123456789,
	   "a file is as old as it was");
	ok(put(f, WIRE_FILE_DIR, "a") == 0 &&
	   put(f, WIRE_FILE_DIR, "a/b") == 0 &&
	   put(f, WIRE_FILE_REG, "a/b/c") == 0, "a tree is made");
	ok(put(f, WIRE_FILE_DIR, "a/b") == 0 &&
	   put(f, WIRE_FILE_REG, "a/b/c") == 0, "and made once more");
	ok(put(f, WIRE_FILE_REG, "no/file") == -ENOENT,
	   "a file needs its directory");
}

/* What collect_send() says that it has left out. */
static int left_out(struct files *f)
{
	struct port port = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
			    .out = malloc(PORT_OUT_SIZE)};
	struct wire_job job = {.output_limit = 1000, .output_files = 100};
	struct wire_cursor c;
	uint32_t count;

	if (!port.out || collect_send(&port, f, &job))
		abort();
	wire_begin(&c, port.out + port.out_end - 4, 4);
	count = wire_get_u32(&c);
	free(port.out);
	close(port.fd);
	return (int)count;
}

static void test_left_out(struct files *f)
{
	ok(!mkfifo("home/fifo", 0600) && !symlink("/a", "home/old"),
	   "a step leaves a fifo and a link");
	is_int(left_out(f), 2, "which are left out");
	is_int(files_seal_all(f, "/home/user/code.py"), 0, "another begins");
	is_int(left_out(f), 0, "they are not of its making");
	ok(!symlink("..", "home/new") && !unlink("home/old") &&
	   !symlink("a/../../b", "home/old"), "it makes links of its own");
	is_int(left_out(f), 2, "which are left out");
}

/* In one tick of the file system's clock, if that is let. */
static void test_tick(struct files *f)
{
	int fd = open("home/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int same = 0;
	struct stat st;

	for (int i = 0; i < 50; i++) {
		if (pwrite(fd, "1", 1, 0) != 1 ||
		    files_seal_all(f, "/home/user/code.py") ||
		    pwrite(fd, "2", 1, 0) != 1 || fstat(fd, &st))
			abort();
		same += files_is_untouched(f, f->home, "file", &st);
	}
	close(fd);
	is_int(same, 0, "a step changes at once what is just there");
}

int main(void)
{
	struct files f;

	if (getuid()) {
		ok(true, "only root gives files to the user: nothing is tested");
		return done_testing();
	}
	enter(&f);
	test_links(&f);
	test_usual(&f);
	test_left_out(&f);
	test_tick(&f);
	files_close(&f);
	ok(!system("rm -r \"$PWD\""), "nothing is left");
	return done_testing();
}
