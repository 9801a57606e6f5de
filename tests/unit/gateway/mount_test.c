/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's client of the mount, on a plain directory: no path leaves its beginning. */
#include "fsd/gateway/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static char top[] = "/tmp/gateway_mount_test.XXXXXX";
static struct mount root, own;

static void put(const char *path)
{
	struct err err = { 0 };

	ok(mount_write(&root, path, "kept", 4, &err) == 0, "%s is there: %s", path,
	   err.text);
}

static void make_tree(void)
{
	struct err err = { 0 };

	ok(mkdtemp(top) != NULL, "a directory");
	ok(chdir(top) == 0 && mkdir("mnt", 0700) == 0 &&
		   mkdir("mnt/.fsd", 0700) == 0 && mkdir("mnt/a", 0700) == 0 &&
		   mkdir("mnt/b", 0700) == 0 && mkdir("outside", 0700) == 0,
	   "a tree");
	ok(symlink("../b", "mnt/a/link") == 0, "a link");
	close(open("mnt/.fsd/health", O_WRONLY | O_CREAT, 0600));
	is_int(mount_open(&root, "mnt", &err), 0, "a mount: %s", err.text);
	is_int(mount_below(&root, "a", &own, &err), 0, "a job: %s", err.text);
	put("b/f");
	put("a/f");
}

/* Each call that has a path, with one that must not be followed. */
static void refuse(const struct mount *m, const char *path)
{
	auto_buf struct buf text = { 0 };
	struct stat st;
	struct err err = { 0 };

	is_int(mount_file(m, path, O_RDONLY, &err), -EINVAL, "open %s", path);
	ok(strstr(err.text, "has a part that is empty"), "a sentence: %s", err.text);
	is_int(mount_read(m, path, &text, NULL), -EINVAL, "read %s", path);
	is_int(mount_stat(m, path, &st, NULL), -EINVAL, "stat %s", path);
	is_int(mount_write(m, path, "x", 1, NULL), -EINVAL, "write %s", path);
	is_int(mount_create(m, path, 0600, NULL), -EINVAL, "create %s", path);
	is_int(mount_mkdir(m, path, NULL), -EINVAL, "mkdir %s", path);
	is_int(mount_rmdir(m, path, NULL), -EINVAL, "rmdir %s", path);
	is_int(mount_remove(m, path, NULL), -EINVAL, "remove %s", path);
	is_int(mount_rename(m, m == &own ? "f" : "a/f", path, NULL), -EINVAL,
	       "rename to %s", path);
	is_int(mount_rename(m, path, "new", NULL), -EINVAL, "rename %s", path);
}

static void test_paths(void)
{
	static const char *const paths[] = {
		"..", "../b", "../b/f", "/etc/passwd", "", "/", "f/", "f/..",
		"x/../../b/f", "./f", "f/.", "f//g", "//", "../../outside/f",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		refuse(&own, paths[i]);
		refuse(&root, paths[i]);
	}
	is_int(mount_mkdir(&own, ".", NULL), -EINVAL, "\".\" is no new name");
	is_int(mount_file(&own, "link/f", O_RDONLY, NULL), -ELOOP,
	       "a link is not followed");
}

static void test_jobs(void)
{
	static const char *const names[] = { "..", ".", "", "a/../b", "/", ".fsd",
					     "../outside", "a/f" };
	struct mount other;
	struct err err = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ok(mount_below(&root, names[i], &other, &err) < 0,
		   "\"%s\" is no job", names[i]);
		ok(mount_remove_job(&root, names[i], NULL) < 0,
		   "nor is it removed");
	}
	is_int(mount_ctl(&root, "../outside", "kill", NULL), -EINVAL,
	       "nor does it take a verb");
}

static void test_names(void)
{
	auto_buf struct buf text = { 0 };
	int fd;

	is_int(mount_read(&own, "f", &text, NULL), 0, "a name is read");
	is_int(mount_mkdir(&own, "...", NULL), 0, "three dots are a name");
	is_int(mount_write(&own, ".../..x", "y", 1, NULL), 0, "..x is one, too");
	fd = mount_file(&own, ".", O_RDONLY | O_DIRECTORY, NULL);
	ok(fd >= 0, "\".\" is the directory itself");
	close(fd);
	ok(access("mnt/b/f", F_OK) == 0 && access("outside", F_OK) == 0,
	   "what lies beside is there");
}

static void test_line(void)
{
	auto_buf struct buf line = { 0 };

	mount_write(&own, "lines", "one\ntwo\n", 8, NULL);
	mount_write(&own, "empty", "", 0, NULL);
	is_int(mount_line(&own, "lines", &line), 0, "a file has a first line");
	is_str(line.data, "one", "it ends before its newline");
	is_int((long long)line.len, 3, "its length is right");
	is_int(mount_line(&own, "empty", &line), 0, "an empty file has one");
	is_str(line.data, "", "which is empty");
	mount_line(&own, "lines", &line);
	is_int(mount_line(&own, "none", &line), -ENOENT, "no file has none");
	is_int((long long)line.len, 0, "and the last one is forgotten");
}

static int remove_tree(void)
{
	char line[80];

	snprintf(line, sizeof(line), "rm -r %s", top);
	return system(line);
}

int main(void)
{
	make_tree();
	test_paths();
	test_jobs();
	test_names();
	test_line();
	mount_close(&own);
	mount_close(&root);
	ok(chdir("/") == 0 && remove_tree() == 0, "its end");
	return done_testing();
}
