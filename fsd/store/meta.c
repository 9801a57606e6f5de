/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a job's directory, and writes its record, STATE/jobs/ID/meta. Each write also
 * updates the record's copy in shared memory: torn before, complete after. *_write() and
 * *_work() run on threads for the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"
#include "meta_copy.h"

/*
 * A record is one sector, written over the old one by one pwrite(2). So a crash leaves the
 * old record or the new one, and a change of state makes no new file.
 */
#define META_SIZE 512

struct record {
	int jobs; /* borrowed */
	uint64_t no;
	bool sync;
	char sector[META_SIZE];
};

static int record_print(const struct store *s, const struct job_meta *m,
			struct record *ret)
{
	auto_buf struct buf text = { 0 };

	if (store_meta_print(m, &text) < 0)
		return text.failed;
	if (text.len > META_SIZE)
		return -ENAMETOOLONG;
	ret->jobs = store_jobs_fd(s);
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

	store_job_path(r->no, "meta", path);
	fd = openat(r->jobs, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, r->sector, META_SIZE, 0);
	if (n != META_SIZE)
		return n < 0 ? -errno : -ENOSPC;
	return r->sync && fdatasync(fd) < 0 ? -errno : 0;
}

static int meta_write(struct store *s, const struct job_meta *m, bool sync)
{
	struct record r = { .sync = sync };
	int ret = record_print(s, m, &r);

	if (ret < 0)
		return ret;
	meta_copy_begin(m->copy);
	ret = store_check_record(s, store_do(s, record_write, &r));
	if (ret == 0)
		meta_copy_end(m->copy, m);
	return ret;
}

int store_meta_write(struct store *s, const struct job_meta *m)
{
	return meta_write(s, m, false);
}

int store_meta_commit(struct store *s, const struct job_meta *m)
{
	return meta_write(s, m, !store_is_relaxed(s));
}

static int job_make_work(void *arg)
{
	const struct record *r = arg;
	char path[STORE_PATH_MAX];

	store_job_path(r->no, NULL, path);
	if (mkdirat(r->jobs, path, 0700) < 0)
		return errno == ENOENT ? -EIO : -errno; /* store_is_gone() reports it */
	store_job_path(r->no, "files", path);
	if (mkdirat(r->jobs, path, 0700) < 0)
		return -errno;
	return record_write(arg);
}

int store_job_make(struct store *s, const struct job_meta *meta)
{
	char path[STORE_PATH_MAX];
	struct record r = { .sync = false };
	int ret = record_print(s, meta, &r);

	if (ret < 0) {
		meta_copy_gone(meta->copy);
		return ret;
	}
	ret = store_do(s, job_make_work, &r);
	if (ret == 0) {
		meta_copy_end(meta->copy, meta);
		return 0;
	}
	store_job_path(meta->no, NULL, path);
	if (store_trash(s, path) == 0)
		meta_copy_gone(meta->copy);
	return ret;
}
