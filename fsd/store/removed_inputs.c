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

#include "store_io.h"

static int write_note(struct store *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX], text[32];
	auto_close int fd = -1;
	/* As long as any other one: nothing of that is left behind it. */
	ssize_t n, len = snprintf(text, sizeof(text), "%020" PRIu64 "\n",
				  queued_no);

	store_job_path(no, "gone", path);
	fd = openat(store_jobs_fd(s), path,
		    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, text, (size_t)len, 0);
	return n == len ? 0 : n < 0 ? -errno : -ENOSPC;
}

int store_removed_input(struct store *s, uint64_t no, uint64_t queued_no)
{
	char path[STORE_PATH_MAX];
	uint64_t found = 0;
	int r;

	store_job_path(no, "gone", path);
	r = read_number(store_jobs_fd(s), path, "", &found);
	return r == -ENOENT || r == -EINVAL ? 0 : r < 0 ? r : found == queued_no;
}

int store_note_removed_input(struct store *s, uint64_t no, uint64_t queued_no)
{
	/* Also what is there: it may be what the disk has not taken. */
	int r = write_note(s, no, queued_no);

	if ((r == -ENOSPC || r == -EDQUOT) && store_give_reserve(s)) {
		r = write_note(s, no, queued_no);
		store_reserve_used(s);
	}
	if (r < 0 && store_removed_input(s, no, queued_no) > 0)
		r = 0; /* what is there needs no room */
	return r < 0 ? r : store_sync_words(s, no, "gone");
}
