/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a monitor that is not QEMU's, in pieces, with commands pending. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/qemu/qmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
	struct loop *loop;
	struct qmp *q;
	struct loop_call quit;
};

static void on_event(void *arg, const char *name, const char *status)
{
	struct state *s = arg;

	/* As a real owner does: an event makes for a command, or the end. */
	if (status[0] == 'f') {
		qmp_free(s->q);
		s->q = NULL;
	} else if (name[0]) {
		qmp_send(s->q, "cont", NULL, NS_PER_S, NULL, NULL);
	}
}

static void on_closed(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

static void on_reply(void *arg, const struct qmp_reply *reply)
{
	struct state *s = arg;

	if (reply->code == -EIO && reply->text[0] == 'f') {
		qmp_free(s->q);
		s->q = NULL;
	}
}

static void on_quit(struct loop_call *c)
{
	loop_quit(((struct state *)c->arg)->loop);
}

static const struct qmp_events events = {
	.event = on_event, .closed = on_closed,
};

/* Lets the loop take what is in the socket. */
static void turn(struct state *s)
{
	s->quit = (struct loop_call){ .fn = on_quit, .arg = s };
	loop_post(s->loop, &s->quit);
	loop_run(s->loop);
}

typedef int open_fn(struct loop *loop, int fd, const struct qmp_events *ev,
		    void *arg, struct qmp **ret);

static void hear(const uint8_t *data, size_t size, open_fn *open)
{
	struct state s = { .loop = NULL };
	int pair[2];

	if (loop_new(&s.loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	if (open(s.loop, pair[0], &events, &s, &s.q) < 0)
		abort();
	for (int i = 0; i < 3; i++)
		qmp_send(s.q, "x", NULL, NS_PER_S, on_reply, &s);
	while (size && s.q) {
		size_t n = 1 + data[0] * 16u;

		n = n < size ? n : size;
		if (send(pair[1], data, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		turn(&s);
		data += n;
		size -= n;
	}
	close(pair[1]);
	turn(&s);
	qmp_free(s.q);
	loop_free(s.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hear(data, size, qmp_new);
	hear(data, size, qmp_adopt);
	return 0;
}
