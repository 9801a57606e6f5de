/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../layout/base/cleanup.h"

#define GRACE_MS 1000
#define SAID_MAX 1000 /* bytes of standard error that are kept, the last */

struct process {
	struct loop *loop;
	const struct process_events *ev;
	void *arg;
	struct child child;
	struct loop_fd dead;   /* the pidfd */
	struct loop_fd says;   /* standard error */
	struct qmp *qmp;       /* owned */
	struct loop_timer grace; /* from a closed monitor to its end */
	char said[SAID_MAX];
	size_t said_len;
	char why[300];         /* why it was killed, "" if it was not */
};

/* --- what it says ------------------------------------------------------- */

static bool read_said(struct process *p)
{
	char block[512];
	ssize_t n = read(p->child.stderr_fd, block, sizeof(block));
	size_t drop;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	drop = p->said_len + (size_t)n > SAID_MAX ?
		       p->said_len + (size_t)n - SAID_MAX : 0;
	memmove(p->said, p->said + drop, p->said_len - drop);
	p->said_len -= drop;
	memcpy(p->said + p->said_len, block, (size_t)n);
	p->said_len += (size_t)n;
	return true;
}

static void on_says(struct loop_fd *src, uint32_t events)
{
	struct process *p = src->arg;

	if (!read_said(p) && events & EPOLLHUP)
		loop_fd_del(&p->says);
}

/* The last line it wrote, made printable, into text. */
static void last_words(struct process *p, char *text, size_t size)
{
	size_t end = p->said_len, start;

	while (end && p->said[end - 1] == '\n')
		end--;
	for (start = end; start && p->said[start - 1] != '\n'; start--)
		;
	snprintf(text, size, "%.*s", (int)(end - start), p->said + start);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

/* --- its end ------------------------------------------------------------ */

static void explain(struct process *p, int status, char *text, size_t size)
{
	char words[200];

	last_words(p, words, sizeof(words));
	if (p->why[0])
		snprintf(text, size, "%s", p->why);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "QEMU was ended by signal %d (%s)%s%s",
			 WTERMSIG(status), strsignal(WTERMSIG(status)),
			 words[0] ? ": " : "", words);
	else
		snprintf(text, size, "QEMU ended with status %d%s%s",
			 WEXITSTATUS(status), words[0] ? ": " : "", words);
}

static void on_dead(struct loop_fd *src, uint32_t events)
{
	struct process *p = src->arg;
	char text[400];
	int status;

	(void)events;
	if (!child_reap(&p->child, &status))
		return;
	loop_fd_del(&p->dead);
	loop_timer_del(&p->grace);
	while (read_said(p))
		;
	loop_fd_del(&p->says);
	qmp_free(p->qmp);
	p->qmp = NULL;
	explain(p, status, text, sizeof(text));
	p->ev->gone(p->arg, text);
}

void process_kill(struct process *p, const char *why)
{
	if (why && !p->why[0])
		snprintf(p->why, sizeof(p->why), "%s", why);
	if (p->child.pid > 0)
		kill(p->child.pid, SIGKILL); /* not reaped: the pid is its */
}

static void on_event(void *arg, const char *name, const char *status)
{
	struct process *p = arg;

	p->ev->event(p->arg, name, status);
}

static void on_grace(struct loop_timer *t)
{
	process_kill(t->arg, "QEMU's monitor closed or spoke no JSON");
}

/* It is ending, as a rule, and its status will say why; a kill at this moment
 * would hide that. If it lives on, it is of no use. */
static void on_closed(void *arg, const char *why)
{
	struct process *p = arg;

	(void)why;
	loop_timer_set(p->loop, &p->grace, GRACE_MS * NS_PER_MS);
}

static const struct qmp_events qmp_events = {
	.event = on_event,
	.closed = on_closed,
};

/* --- life --------------------------------------------------------------- */

void process_free(struct process *p)
{
	if (!p)
		return;
	loop_fd_del(&p->dead);
	loop_fd_del(&p->says);
	loop_timer_del(&p->grace);
	qmp_free(p->qmp);
	child_end(&p->child);
	free(p);
}

struct qmp *process_qmp(struct process *p)
{
	return p->qmp;
}

static int watch(struct process *p)
{
	int r;

	p->dead = (struct loop_fd){
		.fd = p->child.pidfd, .events = EPOLLIN, .fn = on_dead,
		.arg = p,
	};
	p->says = (struct loop_fd){
		.fd = p->child.stderr_fd, .events = EPOLLIN, .fn = on_says,
		.arg = p,
	};
	r = loop_fd_add(p->loop, &p->dead);
	return r < 0 ? r : loop_fd_add(p->loop, &p->says);
}

static int run(struct process *p, const struct argv *argv, const int *fds,
	       unsigned fd_count, int *ret_qmp, struct err *err)
{
	auto_close int ours = -1, theirs = -1;
	int table[SPAWN_FDS_MAX], pair[2], r;
	struct spawn s = {
		.argv = argv->item, .fds = table, .fd_count = fd_count + 1,
	};

	if (fd_count + 1 > SPAWN_FDS_MAX)
		return err_sys(err, -EINVAL, "QEMU's descriptors");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "QEMU's monitor");
	ours = pair[0];
	theirs = pair[1];
	table[0] = theirs;
	memcpy(table + 1, fds, fd_count * sizeof(*fds));
	r = spawn(&s, &p->child, err);
	if (r == 0)
		*ret_qmp = take_fd(&ours);
	return r;
}

int process_new(struct loop *loop, const struct argv *argv, const int *fds,
		unsigned fd_count, const struct process_events *ev, void *arg,
		struct process **ret, struct err *err)
{
	struct process *p = calloc(1, sizeof(*p));
	int qmp = -1, r;

	if (!p)
		return err_sys(err, -ENOMEM, "QEMU");
	p->loop = loop;
	p->ev = ev;
	p->arg = arg;
	p->grace = (struct loop_timer){ .fn = on_grace, .arg = p };
	p->child = (struct child){ .pidfd = -1, .stderr_fd = -1 };
	r = run(p, argv, fds, fd_count, &qmp, err);
	if (r == 0) {
		r = qmp_new(loop, qmp, &qmp_events, p, &p->qmp);
		if (r == 0)
			r = watch(p);
		if (r < 0)
			err_sys(err, r, "watching QEMU");
	}
	if (r < 0) {
		process_free(p);
		return r;
	}
	*ret = p;
	return 0;
}
