/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in a child of PID 1: gives up every right, then serves (net_serve.c). In a machine
 * without a network it sleeps until the end.
 *
 * Its filter of system calls lists the permitted ones and kills the helper at any other.
 * The filter of programs (os/filter.c) lists denied calls.
 */
#include "net_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/os/sys.h"
#include "layout/base/num.h"
#include "net_serve.h"

#define NAME "fsd-net"
#define FDS_MAX 2048

/* --- rights ----------------------------------------------------------------------- */

static int drop_ids(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL)
			return -errno;
	if (setgroups(0, NULL) || setresgid(NET_HELPER_ID, NET_HELPER_ID, NET_HELPER_ID) ||
	    setresuid(NET_HELPER_ID, NET_HELPER_ID, NET_HELPER_ID) ||
	    syscall(SYS_capset, &head, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return 0;
}

static int permit_calls(void)
{
	static const int calls[] = {
		SCMP_SYS(accept4), SCMP_SYS(brk), SCMP_SYS(clock_gettime),
		SCMP_SYS(close), SCMP_SYS(connect), SCMP_SYS(epoll_ctl),
		SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_wait), SCMP_SYS(exit_group),
		SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(mmap),
		SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(readv), SCMP_SYS(recvfrom),
		SCMP_SYS(rt_sigreturn), SCMP_SYS(sendto), SCMP_SYS(setsockopt),
		SCMP_SYS(shutdown), SCMP_SYS(write),
	};
	/* the helper connects to programs that listen on these */
	static const unsigned families[] = { AF_INET, AF_INET6 };
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	for (size_t i = 0; !r && i < ARRAY_SIZE(families); i++) {
		const struct scmp_arg_cmp is = { .arg = 0, .op = SCMP_CMP_EQ,
						 .datum_a = families[i] };

		r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, &is);
	}
	if (!r)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

/* Moves the descriptors to 3 to 7, so that one call can close all that belong to PID
 * 1. */
static int keep_fds(struct net_helper_fds *fds)
{
	int *fd[] = { &fds->port, &fds->listener, &fds->dns, &fds->ready,
		      &fds->epoll };
	int count = (int)ARRAY_SIZE(fd);

	for (int i = 0; i < count; i++) {
		*fd[i] = fcntl(*fd[i], F_DUPFD_CLOEXEC, 3 + count);
		if (*fd[i] < 0)
			return -errno;
	}
	for (int i = 0; i < count; i++) {
		if (dup2(*fd[i], 3 + i) < 0)
			return -errno;
		*fd[i] = 3 + i;
	}
	return syscall(SYS_close_range, 3u + (unsigned)count, ~0u, 0) ? -errno : 0;
}

static int leave_init(void)
{
	const struct rlimit files = { FDS_MAX, FDS_MAX };
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_OTHER, &none) || setsid() < 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) || prctl(PR_SET_NAME, NAME))
		return -errno;
	signal(SIGCHLD, SIG_DFL);
	return sys_write("/proc/self/oom_score_adj", "0");
}

int net_helper_main(struct net_helper_fds *fds)
{
	int r = leave_init();

	fds->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!r && fds->epoll < 0)
		r = -errno;
	if (!r)
		r = keep_fds(fds);
	if (!r)
		r = drop_ids();
	if (!r)
		r = permit_calls();
	if (!r && write(fds->ready, "", 1) != 1)
		r = -errno;
	close(fds->ready);
	if (!r)
		r = net_serve(&(struct net_serve_fds){
			.port = fds->port, .listener = fds->listener, .dns = fds->dns,
			.epoll = fds->epoll, .table = fds->table });
	return r ? 1 : 0;
}
