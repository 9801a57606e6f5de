/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs in a home that a hostile program has arranged. */
#include "guest/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/wire.h"
#include "tests/unit/tap.h"

static int put(struct files *f, enum wire_file_kind kind, const char *path)
{
	uint8_t bytes[256];
	struct wire_writer w = {bytes, sizeof(bytes), 0};
	int r;

	wire_put_u32(&w, 0777);
	wire_put_u64(&w, 0);
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
	ok(put(f, WIRE_FILE_DIR, "a") == 0 &&
	   put(f, WIRE_FILE_DIR, "a/b") == 0 &&
	   put(f, WIRE_FILE_REG, "a/b/c") == 0, "a tree is made");
	ok(put(f, WIRE_FILE_DIR, "a/b") == 0 &&
	   put(f, WIRE_FILE_REG, "a/b/c") == 0, "and made once more");
	ok(put(f, WIRE_FILE_REG, "no/file") == -ENOENT,
	   "a file needs its directory");
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
	close(f.home);
	free(f.list);
	ok(!system("rm -r \"$PWD\""), "nothing is left");
	return done_testing();
}
