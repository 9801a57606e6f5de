/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the real relay for fake machines. The server may neither fork nor accept(2) once it
 * has given up its rights, so a process that is forked before does both: it gets the
 * descriptors of a relay by a socket, and forks. It has one thread. A relay is a process
 * named "fsd-relay", which a test may kill; it dies with the server that started it.
 */
#include "fake_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "vm/net/relay.h"
#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"

/* After standard input, output and error. */
enum { FD_SOCK = 3, FD_ACCOUNT, FD_PORT };

/* Ends this process with its parent. */
static void die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

_Noreturn static void run_relay(pid_t parent)
{
	die_with(parent);
	prctl(PR_SET_NAME, "fsd-relay");
	close(FD_SOCK);
	_exit(relay_main(FD_ACCOUNT, FD_PORT));
}

/* Return: false at the socket's end. */
static bool start_next(void)
{
	int fds[2] = { -1, -1 };
	unsigned count = 0;
	char byte = 0;
	ssize_t n = fdpass_receive(FD_SOCK, &byte, 1, fds, 2, &count, 0);
	pid_t self = getpid(), pid = -1;

	if (n <= 0)
		return n == -EINTR;
	/* no other descriptors are open here, so these are FD_ACCOUNT and FD_PORT */
	if (fds[0] == FD_ACCOUNT && fds[1] == FD_PORT)
		pid = fork();
	if (pid == 0)
		run_relay(self);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	return true;
}

/* Replaces the standard descriptors by /dev/null. Else a caller that reads the daemon's
 * output to its end would wait for this process too. */
static int place_fds(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < FD_SOCK; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (null < 0 || dup2(sock, FD_SOCK) < 0 ||
	    syscall(SYS_close_range, FD_SOCK + 1, ~0u, 0) < 0)
		return -errno;
	return 0;
}

_Noreturn static void start_all(int sock, pid_t parent)
{
	spawn_reset_signals();
	signal(SIGCHLD, SIG_IGN); /* reaps each relay at its end */
	signal(SIGINT, SIG_IGN);  /* a terminal sends it to the server, too */
	die_with(parent);
	prctl(PR_SET_NAME, "fake-relays");
	if (place_fds(sock) < 0)
		_exit(1);
	while (start_next())
		;
	_exit(0);
}

int fake_relays_start(struct fake_relays *r)
{
	pid_t self = getpid();
	int pair[2];

	r->sock = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r->pid = fork();
	if (r->pid == 0)
		start_all(pair[1], self);
	close(pair[1]);
	if (r->pid < 0) {
		close(pair[0]);
		return -errno;
	}
	r->sock = pair[0];
	return 0;
}

int fake_relay(const struct fake_relays *r, int account, int port)
{
	const int fds[] = { account, port };
	ssize_t n = fdpass_send(r->sock, "", 1, fds, 2, 0);

	return n < 0 ? (int)n : 0;
}

void fake_relays_end(struct fake_relays *r)
{
	if (r->sock < 0)
		return;
	fd_close(&r->sock);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
