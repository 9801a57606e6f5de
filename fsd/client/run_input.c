/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input that comes while the job runs: of a pipe, a socket or a terminal.
 * Once the job runs, each block goes to its stdin.feed, and the end to its ctl. A
 * regular file is whole and is copied into the job before (run_put.c).
 *
 * A loop of the shell may read from the same pipe. So at first the client sends copies,
 * and takes bytes out of the pipe once the program has read them:
 *
 *   STDIN ── tee(2), MSG_PEEK ──► data ──► stdin.feed     sent = bytes
 *                                          POLLPRI, or the end: read(STDIN, sent)
 *
 * One block is under way at a time, which is slow for a long input. A program that has
 * read COPIED bytes is taken to read on. From then on the client reads ahead.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "run_int.h"

#define COPIED 65536

/* True if the job's standard input stays open. Not for /dev/null, which is always empty,
 * and not with a retry, which needs the whole input again. */
bool input_is_open(const struct run_client *c)
{
	struct stat st;

	if (!takes_stdin(c) || is_set(c, RUN_RETRY) ||
	    fstat(STDIN_FILENO, &st) < 0)
		return false;
	if (S_ISCHR(st.st_mode))
		return st.st_rdev != makedev(1, 3);
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
}

void input_close(struct input *in)
{
	in->open = false;
	fd_close(&in->state);
	fd_close(&in->feed);
}

/* True if bytes of standard input can be looked at without being taken. */
static bool can_copy(struct input *in)
{
	socklen_t size = sizeof(int);
	struct stat st;
	int type;

	if (fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		return pipe2(in->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
	return getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_STREAM;
}

void input_begin(struct client *k)
{
	struct input *in = &k->input;

	if (!in->open)
		return;
	in->copies = can_copy(in);
	in->state = openat(k->draft.dir, "state", O_RDONLY | O_CLOEXEC);
	if (in->state < 0)
		input_close(in);
}

/* True if we are in the background, where a read from the terminal would stop this
 * process. */
static bool in_background(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
}

nfds_t input_poll(const struct client *k, struct pollfd *p)
{
	const struct input *in = &k->input;

	if (!in->open)
		return 0;
	if (in->state >= 0) /* wait until the program runs */
		*p = (struct pollfd){ .fd = in->state, .events = POLLPRI };
	else if (in->sent) /* wait until the program has read everything */
		*p = (struct pollfd){ .fd = in->feed, .events = POLLPRI };
	else if (in->len)
		*p = (struct pollfd){ .fd = in->feed, .events = POLLOUT };
	else
		*p = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	return 1;
}

static void on_state(struct client *k)
{
	struct input *in = &k->input;
	char text[16];
	ssize_t n = pread(in->state, text, sizeof(text) - 1, 0);

	text[MAX(n, 0)] = '\0';
	if (!strcmp(text, "queued\n"))
		return;
	fd_close(&in->state);
	if (!strcmp(text, "running\n"))
		in->feed = openat(k->draft.dir, "stdin.feed",
				  O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (in->feed < 0)
		input_close(in); /* the job has ended meanwhile */
}

/* Like read(2), but the bytes stay in standard input. */
static ssize_t copy_block(struct input *in)
{
	ssize_t n;

	if (in->pipe[0] < 0)
		return recv(STDIN_FILENO, in->data, sizeof(in->data),
			    MSG_PEEK | MSG_DONTWAIT);
	n = tee(STDIN_FILENO, in->pipe[1], sizeof(in->data), SPLICE_F_NONBLOCK);
	return n > 0 ? read(in->pipe[0], in->data, (size_t)n) : n;
}

/* Reads size bytes that were sent as copies. Another process may have read some of them,
 * so it reads no more than is there, and never waits. */
static void take_away(struct input *in, size_t size)
{
	char room[4096];
	ssize_t n = 1;
	int there = 0;

	in->read += size;
	if (ioctl(STDIN_FILENO, FIONREAD, &there) < 0)
		return;
	for (size_t left = MIN(size, (size_t)MAX(there, 0)); left && n > 0;
	     left -= (size_t)MAX(n, 0))
		n = read(STDIN_FILENO, room, MIN(left, sizeof(room)));
}

/* If the program has read all that was sent, takes those bytes out of standard input. If
 * it will read no more, ends the input. */
static void on_sent(struct input *in)
{
	struct pollfd p = { .fd = in->feed, .events = POLLPRI };

	if (poll(&p, 1, 0) <= 0)
		return;
	if (p.revents & POLLPRI) {
		take_away(in, in->sent);
		in->sent = 0;
		in->copies = in->read < COPIED;
	} else if (p.revents & POLLERR) {
		input_close(in); /* input_end() gets the number of bytes that were read */
	}
}

static void take(struct client *k)
{
	struct input *in = &k->input;
	ssize_t n;

	if (in_background()) {
		input_close(in);
		return;
	}
	n = in->copies ? copy_block(in)
		       : read(STDIN_FILENO, in->data, sizeof(in->data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && in->copies) {
		in->copies = false;
		return;
	}
	in->at = 0;
	in->len = (size_t)MAX(n, 0);
	if (n > 0)
		return;
	if (n < 0)
		client_fail(k, 0, "standard input: %s", strerror(errno));
	client_ctl(k, "eof\n");
	input_close(in);
}

void input_go_on(struct client *k)
{
	struct input *in = &k->input;
	ssize_t n;

	if (in->state >= 0) {
		on_state(k);
		return;
	}
	if (in->sent) {
		on_sent(in);
		return;
	}
	if (!in->len)
		take(k);
	while (in->len) {
		n = write(in->feed, in->data + in->at, in->len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			input_close(in); /* the program reads no more */
			return;
		}
		in->at += (size_t)n;
		in->len -= (size_t)n;
		if (!in->copies)
			continue;
		in->sent = (size_t)n; /* the rest is copied again */
		in->len = 0;
	}
}

void input_end(struct client *k, uint64_t read)
{
	struct input *in = &k->input;

	if (in->sent && read > in->read)
		take_away(in, MIN(in->sent, (size_t)(read - in->read)));
	in->sent = 0;
	fd_close(&in->pipe[0]);
	fd_close(&in->pipe[1]);
}
