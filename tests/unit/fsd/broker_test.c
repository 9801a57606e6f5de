/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker does for a daemon that asks for too much. */
#include "fsd/mount/broker_int.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define ENOUGH 8

/* One that has this program for its helpers. Return: the socket to it. */
static int start_broker(pid_t *ret)
{
	char *argv[] = { (char[]){ "broker" }, (char[]){ "/" },
			 (char[]){ "own" }, NULL };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	*ret = fork();
	if (*ret == 0) {
		close(pair[0]);
		if (pair[1] != SPAWN_FD_FIRST)
			dup2(pair[1], SPAWN_FD_FIRST);
		_exit(broker_main(3, argv));
	}
	close(pair[1]);
	return pair[0];
}

/* Return: its code; *pidfd is the helper's, its socket lives on here. */
static int ask(int sock, int *pidfd, pid_t *ret)
{
	struct broker_request q = { .op = BROKER_INOTIFY };
	struct broker_answer a = { .code = 1 };
	int fds[BROKER_FDS_MAX];
	unsigned count = 0;

	fdpass_send(sock, &q, sizeof(q), NULL, 0, 0);
	fdpass_receive(sock, &a, sizeof(a), fds, BROKER_FDS_MAX, &count, 0);
	if (a.code == 0)
		ok(count == BROKER_FDS_MAX, "a helper comes with what it has");
	*pidfd = count == BROKER_FDS_MAX ? fds[1] : -1;
	*ret = a.pid;
	return a.code;
}

int main(int argc, char **argv)
{
	pid_t broker = 0, helper = 0;
	int sock, pidfd = -1, code = 0, last = -1, lived = 0;
	struct pollfd p = { .events = POLLIN };

	(void)argv;
	if (argc > 1) /* a helper */
		return pause();
	sock = start_broker(&broker);
	while (lived < ENOUGH) {
		pid_t pid;

		code = ask(sock, &pidfd, &pid);
		if (code < 0)
			break;
		helper = pid;
		last = pidfd;
		lived++;
	}
	is_int(code, -EAGAIN, "there is an end to the helpers that live");
	ok(lived >= 2, "but one may end while another starts");
	kill(helper, SIGKILL);
	p.fd = last;
	poll(&p, 1, 5000);
	is_int(ask(sock, &pidfd, &helper), 0, "one that has ended counts no more");
	close(sock);
	is_int(waitpid(broker, NULL, 0), broker, "it ends with its daemon");
	return done_testing();
}
