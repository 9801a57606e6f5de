/* SPDX-License-Identifier: Apache-2.0 */
/* A job's directory and the record in it: STATE/jobs/ID/meta. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "depot.h"
#include "kept.h"

/*
 * One write of one sector over the old one: nobody sees half of it, and no new
 * file is made for each state of a job.
 */
#define META_SIZE 512

struct record {
	int jobs; /* borrowed */
	uint64_t no;
	bool sync;
	char sector[META_SIZE];
};

static int record_print(const struct depot *s, const struct job_meta *m,
			struct record *ret)
{
	auto_buf struct buf text = { 0 };

	if (depot_meta_print(m, &text) < 0)
		return text.failed;
	if (text.len > META_SIZE)
		return -ENAMETOOLONG;
	ret->jobs = depot_jobs_fd(s);
	ret->no = m->no;
	memcpy(ret->sector, text.data, text.len);
	memset(ret->sector + text.len, '\n', META_SIZE - text.len);
	return 0;
}

static int record_write(void *arg)
{
	const struct record *r = arg;
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	ssize_t n;

	depot_job_path(r->no, "meta", path);
	fd = openat(r->jobs, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, r->sector, META_SIZE, 0);
	if (n != META_SIZE)
		return n < 0 ? -errno : -ENOSPC;
	return r->sync && fdatasync(fd) < 0 ? -errno : 0;
}

static int meta_write(struct depot *s, const struct job_meta *m, bool sync)
{
	struct record r = { .sync = sync };
	int ret = record_print(s, m, &r);

	if (ret < 0)
		return ret;
	kept_begin(m->kept);
	ret = depot_heed(s, depot_do(s, record_write, &r));
	if (ret == 0)
		kept_end(m->kept, m);
	return ret;
}

int depot_meta_write(struct depot *s, const struct job_meta *m)
{
	return meta_write(s, m, false);
}

int depot_meta_commit(struct depot *s, const struct job_meta *m)
{
	return meta_write(s, m, !depot_is_relaxed(s));
}

static int job_make_work(void *arg)
{
	const struct record *r = arg;
	char path[STORE_PATH_MAX];

	depot_job_path(r->no, NULL, path);
	if (mkdirat(r->jobs, path, 0700) < 0)
		return errno == ENOENT ? -EIO : -errno; /* depot_is_gone() */
	depot_job_path(r->no, "files", path);
	if (mkdirat(r->jobs, path, 0700) < 0)
		return -errno;
	return record_write(arg);
}

int depot_job_make(struct depot *s, const struct job_meta *meta)
{
	char path[STORE_PATH_MAX];
	struct record r = { .sync = false };
	int ret = record_print(s, meta, &r);

	if (ret < 0) {
		kept_gone(meta->kept);
		return ret;
	}
	ret = depot_do(s, job_make_work, &r);
	if (ret == 0) {
		kept_end(meta->kept, meta);
		return 0;
	}
	depot_job_path(meta->no, NULL, path);
	if (depot_trash(s, path) == 0)
		kept_gone(meta->kept);
	return ret;
}
