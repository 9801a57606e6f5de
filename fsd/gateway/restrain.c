/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up rights: the gateway reads bytes of unknown clients. Landlock permits
 * only the mount, and reading the directory of the keys. A list of system calls
 * is permitted; all others fail with EPERM, so that a library that tries one
 * continues, and no program is ever executed. Runs in the main thread, before
 * other threads exist.
 */
#include "restrain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway.h"
#include "layout/base/log.h"
#include "vm/os/rights.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true /* the sanitizer searches for leaks with processes of its own */
#else
#define SANITIZED false
#endif

static int give_up_files(struct gateway *g)
{
	struct rights_path paths[2] = { { g->mount.path, true } };
	char dir[PATH_MAX];
	size_t count = 1;
	char *slash;
	int set, r;

	if (g->keys.file) {
		snprintf(dir, sizeof(dir), "%s", g->keys.file);
		slash = strrchr(dir, '/');
		snprintf(slash ? slash + 1 : dir, 2, ".");
		paths[count++] = (struct rights_path){ dir, false };
	}
	/* A private mount's supervisor gets a signal when this process ends. The kernel
	 * sends it in the gateway's name, so Landlock must permit signals. */
	set = g->options.stdio ? rights_landlock_signals(paths, count)
			       : rights_landlock(paths, count);
	if (set < 0)
		return set;
	r = rights_landlock_enter(set);
	close(set);
	return r;
}

static const int permitted[] = {
	/* files */
	SCMP_SYS(openat2), SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(close),
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write),
	SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(lseek),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(getdents64), SCMP_SYS(mkdirat), SCMP_SYS(unlinkat),
	SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(ftruncate),
	SCMP_SYS(fgetxattr), SCMP_SYS(fchmod), SCMP_SYS(utimensat),
	SCMP_SYS(faccessat2), SCMP_SYS(access), SCMP_SYS(dup), SCMP_SYS(sendfile), SCMP_SYS(pipe2),
	SCMP_SYS(readlinkat), SCMP_SYS(fadvise64), SCMP_SYS(flock),
	/* calls on sockets that are open */
	SCMP_SYS(accept4), SCMP_SYS(accept), SCMP_SYS(recvfrom),
	SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg),
	SCMP_SYS(shutdown), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	/* waiting */
	SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_create1), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(eventfd2), SCMP_SYS(signalfd4),
	SCMP_SYS(futex), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
	/* memory and threads */
	SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
	SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(brk),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(gettid), SCMP_SYS(getpid),
	/* others */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(getrandom), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(prlimit64),
};

#define ANY UINT64_MAX

static int give_up_calls(const struct options *o)
{
	const struct rights_argument arguments[] = {
		/* clone only for threads; their names */
		{ SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD },
		{ SCMP_SYS(prctl), 0, ANY, PR_SET_NAME },
		{ SCMP_SYS(ioctl), 1, ANY, FIONBIO },
		/* calls that could signal another process: tgkill, or the owner of a
		 * descriptor */
		{ SCMP_SYS(tgkill), 0, ANY, (uint64_t)getpid() },
		{ SCMP_SYS(fcntl), 1, ANY, F_DUPFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_DUPFD_CLOEXEC },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFL },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETFL },
		/* The last ones are for ports of sandboxes, whose sockets lie in the
		 * mount. A path cannot be compared, so the kernel's own rules decide to
		 * which sockets of the host the gateway's user may connect. */
		{ SCMP_SYS(socket), 0, ANY, AF_UNIX },
		{ SCMP_SYS(connect), 2, ANY, sizeof(struct sockaddr_un) },
	};
	const size_t of_ports = o->ports == PORTS_NO ? 2 : 0;
	const struct rights_calls calls = {
		.call = permitted, .count = ARRAY_SIZE(permitted),
		.argument = arguments,
		.argument_count = ARRAY_SIZE(arguments) - of_ports,
	};

	return rights_keep_calls(&calls);
}

int gateway_restrain(struct gateway *g, struct err *err)
{
	int r;

	if (SANITIZED)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "no_new_privs");
	r = give_up_files(g);
	if (r == -ENOSYS || r == -EOPNOTSUPP)
		log_warn("this kernel has no Landlock: files are not "
			 "restrained");
	else if (r < 0)
		return err_sys(err, r, "Landlock");
	r = rights_keep(NULL, 0);
	if (r < 0)
		return err_sys(err, r, "giving up capabilities");
	r = give_up_calls(&g->options);
	return r < 0 ? err_sys(err, r, "the list of system calls") : 0;
}
