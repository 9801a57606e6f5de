/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the kernel read the files of the large interpreters whole, by readahead(), before
 * the first runner starts. A file that is not there ends init.
 */
#include "gather.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

/* The distribution's names have a version. */
static const char *const patterns[] = {
	"/usr/lib/*/libnode.so.*",
	"/usr/bin/esbuild",
	"/usr/bin/python3",
};

/*
 * Reads the file by a descriptor of its own. If the disk's readahead were
 * raised instead, every file mapped meanwhile would keep that, and a program at
 * its memory limit would drop more pages by each fault than it reads.
 */
static int read_whole(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return readahead(fd, 0, (size_t)st.st_size) ? -errno : 0;
}

static int gather(const char *pattern)
{
	glob_t found;
	int r = glob(pattern, GLOB_NOSORT, NULL, &found) ? -ENOENT : 0;

	for (size_t i = 0; !r && i < found.gl_pathc; i++)
		r = read_whole(found.gl_pathv[i]);
	globfree(&found);
	return r;
}

int gather_programs(struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(patterns); i++) {
		r = gather(patterns[i]);
		if (r)
			err_sys(err, r, "cannot read %s", patterns[i]);
	}
	return r;
}
