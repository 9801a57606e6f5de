/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in a child of PID 1: gives up every right, then answers programs. Before the host
 * has said START no name exists and no connection is taken, so a machine without a network
 * has a helper that sleeps.
 *
 * The filter lists the calls that are permitted, unlike that of programs, and kills.
 */
#include "net_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/os/sys.h"
#include "layout/base/num.h"
#include "net_dns.h"

#define NAME "fsd-net"
#define FDS_MAX 2048
#define EVENTS 16

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
		SCMP_SYS(close), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_pwait),
		SCMP_SYS(epoll_wait), SCMP_SYS(exit_group), SCMP_SYS(getsockname),
		SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(read), SCMP_SYS(recvfrom),
		SCMP_SYS(rt_sigreturn), SCMP_SYS(sendto), SCMP_SYS(setsockopt),
		SCMP_SYS(shutdown), SCMP_SYS(write),
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	if (!r)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

/* Onto 3 to 7, so that one call closes what is PID 1's. */
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

/* --- work ------------------------------------------------------------------------- */

static void refuse_all(int listener)
{
	static const struct linger reset = { .l_onoff = 1 };
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
	}
}

/* No name exists. A program repeats its query if the answer cannot be sent. */
static void answer_all(int dns)
{
	static uint8_t query[NET_DNS_QUERY_MAX + 1], answer[NET_DNS_ANSWER_MAX];
	struct sockaddr_in from;
	struct net_dns_query q;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(dns, query, sizeof(query), 0, (struct sockaddr *)&from,
			     &len)) >= 0) {
		enum net_dns_code code;

		if (net_dns_read(query, (size_t)n, &q) < 0)
			continue;
		code = q.code ? q.code : NET_DNS_NXDOMAIN;
		sendto(dns, answer, net_dns_write(&q, query, code, 0, NULL, answer), 0,
		       (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
}

static int watch(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data = { .fd = fd } };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int serve(const struct net_helper_fds *fds)
{
	struct epoll_event e[EVENTS];
	int r = watch(fds->epoll, fds->listener);

	if (!r)
		r = watch(fds->epoll, fds->dns);
	while (!r) {
		int n = epoll_wait(fds->epoll, e, EVENTS, -1);

		for (int i = 0; i < n; i++)
			if (e[i].data.fd == fds->listener)
				refuse_all(fds->listener);
			else
				answer_all(fds->dns);
		if (n < 0 && errno != EINTR)
			r = -errno;
	}
	return r;
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
	return r || serve(fds) ? 1 : 0;
}
