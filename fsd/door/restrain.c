/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up the door's rights, for ever: its user, its capabilities, all files, listening
 * sockets, and all system calls but those that c-ares and the loop need. It runs once,
 * before the first message of a job.
 *
 * What remains is what the door is for: to send datagrams and to connect, as any program
 * of the host may.
 */
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vm/os/rights.h"
#include "vm/os/uids.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true /* it searches for leaks in processes of its own */
#else
#define SANITIZED false
#endif

#define ANY UINT64_MAX

static const int permitted[] = {
	/* sockets */
	SCMP_SYS(connect), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom), SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv),
	SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	/* the loop */
	SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(timerfd_settime), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall), SCMP_SYS(futex),
	/* memory, random numbers, the end */
	SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect),
	SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(getrandom), SCMP_SYS(getpid),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(gettid),
	SCMP_SYS(exit), SCMP_SYS(exit_group),
};

static int give_up_calls(void)
{
	const struct rights_argument arguments[] = {
		{ SCMP_SYS(socket), 0, ANY, AF_INET },
		{ SCMP_SYS(socket), 0, ANY, AF_INET6 },
		{ SCMP_SYS(ioctl), 1, ANY, FIONBIO },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFL },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETFL },
		{ SCMP_SYS(tgkill), 0, ANY, (uint64_t)getpid() },
	};
	const struct rights_calls calls = {
		.call = permitted, .count = ARRAY_SIZE(permitted),
		.argument = arguments, .argument_count = ARRAY_SIZE(arguments),
	};

	return rights_keep_calls(&calls);
}

/* Changes to a user id of its own, as root. Without one the door keeps fsd's user. */
static int change_user(uint32_t first, uint32_t count, uint32_t *ret_walls)
{
	struct uid_range range = { .first = first, .count = count, .dir = -1,
				   .next = (uint32_t)getpid() };
	int lock = -1; /* stays open: the lease lasts as long as the process */
	uid_t uid;

	if (geteuid() != 0 || !uids_fit(&range) || uids_open(&range) < 0 ||
	    uids_lease(&range, &uid, &lock) < 0) {
		fd_close(&range.dir);
		return 0;
	}
	fd_close(&range.dir);
	rights_bound(NULL, 0); /* needs a right that is gone with the user */
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -errno;
	*ret_walls |= DOOR_WALL_USER;
	return 0;
}

static int give_up_files(uint32_t *ret_walls)
{
	auto_close int set = rights_landlock_connects(NULL, 0);
	int r = set < 0 ? set : rights_landlock_enter(set);

	if (r == -ENOSYS || r == -EOPNOTSUPP)
		return 0; /* the server says so in .fsd/security */
	*ret_walls |= r == 0 ? DOOR_WALL_LANDLOCK : 0;
	return r;
}

/* Return: the most sockets that jobs may have together: half of all. */
static unsigned bound_fds(void)
{
	struct rlimit limit = { DOOR_LIMIT, DOOR_LIMIT };

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)DOOR_LIMIT);
	limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_NOFILE, &limit);
	return (unsigned)limit.rlim_cur / 2;
}

int door_restrain(struct door *d, uint32_t uid_first, uint32_t uid_count,
		  uint32_t *ret_walls, struct err *err)
{
	pid_t parent = getppid();
	int r;

	*ret_walls = 0;
	d->most_sockets = bound_fds();
	if (chdir("/") < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "the network's helper");
	r = change_user(uid_first, uid_count, ret_walls);
	if (r < 0)
		return err_sys(err, r, "the user of the network's helper");
	/* the change of user has cleared this */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return err_set(err, -ESRCH, "the server of the network's helper has ended");
	prctl(PR_SET_DUMPABLE, 0);
	if (SANITIZED)
		return 0;
	r = give_up_files(ret_walls);
	if (r < 0)
		return err_sys(err, r, "Landlock for the network's helper");
	r = rights_keep(NULL, 0);
	if (r < 0)
		return err_sys(err, r, "giving up capabilities of the network's helper");
	r = give_up_calls();
	return r < 0 ? err_sys(err, r, "the system calls of the network's helper") : 0;
}
