/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of system calls, in a child of its own for each call. */
#include "guest/os/filter.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

#define HIGH (1ull << 32) /* what the kernel does not look at in an int */
#define BROKEN 255

struct row {
	const char *name;
	long number;
	unsigned long long a, b, c;
	int error; /* 0: it works */
};

static const struct row rows[] = {
	{"bpf", SYS_bpf, 0, 0, 0, EPERM},
	{"io_uring_setup", SYS_io_uring_setup, 1, 0, 0, ENOSYS},
	{"clone3", SYS_clone3, 0, 0, 0, ENOSYS},
	{"keyctl", SYS_keyctl, 0, 0, 0, ENOSYS},
	{"mount", SYS_mount, 0, 0, 0, EPERM},
	{"a user namespace", SYS_unshare, CLONE_NEWUSER, 0, 0, EPERM},
	{"a user namespace among harmless flags", SYS_unshare,
	 CLONE_NEWUSER | CLONE_FS | CLONE_FILES, 0, 0, EPERM},
	{"a time namespace", SYS_unshare, 0x80, 0, 0, EPERM},
	{"a clone in a network namespace", SYS_clone, CLONE_NEWNET | SIGCHLD,
	 0, 0, EPERM},
	{"typing on a terminal", SYS_ioctl, 0, TIOCSTI, 0, EPERM},
	{"typing on a terminal, past the int", SYS_ioctl, 0, TIOCSTI | HIGH, 0,
	 EPERM},
	{"a packet socket", SYS_socket, AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT},
	{"a packet socket, past the int", SYS_socket, AF_PACKET | HIGH,
	 SOCK_RAW, 0, EAFNOSUPPORT},
	{"a pair of VM sockets", SYS_socketpair, AF_VSOCK, SOCK_STREAM, 0,
	 EAFNOSUPPORT},
	{"netlink to the auditor", SYS_socket, AF_NETLINK, SOCK_RAW,
	 NETLINK_AUDIT, EPROTONOSUPPORT},
	{"netlink to the auditor, past the int", SYS_socket, AF_NETLINK,
	 SOCK_RAW, NETLINK_AUDIT | HIGH, EPROTONOSUPPORT},
	{"unsharing what is one's own", SYS_unshare, CLONE_FS | CLONE_FILES, 0,
	 0, 0},
	{"a local socket", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0},
	{"an internet socket", SYS_socket, AF_INET, SOCK_STREAM, 0, 0},
	{"netlink's list of interfaces", SYS_socket, AF_NETLINK, SOCK_RAW,
	 NETLINK_ROUTE, 0},
};

static int answer_of(const struct row *r)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_install())
		return BROKEN;
	return syscall(r->number, r->a, r->b, r->c, 0, 0, 0) < 0 ? errno : 0;
}

/* What the call answers in a child; the child's signal, negative. */
static int ask(const struct row *r)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(answer_of(r));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
	static const struct row x32 = {"", 0x40000000 | SYS_getpid, 0, 0, 0, 0};
	struct err err = {0};

	is_int(filter_make(&err), 0, "the filter can be made: %s", err.text);
	is_int(filter_make(&err), 0, "and made anew");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(ask(&rows[i]), rows[i].error, "%s: %s", rows[i].name,
		       rows[i].error ? strerror(rows[i].error) : "works");
	is_int(ask(&x32), -SIGSYS, "another ABI's call is the program's end");
	return done_testing();
}
