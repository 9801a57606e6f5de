/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd sandbox new: makes a directory in .fsd/sandboxes and writes its config.json. If the
 * mount refuses that, the directory goes again.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"
#include "where.h"

/* Prints why the mount has refused a call: errno says it, and mostly the mount in a
 * sentence. */
static int refused(const char *mnt, const char *name)
{
	int code = errno;
	auto_close int root = open(mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char text[900];

	return client_complain(code == EINVAL ? 2 : 1, "%s",
			       where_last_error(root, name, text, sizeof(text)) ?
				       text : strerror(code));
}

static int write_config(const char *path, const struct buf *config)
{
	char file[WHERE_SANDBOX + 16];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(file, sizeof(file), "%s/config.json", path);
	fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, config->data, config->len);
	if (n != (ssize_t)config->len)
		return -1;
	return close(take_fd(&fd));
}

int sandbox_client_new(const struct run_client *c, const char *mnt,
		       const char *name)
{
	char path[WHERE_SANDBOX];
	auto_buf struct buf config = { 0 };
	const struct program none = { .fd = -1 };
	const struct job_draft d = { .c = c, .program = &none };
	int r;

	r = client_config(&d, &config);
	if (r)
		return r;
	if (where_sandbox(mnt, name, path) < 0)
		return client_complain(2, "\"%s\" cannot be a sandbox's name", name);
	if (mkdir(path, 0777) < 0)
		return errno == EEXIST ?
			       client_complain(1, "there is a sandbox %s already", name) :
			       refused(mnt, name);
	if (config.len > strlen("{}\n") && write_config(path, &config) < 0) {
		r = refused(mnt, name);
		rmdir(path);
		return r;
	}
	printf("%s\n", path);
	return 0;
}
