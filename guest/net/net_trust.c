/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the operator's certificates to Debian's. curl, git, OpenSSL, and so Python's ssl and
 * Debian's Node, read the bundle by its usual path when they need it first: none of them
 * needs a variable, and an interpreter that waits has not read it yet.
 */
#include "net_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

static int put_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int copy_bundle(int to)
{
	auto_close int from = open(BUNDLE, O_RDONLY | O_CLOEXEC);
	char data[16 << 10];
	ssize_t n;
	int r = from < 0 ? -errno : 0;

	while (!r && (n = read(from, data, sizeof(data))) != 0)
		r = n < 0 ? -errno : put_all(to, data, (size_t)n);
	return r;
}

static int write_all(const char *pem)
{
	auto_close int fd = open(NET_TRUST_ALL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 0444);
	int r = fd < 0 ? -errno : copy_bundle(fd);

	if (!r)
		r = put_all(fd, "\n", 1); /* the bundle may not end with a newline */
	if (!r)
		r = put_all(fd, pem, strlen(pem));
	if (!r && fchmod(fd, 0444))
		r = -errno;
	return r;
}

int net_trust(const char *pem, struct err *err)
{
	int r = write_all(pem);

	if (r)
		return err_sys(err, r, "cannot write the certificates");
	if (mount(NET_TRUST_ALL, BUNDLE, NULL, MS_BIND, NULL))
		return err_sys(err, -errno, "cannot cover %s", BUNDLE);
	return 0;
}
