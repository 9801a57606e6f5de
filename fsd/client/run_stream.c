/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's own side of `fsd run`: the signals that it gets and forwards to the job,
 * and its standard output and error. A write that waits for a slow reader handles signals
 * meanwhile. After the second signal the client gives that reader up.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_int.h"

/* --- the job's small files ---------------------------------------------------------- */

ssize_t client_read(struct client *k, const char *name, char *room, size_t size)
{
	auto_close int fd = openat(k->draft.dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, size - 1);

	room[MAX(n, 0)] = '\0';
	return n;
}

bool client_ctl(struct client *k, const char *verb)
{
	auto_close int fd = openat(k->draft.dir, "ctl", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, verb, strlen(verb)) >= 0)
		return true;
	if (errno == ESRCH)
		return false;
	client_complain(1, "ctl: %s", strerror(errno));
	return true;
}

/* --- signals ------------------------------------------------------------------------ */

void client_on_signal(struct client *k)
{
	char state[16], verb[32];
	int number = client_signal(&k->signals);

	if (!number)
		return;
	if (k->interrupts++) {
		client_ctl(k, "kill\n");
		return;
	}
	client_read(k, "state", state, sizeof(state));
	if (!strcmp(state, "done\n")) {
		k->interrupts++; /* only the write to a slow reader is left to end */
		return;
	}
	/* A terminal sends Ctrl-C to all that runs in front. */
	if (number == SIGINT)
		snprintf(verb, sizeof(verb), "interrupt\n");
	else
		snprintf(verb, sizeof(verb), "signal %d\n", number);
	if (!strcmp(state, "running\n") && client_ctl(k, verb))
		return;
	k->early = number;
	client_ctl(k, "kill\n");
}

/* --- streams ------------------------------------------------------------------------ */

/* Writes all, unless the reader has gone. After a signal that ends this process it does
 * not wait for the reader. */
static int write_all(struct client *k, int to, const char *data, size_t len)
{
	struct nonblocking_output *o = &k->out[to - STDOUT_FILENO];
	struct pollfd p[2] = { { .fd = o->fd, .events = POLLOUT },
			       { .fd = k->signals.fd, .events = POLLIN } };

	while (len) {
		ssize_t n = nonblocking_output_write(o, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (n == -EAGAIN) {
			if (k->interrupts > 1)
				return -ECANCELED;
			if (poll(p, 2, -1) > 0 && p[1].revents)
				client_on_signal(k);
		} else if (n != -EINTR) {
			return (int)n;
		}
	}
	return 0;
}

void client_tell(struct client *k, const char *text)
{
	char us[64];
	int len = snprintf(us, sizeof(us), "fsd %s: ", k->c->command);

	if (write_all(k, STDERR_FILENO, us, (size_t)MIN(len, (int)sizeof(us) - 1)) == 0)
		write_all(k, STDERR_FILENO, text, strlen(text));
}

int client_fail(struct client *k, int code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	snprintf(text + MIN(MAX(n, 0), (int)sizeof(text) - 2), 2, "\n");
	client_tell(k, text);
	return code;
}

/* Handles r, the answer of write_all(). Return: false: copy no more. */
static bool copied(struct client *k, int to, int r)
{
	if (r == 0)
		return true;
	/* A reader that is gone has read what it wanted, so this is no failure. If the
	 * program writes more, it ends as by SIGPIPE. */
	if (r == -EPIPE && !k->unread) {
		k->unread = true;
		client_ctl(k, "kill\n");
	} else if (r == -ECANCELED) {
		k->given_up = k->lost = true;
	} else if (r != -EPIPE && !k->lost) {
		k->lost = client_fail(k, 1, "standard %s: %s",
			       to == STDOUT_FILENO ? "output" : "error",
			       strerror(-r));
	}
	return false;
}

void client_print(struct client *k, const char *data, size_t len)
{
	copied(k, STDOUT_FILENO, write_all(k, STDOUT_FILENO, data, len));
}

void client_print_error(struct client *k, const char *data, size_t len)
{
	copied(k, STDERR_FILENO, write_all(k, STDERR_FILENO, data, len));
}

ssize_t client_pump(struct client *k, int from, int to)
{
	char room[65536];
	ssize_t n = read(from, room, sizeof(room));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	return copied(k, to, write_all(k, to, room, (size_t)n)) ? n : 0;
}
