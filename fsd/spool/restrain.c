/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool handles files of strangers, so its process keeps no right that only a mistake
 * could use. Landlock leaves DIR, the mount, and what the options of --program name, to
 * read. A list of system calls is permitted: none makes a process, executes a program or
 * opens a socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fsd/client/run_client.h"
#include "fsd/client/run_say.h"
#include "spool_int.h"
#include "vm/os/rights.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true /* the sanitizer looks for leaks with processes of its own */
#else
#define SANITIZED false
#endif

#define ANY UINT64_MAX

/* Root runs the entries of all users. It loses these if it is not root. */
static const unsigned kept[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
				 CAP_LEASE };

static const int permitted[] = {
	/* files */
	SCMP_SYS(openat2), SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(close),
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
	SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(fstatfs), SCMP_SYS(getdents64), SCMP_SYS(mkdirat), SCMP_SYS(unlinkat),
	SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(symlinkat), SCMP_SYS(readlinkat),
	SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(utimensat), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(syncfs), SCMP_SYS(flock), SCMP_SYS(fadvise64),
	SCMP_SYS(umask),
	/* waiting */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch), SCMP_SYS(futex), SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(restart_syscall),
	/* memory */
	SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect),
	SCMP_SYS(madvise), SCMP_SYS(brk),
	/* the rest */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(time), SCMP_SYS(getrandom),
};

static int keep_calls(void)
{
	const struct rights_argument arguments[] = {
		{ SCMP_SYS(tgkill), 0, ANY, (uint64_t)getpid() }, /* abort(3) */
		{ SCMP_SYS(fcntl), 1, ANY, F_DUPFD_CLOEXEC },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETFD },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETFL },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETSIG },
		{ SCMP_SYS(fcntl), 1, ANY, F_GETLEASE },
		{ SCMP_SYS(fcntl), 1, ANY, F_SETLEASE },
	};
	const struct rights_calls calls = {
		.call = permitted, .count = ARRAY_SIZE(permitted),
		.argument = arguments, .argument_count = ARRAY_SIZE(arguments),
	};

	return rights_keep_calls(&calls);
}

/* Files and directories of --program are read for each job. */
static size_t add_program(const struct run_client *c, struct rights_path *paths)
{
	size_t n = 0;

	for (unsigned i = 0; c && i < c->input_count; i++)
		paths[n++] = (struct rights_path){ c->inputs[i], false };
	if (c && c->value[RUN_PROJECT])
		paths[n++] = (struct rights_path){ c->value[RUN_PROJECT], false };
	return n;
}

static int keep_files(const struct spool *s)
{
	const struct run_client *c = s->o->program;
	size_t count = 3 + (c ? c->input_count : 0);
	auto_free struct rights_path *paths = calloc(count, sizeof(*paths));
	int set, r;

	if (!paths)
		return -ENOMEM;
	paths[0] = (struct rights_path){ s->o->dir, true };
	paths[1] = (struct rights_path){ s->mnt, true };
	set = rights_landlock(paths, 2 + add_program(c, paths + 2));
	if (set < 0)
		return set;
	r = rights_landlock_enter(set);
	close(set);
	return r;
}

int spool_restrain(const struct spool *s, struct err *err)
{
	int r;

	if (SANITIZED)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "no_new_privs");
	r = keep_files(s);
	if (r == -ENOSYS || r == -EOPNOTSUPP)
		client_complain(0, "this kernel has no Landlock: files are not restrained");
	else if (r < 0)
		return err_sys(err, r, "Landlock");
	r = rights_keep(kept, ARRAY_SIZE(kept));
	if (r < 0)
		return err_sys(err, r, "giving up capabilities");
	r = keep_calls();
	return r < 0 ? err_sys(err, r, "the list of system calls") : 0;
}
