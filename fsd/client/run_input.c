/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input that comes while the job runs: of a pipe, a socket or a terminal.
 * Once the job runs, each block goes to its stdin.feed, and the end to its ctl. A
 * regular file is whole and is copied into the job before (run_job.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "run_int.h"

/* Neither is waited for: nothing ever comes of /dev/null, and what a retry would
 * need again must be whole. */
bool input_is_open(const struct client *k)
{
	struct stat st;

	if (k->c->submit || !takes_stdin(k->c) || is_set(k->c, RUN_RETRY) ||
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

void input_begin(struct client *k)
{
	struct input *in = &k->input;

	if (!in->open)
		return;
	in->state = openat(k->dir, "state", O_RDONLY | O_CLOEXEC);
	if (in->state < 0)
		input_close(in);
}

/* A terminal stops who reads it in the background. */
static bool in_background(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
}

nfds_t input_poll(const struct client *k, struct pollfd *p)
{
	const struct input *in = &k->input;

	if (!in->open)
		return 0;
	if (in->state >= 0) /* until it runs */
		*p = (struct pollfd){ .fd = in->state, .events = POLLPRI };
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
		in->feed = openat(k->dir, "stdin.feed",
				  O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (in->feed < 0)
		input_close(in); /* it has ended meanwhile */
}

static void take(struct client *k)
{
	struct input *in = &k->input;
	ssize_t n;

	if (in_background()) {
		input_close(in);
		return;
	}
	n = read(STDIN_FILENO, in->data, sizeof(in->data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
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
	}
}
