/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the broker's socket. A caller gets its answer in a fiber, or by a
 * callback from the loop. A broker that does not answer in time is given up, and all
 * callers that wait get an error.
 */
#include "broker_int.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fsd/base/fiber.h"
#include "fsd/fsd.h"

#define ANSWER_S 3

struct broker {
	int sock;
	struct child child;
	/* borrowed; NULL before broker_watch(), and once gone() was posted */
	struct loop *loop;
	struct loop_fd end, answers;
	struct list waiting; /* callers: struct broker_wait; the request of the first one
			      * was sent */
	/* takes the place of a question that was sent and then dropped: gets its
	 * answer */
	struct broker_wait nobody;
	struct loop_timer late;
	struct loop_call tell;
	void (*gone)(void *arg);
	void *arg;
};

/* --- starting it -------------------------------------------------------- */

/* Return: the command line of the broker, owned; NULL without memory. */
static const char **command_line(const char *mountpoint, bool allow_other,
				 const char *const *door)
{
	const char *const words[] = { "/proc/self/exe", BROKER_COMMAND, mountpoint,
				      allow_other ? "other" : "own" };
	size_t count = 0;
	const char **argv;

	while (door && door[count])
		count++;
	argv = calloc(ARRAY_SIZE(words) + count + 1, sizeof(*argv));
	if (!argv)
		return NULL;
	memcpy(argv, words, sizeof(words));
	if (count)
		memcpy(argv + ARRAY_SIZE(words), door, count * sizeof(*argv));
	return argv;
}

int broker_open(const char *mountpoint, bool allow_other, const char *const *door,
		struct broker **ret, struct err *err)
{
	auto_free const char **argv = command_line(mountpoint, allow_other, door);
	struct timeval limit = { .tv_sec = ANSWER_S };
	auto_close int ours = -1, theirs = -1;
	struct spawn s = {
		.argv = argv, .fds = &theirs, .fd_count = 1,
		/* without root fusermount3 mounts, by its setuid bit */
		.may_gain = true,
	};
	struct broker *k = calloc(1, sizeof(*k));
	int pair[2], r;

