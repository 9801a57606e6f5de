/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/jobs/ID/gone: queued_no of a submission of which an input was removed
 * before it was over. That number is no other submission's, so nobody has to
 * take back what is written here. It is there before the input goes, and stays
 * while another one goes: who writes it again may be ended half way.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "depot_calls.h"

static int write_note(struct depot *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX], text[32];
	auto_close int fd = -1;
	/* As long as any other one: nothing of that is left behind it. */
	ssize_t n, len = snprintf(text, sizeof(text), "%020" PRIu64 "\n",
				  queued_no);

	depot_job_path(no, "gone", path);
	fd = openat(depot_jobs_fd(s), path,
		    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, text, (size_t)len, 0);
	return n == len ? 0 : n < 0 ? -errno : -ENOSPC;
}

int depot_gone(struct depot *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX];
	uint64_t found = 0;
	int r;

	depot_job_path(no, "gone", path);
	r = read_number(depot_jobs_fd(s), path, "", &found);
	return r == -ENOENT || r == -EINVAL ? 0 : r < 0 ? r : found == queued_no;
}

int depot_gone_note(struct depot *s, uint64_t no, uint64_t queued_no)
{
	/* Also what is there: it may be what the disk has not taken. */
	int r = write_note(s, no, queued_no);

	if ((r == -ENOSPC || r == -EDQUOT) && depot_give_reserve(s)) {
		r = write_note(s, no, queued_no);
		depot_reserve_used(s);
	}
	if (r < 0 && depot_gone(s, no, queued_no) > 0)
		r = 0; /* what is there needs no room */
	return r < 0 ? r : depot_sync_words(s, no, "gone");
}
