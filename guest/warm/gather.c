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

/* A version in a name is the distribution's. */
static const char *const patterns[] = {
	"/usr/lib/*/libnode.so.*",
	"/usr/bin/esbuild",
	"/usr/bin/python3",
};

/* By a descriptor of its own: a wide readahead of the disk would be kept by
 * every file that is mapped meanwhile, and a program at its memory limit would
 * then throw away more by each fault than it reads. */
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
