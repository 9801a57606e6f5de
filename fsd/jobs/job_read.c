/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads stored files of a job without blocking the loop. If the kernel has the bytes in
 * its cache the caller gets them at once. Otherwise a fiber reads them into the cache and
 * calls the job's watchers, so that a parked reader tries again.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "job_watch.h"
#include "fsd/base/fiber.h"
#include "fsd/store/store_io.h"

struct fetch {
	struct job *job; /* a reference */
	int fd;          /* owned */
	uint64_t offset;
	size_t size;
};

/* Reads the bytes into the kernel's cache, then lets the readers try again. */
static void on_fetch(void *arg)
{
	struct fetch f = *(struct fetch *)arg;
	auto_free char *room = malloc(f.size);

	if (room)
		call_read(f.job->d->store, f.fd, room, f.size,
			  (off_t)f.offset);
	fd_close(&f.fd);
	job_changed(f.job);
	job_unref(f.job);
}

ssize_t job_pread(struct job *job, int fd, char *room, size_t size,
		  uint64_t offset)
{
	ssize_t n = call_read_now(fd, room, size, (off_t)offset);
	struct fetch f = { .job = job, .offset = offset, .size = size };

	if (n != -EAGAIN)
		return n;
	f.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (f.fd < 0)
		return -errno;
	job_ref(job);
	if (fiber_start(on_fetch, &f) == 0)
		return -EAGAIN;
	fd_close(&f.fd);
	job_unref(job);
	n = pread(fd, room, size, (off_t)offset); /* no memory: read on the loop */
	return n < 0 ? -errno : n;
}
