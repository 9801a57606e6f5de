/* SPDX-License-Identifier: Apache-2.0 */
/* Each way to put an entry into a spool, with a watcher that loses every event. */
#include <sys/eventfd.h>

#include "fsd/spool/watch.h"
#include "tests/unit/fsd/spool_ways.h"

static int open_events(int dir)
{
	(void)dir;
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static bool read_events(int fd, watch_fn *fn, void *arg)
{
	(void)fd;
	(void)fn;
	(void)arg;
	return false;
}

const struct watch_events watch_system = { .open = open_events, .read = read_events };

static const struct watcher watcher = {
	.name = "lost", .options = { .settle_ms = SETTLE, .poll_ms = POLL },
	.renamed = WATCH_RESCAN_MS + SETTLE, .written = WATCH_RESCAN_MS + SETTLE,
};

int main(void)
{
	if (!start())
		return 1;
	test_ways(&watcher);
	return finish();
}
