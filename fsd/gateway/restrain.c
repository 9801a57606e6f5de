/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway reads bytes of strangers, so it keeps no right that only a mistake could
 * use. Landlock leaves the mount, and the directory of the keys to read. A list of system
 * calls is permitted; all others fail with EPERM, so that a library that tries one goes
 * on, and no program is ever executed.
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
#include <unistd.h>

#include "gateway.h"
#include "layout/base/log.h"
#include "vm/os/rights.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true /* it looks for leaks with processes of its own */
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
	/* the holder of a private mount is told of our death by a signal */
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
	/* sockets that there are */
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
	/* the rest */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(getrandom), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(prlimit64),
};

/* Threads, and nothing else that clone makes. clone3 hides its flags, and the C library
 * does without it. */
static int add_threads(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
				 0);

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD,
					     CLONE_THREAD));
	if (r == 0) /* the names of threads */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				     SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_EQ, FIONBIO, 0));
	return r;
}

/* No signal for another process: neither by tgkill nor by the owner of a descriptor. */
static int add_signals(scmp_filter_ctx ctx)
{
	static const int commands[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
					F_SETFD, F_GETFL, F_SETFL };
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				 SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(),
					 0));

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(commands); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_EQ,
					     (scmp_datum_t)commands[i], 0));
	return r;
}

static int give_up_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(permitted); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, permitted[i], 0);
	if (r == 0)
		r = add_threads(ctx);
	if (r == 0)
		r = add_signals(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
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
	r = give_up_calls();
	return r < 0 ? err_sys(err, r, "the list of system calls") : 0;
}
