/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper_int.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../vm/loop.h"
#include "fsd.h"

#define ANSWER_S 3

struct keeper {
	int sock;
	struct child child;
	struct loop *loop;     /* borrowed; NULL: nobody is to be told */
	struct loop_fd end;
	struct loop_call tell;
	void (*gone)(void *arg);
	void *arg;
};

/* --- the daemon's side ----------------------------------------------------------- */

int keeper_open(const struct mount_options *options, struct keeper **ret,
		struct err *err)
{
	const char *argv[] = { "/proc/self/exe", KEEPER_COMMAND,
			       options->mountpoint,
			       options->allow_other ? "other" : "own", NULL };
	struct timeval limit = { .tv_sec = ANSWER_S };
	auto_close int ours = -1, theirs = -1;
	struct spawn s = {
		.argv = argv, .fds = &theirs, .fd_count = 1,
		/* without root fusermount3 does it, by its setuid bit */
		.may_gain = true,
	};
	struct keeper *k = calloc(1, sizeof(*k));
	int pair[2], r;

	if (!k)
		return err_sys(err, -ENOMEM, "the keeper");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(k);
		return err_sys(err, -errno, "the keeper");
	}
	ours = pair[0];
	theirs = pair[1];
	setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = spawn(&s, &k->child, err);
	if (r < 0) {
		free(k);
		return r;
	}
	k->sock = take_fd(&ours);
	*ret = k;
	return 0;
}

static void on_tell(struct loop_call *c)
{
	struct keeper *k = container_of(c, struct keeper, tell);

	k->gone(k->arg);
}

/* From the loop: who asks may be in the middle of something. */
static void tell_gone(struct keeper *k)
{
	loop_fd_del(&k->end);
	if (k->loop)
		loop_defer(take_ptr(k->loop), &k->tell);
}

static void on_end(struct loop_fd *src, uint32_t events)
{
	(void)events;
	log_warn("the keeper has ended");
	tell_gone(src->arg);
}

int keeper_watch(struct keeper *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg)
{
	k->loop = loop;
	k->gone = gone;
	k->arg = arg;
	k->tell.fn = on_tell;
	k->end = (struct loop_fd){ .fd = k->child.pidfd, .events = EPOLLIN,
				   .fn = on_end, .arg = k };
	return loop_fd_add(loop, &k->end);
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	loop_fd_del(&k->end);
	loop_call_del(&k->tell);
	fd_close(&k->sock);
	child_end(&k->child);
	free(k);
}

static int ask(struct keeper *k, const struct keeper_request *q,
	       struct keeper_answer *a, int *fds, unsigned wanted)
{
	unsigned count = 0;
	ssize_t n;

	if (!k || k->sock < 0)
		return -EPIPE;
	n = fdpass_send(k->sock, q, sizeof(*q), NULL, 0, 0);
	if (n > 0)
		n = fdpass_receive(k->sock, a, sizeof(*a), fds, wanted, &count,
				   0);
	if (n == (ssize_t)sizeof(*a) && (a->code < 0 || count == wanted))
		return a->code;
	while (count)
		close(fds[--count]);
	if (n == (ssize_t)sizeof(*a))
		return -EMFILE; /* no room for its descriptors */
	/* Late answers would be taken for the next one's. */
	log_warn("the keeper does not answer: %s",
		 n < 0 ? strerror((int)-n) : "it has ended");
	fd_close(&k->sock);
	tell_gone(k);
	return -EPIPE;
}

int keeper_clone(struct keeper *k, bool *ret_is_clone)
{
	struct keeper_request q = { .op = KEEPER_CLONE };
	struct keeper_answer a;
	int fd, r = ask(k, &q, &a, &fd, 1);

	if (r < 0)
		return r;
	*ret_is_clone = a.is_clone;
	return fd;
}

int keeper_notify(struct keeper *k, int *ret_sock, int *ret_pidfd,
		  pid_t *ret_pid)
{
	struct keeper_request q = { .op = KEEPER_NOTIFY };
	struct keeper_answer a;
	int fds[KEEPER_FDS_MAX], r = ask(k, &q, &a, fds, KEEPER_FDS_MAX);

	if (r < 0)
		return r;
	*ret_sock = fds[0];
	*ret_pidfd = fds[1];
	*ret_pid = a.pid;
	return 0;
}

int keeper_call(struct keeper *k, pid_t pid,
		unsigned long long ret[KEEPER_CALL_WORDS])
{
	struct keeper_request q = { .op = KEEPER_CALL, .pid = pid };
	struct keeper_answer a;
	int r = ask(k, &q, &a, NULL, 0);

	for (unsigned i = 0; r == 0 && i < KEEPER_CALL_WORDS; i++)
		ret[i] = a.call[i];
	return r;
}

int keeper_umount(struct keeper *k)
{
	struct keeper_request q = { .op = KEEPER_UMOUNT };
	struct keeper_answer a;

	return ask(k, &q, &a, NULL, 0);
}
