/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the mount: reads requests from its descriptor in the
 * loop, in turns. Owns struct mountpoint. All functions run on the loop.
 */
#include "mountpoint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "library.h"
#include "requests_int.h"

/* Longest turn before the loop handles other sources. */
#define TURN_NS (2 * NS_PER_MS)

/*
 * While requests follow each other within this time, the loop polls for the
 * next one instead of sleeping. Users of files ask again at once; polling
 * halves the time of each request, and uses a processor as long as the burst
 * lasts.
 */
#define LINGER_NS (200000ull)

static void on_gone(struct mountpoint *s, int r)
{
	if (r < 0)
		log_error("the mount's channel failed: %s", strerror(-r));
	else
		log_info("%s was unmounted", s->d->options->mountpoint);
	loop_fd_del(&s->src);
	s->unmounted(s->d);
}

/* Handles requests for one turn. The turn ends early when a request has scheduled
 * work: a job's machine shall start before its owner's next request. */
static void on_requests(struct loop_fd *src, uint32_t events)
{
	struct mountpoint *s = src->arg;
	uint64_t now = now_ns(), until = now + TURN_NS;
	bool burst = now - s->last_ns < LINGER_NS;

	(void)events;
	do {
		int r = requests_next(s->d);

		if (r == 0)
			break;
		if (r < 0) {
			on_gone(s, r == -ENODEV ? 0 : r);
			return;
		}
		if (requests_ended(s->d)) {
			on_gone(s, 0);
			return;
		}
		s->last_ns = now_ns();
	} while (s->last_ns < until && !loop_is_due(s->d->loop));
	if (burst)
		loop_linger(s->d->loop, LINGER_NS);
}

int mountpoint_serve(struct fsd *d, const struct fuse_lowlevel_ops *ops,
		     void (*unmounted)(struct fsd *d), int fd, struct err *err)
{
	struct mountpoint *s;
	int r = requests_open(d, ops, fd);

	if (r < 0)
		return err_sys(err, r, "the FUSE session");
	s = &d->requests->mountpoint;
	s->d = d;
	s->unmounted = unmounted;
	s->src = (struct loop_fd){
		.fd = requests_fd(d), .events = EPOLLIN, .fn = on_requests,
		.arg = s,
	};
	r = loop_fd_add(d->loop, &s->src);
	if (r < 0)
		return err_sys(err, r, "the mount's channel");
	requests_take_over(d);
	return 0;
}

uint64_t mountpoint_asked_ns(const struct fsd *d)
{
	return d->requests ? d->requests->mountpoint.last_ns : 0;
}

void mountpoint_close(struct fsd *d)
{
	if (!d->requests)
		return;
	loop_fd_del(&d->requests->mountpoint.src);
	/*
	 * Through the broker: this process has given up the right to unmount.
	 * Once the connection has ended, the device number may be another
	 * mount's.
	 */
	if (!mountpoint_has_ended(requests_fd(d)))
		broker_umount(d->broker);
	requests_close(d);
}