	if (!k || !argv) {
		free(k);
		return err_sys(err, -ENOMEM, "the broker");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(k);
		return err_sys(err, -errno, "the broker");
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
	list_init(&k->waiting);
	*ret = k;
	return 0;
}

static void on_tell(struct loop_call *c)
{
	struct broker *k = container_of(c, struct broker, tell);

	k->gone(k->arg);
}

/*
 * Reports the end from the loop: the caller may be in the middle of other work.
 */
static void tell_gone(struct broker *k)
{
	loop_fd_del(&k->end);
	if (k->loop)
		loop_defer(take_ptr(k->loop), &k->tell);
}

static void on_end(struct loop_fd *src, uint32_t events)
{
	(void)events;
	log_warn("the broker has ended");
	tell_gone(src->arg);
}

/* --- questions, one at a time --------------------------------------------------- */

static const uint8_t fds_of_op[BROKER_OPS] = {
	[BROKER_CLONE] = 1, [BROKER_INOTIFY] = 2, [BROKER_BIND] = 2,
	[BROKER_DOOR] = 2,
};

/*
 * Reads an answer. flags: MSG_DONTWAIT or 0. Return: 0, and a->code says
 * whether fds are set; -EAGAIN; -EPIPE: the broker has ended, or does not
 * answer in time.
 */
static int receive(struct broker *k, uint32_t op, struct broker_answer *a,
		   int fds[BROKER_FDS_MAX], int flags)
{
	unsigned wanted = fds_of_op[op], count = 0;
	ssize_t n = fdpass_receive(k->sock, a, sizeof(*a), fds, wanted, &count,
				   flags);

	if (n == -EAGAIN && flags)
		return -EAGAIN;
	if (n == (ssize_t)sizeof(*a) && (a->code < 0 ? 0 : wanted) == count)
		return 0;
	while (count)
		close(fds[--count]);
	if (n == (ssize_t)sizeof(*a)) {
		a->code = -EMFILE; /* no descriptor was free for its answer */
		return 0;
	}
	log_warn("the broker does not answer: %s",
		 n < 0 ? strerror((int)-n) : "it has ended");
	return -EPIPE;
}

static int send_to(struct broker *k, const struct broker_request *q, int flags)
{
	return fdpass_send(k->sock, q, sizeof(*q), NULL, 0, flags) > 0
		       ? 0 : -EPIPE;
}

/* Drops the broker and fails all waiting callers. A late answer would be taken for the
 * answer to the next question. */
static void give_up(struct broker *k)
{
	static const struct broker_answer none = { .code = -EPIPE };
	struct broker_wait *w;

	loop_fd_del(&k->answers);
	loop_timer_del(&k->late);
	fd_close(&k->sock);
	tell_gone(k);
	while ((w = list_first(&k->waiting, struct broker_wait, node))) {
		list_del(&w->node);
		w->fn(w, &none, NULL);
	}
}

static void on_nobody(struct broker_wait *w, const struct broker_answer *a,
		      const int *fds)
{
	for (unsigned i = 0; a->code >= 0 && i < fds_of_op[w->request.op]; i++)
		close(fds[i]);
}

static void ask_next(struct broker *k)
{
	struct broker_wait *w = list_first(&k->waiting, struct broker_wait,
					   node);

	loop_timer_del(&k->late);
	if (!w)
		return;
	loop_timer_set(k->answers.loop, &k->late, ANSWER_S * NS_PER_S);
	if (send_to(k, &w->request, MSG_DONTWAIT) < 0)
		give_up(k);
}

/* Reads the answer to the first question. Return: as receive(). */
static int take_answer(struct broker *k, int flags)
{
	struct broker_wait *w = list_first(&k->waiting, struct broker_wait,
					   node);
	struct broker_answer a;
	int fds[BROKER_FDS_MAX];
	int r = receive(k, w ? w->request.op : 0, &a, fds, flags);

	if (r == 0 && !w)
		r = -EPIPE; /* an answer without a question */
	if (r == -EPIPE)
		give_up(k);
	if (r < 0)
		return r;
	list_del(&w->node);
	ask_next(k);
	w->fn(w, &a, fds);
	return 0;
}

static void on_answer(struct loop_fd *src, uint32_t events)
{
	(void)events;
	take_answer(src->arg, MSG_DONTWAIT);
}

static void on_late(struct loop_timer *t)
{
	log_warn("the broker does not answer in %d s", ANSWER_S);
	give_up(t->arg);
}

int broker_ask_later(struct broker *k, struct broker_wait *w)
{
	if (!k || k->sock < 0 || !k->answers.loop)
		return -EPIPE;
	list_add_tail(&k->waiting, &w->node);
	if (k->waiting.next != &w->node)
		return 0;
	if (send_to(k, &w->request, MSG_DONTWAIT) < 0) {
		list_del(&w->node);
		give_up(k);
		return -EPIPE;
	}
	loop_timer_set(k->answers.loop, &k->late, ANSWER_S * NS_PER_S);
	return 0;
}

void broker_forget(struct broker *k, struct broker_wait *w)
{
	bool asked = k && !list_empty(&w->node) && k->waiting.next == &w->node;

	list_del(&w->node);
	if (!asked)
		return;
	k->nobody = (struct broker_wait){
		.request = w->request, .fn = on_nobody,
	};
	list_add(&k->waiting, &k->nobody.node);
}

struct pause {
	struct broker_wait wait;
	struct fiber *fiber;
	struct broker_answer *answer;
	int *fds;
};

static void on_pause_end(struct broker_wait *w, const struct broker_answer *a,
			 const int *fds)
{
	struct pause *p = container_of(w, struct pause, wait);

	*p->answer = *a;
	for (unsigned i = 0; a->code >= 0 && i < fds_of_op[w->request.op]; i++)
		p->fds[i] = fds[i];
	fiber_wake(p->fiber);
}

/* Asks and waits. fds: at least BROKER_FDS_MAX. Return: as broker_clone() and
 * the others. */
static int ask(struct broker *k, const struct broker_request *q,
	       struct broker_answer *a, int *fds)
{
	struct pause p = {
		.wait = { .request = *q, .fn = on_pause_end },
		.fiber = fiber_self(), .answer = a, .fds = fds,
	};
	int r;

