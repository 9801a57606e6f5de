/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a job in one step: opens its file "hold" and closes it. If the job is still
 * there after two seconds, removes its tree file by file.
 */
#include "job_drop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "fsd/local/tree_copy.h"
#include "layout/layout.h"
#include "vm/os/loop.h"

#define WAIT_NS (2 * NS_PER_S) /* another process may hold the job, too */

void job_drop(int dir)
{
	int hold = openat(dir, "hold", O_RDONLY | O_CLOEXEC);

	if (hold >= 0)
		close(hold);
}

static bool is_there(int root, const char *name, int dir)
{
	return faccessat(root, name, F_OK, 0) == 0 &&
	       faccessat(dir, "state", F_OK, 0) == 0;
}

int job_dropped(int root, const char *name, int dir)
{
	const uint64_t until = now_ns() + WAIT_NS;
	auto_close int state = openat(dir, "state", O_RDONLY | O_CLOEXEC);
	/* POLLPRI on `state` reports that the job has ended, and then that it is gone */
	struct pollfd p = { .fd = state, .events = POLLPRI };
	char word[16];
	int r;

	while (state >= 0 && pread(state, word, sizeof(word), 0) > 0 &&
	       is_there(root, name, dir) && now_ns() < until)
		poll(&p, 1, (int)((until - now_ns()) / NS_PER_MS) + 1);
	if (!is_there(root, name, dir))
		return 0;
	/* The mount may be another filesystem than the current directory, which
	 * tree_remove() would not leave. */
	tree_remove_all(dir, NULL);
	r = unlinkat(root, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	return r == -ENOENT ? 0 : r;
}