	if (!k || k->sock < 0)
		return -EPIPE;
	if (p.fiber && k->answers.loop) {
		r = broker_ask_later(k, &p.wait);
		if (r == 0)
			fiber_pause();
		return r < 0 ? r : a->code;
	}
	broker_drain(k); /* earlier questions come first */
	r = k->sock < 0 ? -EPIPE : send_to(k, q, 0);
	if (r == 0)
		r = receive(k, q->op, a, fds, 0);
	if (r < 0 && k->sock >= 0)
		give_up(k);
	return r < 0 ? r : a->code;
}

int broker_watch(struct broker *k, struct loop *loop, void (*gone)(void *arg),
		 void *arg)
{
	int r;

	k->loop = loop;
	k->gone = gone;
	k->arg = arg;
	k->tell.fn = on_tell;
	k->late.fn = on_late;
	k->late.arg = k;
	k->end = (struct loop_fd){ .fd = k->child.pidfd, .events = EPOLLIN,
				   .fn = on_end, .arg = k };
	k->answers = (struct loop_fd){ .fd = k->sock, .events = EPOLLIN,
				       .fn = on_answer, .arg = k };
	r = loop_fd_add(loop, &k->answers);
	return r < 0 ? r : loop_fd_add(loop, &k->end);
}

bool broker_drain(struct broker *k)
{
	bool any = k && !list_empty(&k->waiting);

	while (any && !list_empty(&k->waiting))
		take_answer(k, 0); /* after an error no caller waits any more */
	return any;
}

/* Call it when no caller waits. */
void broker_close(struct broker *k)
{
	if (!k)
		return;
	loop_fd_del(&k->end);
	loop_fd_del(&k->answers);
	loop_timer_del(&k->late);
	loop_call_del(&k->tell);
	fd_close(&k->sock);
	child_end(&k->child);
	free(k);
}

int broker_clone(struct broker *k, bool *ret_is_clone)
{
	struct broker_request q = { .op = BROKER_CLONE };
	struct broker_answer a;
	int fds[BROKER_FDS_MAX], r = ask(k, &q, &a, fds);

	if (r < 0)
		return r;
	*ret_is_clone = a.is_clone;
	return fds[0];
}

int broker_call(struct broker *k, pid_t pid,
		unsigned long long ret[BROKER_CALL_WORDS])
{
	struct broker_request q = { .op = BROKER_CALL, .pid = pid };
	struct broker_answer a;
	int r = ask(k, &q, &a, NULL);

	for (unsigned i = 0; r == 0 && i < BROKER_CALL_WORDS; i++)
		ret[i] = a.call[i];
	return r;
}

int broker_opens(struct broker *k, pid_t pid, uint64_t ino)
{
	struct broker_request q = { .op = BROKER_OPENS, .pid = pid,
				    .ino = ino };
	struct broker_answer a;

	return ask(k, &q, &a, NULL);
}

int broker_door(struct broker *k, pid_t *ret_pid)
{
	struct broker_request q = { .op = BROKER_DOOR };
	struct broker_answer a;
	int fds[BROKER_FDS_MAX], r = ask(k, &q, &a, fds);

	if (r < 0)
		return r;
	close(fds[1]);
	*ret_pid = a.pid;
	return fds[0];
}

int broker_umount(struct broker *k)
{
	struct broker_request q = { .op = BROKER_UMOUNT };
	struct broker_answer a;

	return ask(k, &q, &a, NULL);
}
