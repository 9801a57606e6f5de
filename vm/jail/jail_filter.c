/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the system calls of QEMU as a table and compiles a part of it to a BPF program.
 * A row names the call, the kinds of machines, the action, a condition on one argument,
 * and the reason.
 *
 * The jailer compiles one program per kind at its start, with libseccomp. A test reads
 * the same table (filter_rows).
 */
#include "jail_filter.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define NAMED(call) __NR_##call, #call
#define ANY -1, 0, 0
#define OK FILTER_ALL, FILTER_ALLOW, 0
#define RARELY FILTER_ALL | FILTER_RARE, FILTER_ALLOW, 0
#define KVM_ONLY FILTER_ALL & ~FILTER_TCG, FILTER_ALLOW, 0
/* Calls of a running machine, also of a forked one. LIVE_ELSE: a forked one does not make
 * the call in every run. LIVE_RARELY: neither does. LIVE_FORK: only a forked one always
 * does. */
#define LIVE FILTER_ALL | FILTER_FORK, FILTER_ALLOW, 0
#define LIVE_ELSE FILTER_ALL | FILTER_FORK | FILTER_FORK_RARE, FILTER_ALLOW, 0
#define LIVE_RARELY FILTER_ALL | FILTER_FORK | FILTER_FORK_RARE | \
	FILTER_RARE, FILTER_ALLOW, 0
#define LIVE_FORK FILTER_ALL | FILTER_FORK | FILTER_RARE, FILTER_ALLOW, 0
/* Calls that a zygote makes and a restored machine does not: its forked machines enter
 * their jails with them. */
#define ZYGOTE FILTER_TCG | FILTER_ZYGOTE, FILTER_ALLOW, 0
/* A relay's calls: it is cloned, and executes nothing. */
#define RELAY FILTER_TCG | FILTER_RELAY, FILTER_ALLOW, 0
#define BOOT_ONLY FILTER_ALL & ~FILTER_RESTORE
#define RESTORE_ONLY FILTER_ALL & ~FILTER_BOOT

#define THREAD (CLONE_VM | CLONE_THREAD)
#define OTHER_NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
	CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define UNNAMED (__O_TMPFILE & ~O_DIRECTORY)
#define CHANGING (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | UNNAMED)
#define DISK_FLAGS (O_DIRECT | O_APPEND | O_ASYNC | O_NOATIME)
#define DROPPABLE 0x08 /* linux/mman.h of 6.11: MAP_DROPPABLE */
#define KVM_IOCTL 0xae00u /* asm/kvm.h: KVMIO in the second byte */

const struct filter_row filter_rows[] = {
	/* --- start of the process --------------------------------------- */
	{ NAMED(execve), OK, ANY, "to become QEMU; -sandbox takes it away" },
	{ NAMED(brk), LIVE_ELSE, ANY, "malloc" },
	{ NAMED(mmap), FILTER_ALL & ~FILTER_RESTORE, FILTER_ALLOW, 0, ANY,
	  "memory; a template's RAM is shared with its file" },
	{ NAMED(mmap), (RESTORE_ONLY) | FILTER_FORK | FILTER_FORK_RARE,
	  FILTER_ALLOW, 0, 3, MAP_TYPE, MAP_PRIVATE,
	  "memory; nothing can be written to a file by way of it" },
	{ NAMED(mmap), (RESTORE_ONLY) | FILTER_FORK | FILTER_FORK_RARE |
	  FILTER_RARE, FILTER_ALLOW, 0, 3, MAP_TYPE, DROPPABLE,
	  "the random numbers of a C library of 2.41 or newer; never a file" },
	{ NAMED(mmap), FILTER_KVM | FILTER_RESTORE, FILTER_ALLOW,
	  (MAP_TYPE & ~MAP_SHARED) | MAP_ANONYMOUS, 2, UINT32_MAX,
	  PROT_READ | PROT_WRITE, "a processor of KVM's, which is shared with "
	  "the kernel; its files are open to read only, so not to be had so" },
	{ NAMED(mprotect), LIVE_ELSE, ANY, "malloc, translated code" },
	{ NAMED(munmap), LIVE_ELSE, ANY, "malloc" },
	{ NAMED(mremap), LIVE_RARELY, ANY, "realloc of large blocks" },
	{ NAMED(madvise), LIVE_ELSE, ANY, "memory that is given back" },
	{ NAMED(msync), (RESTORE_ONLY) | FILTER_RARE, FILTER_ALLOW, 0, ANY,
	  "QEMU 8 and later, of the RAM: a private mapping, so of no effect" },
	{ NAMED(arch_prctl), OK, 0, UINT32_MAX, ARCH_SET_FS,
	  "thread-local storage" },
	{ NAMED(arch_prctl), KVM_ONLY, 0, UINT32_MAX, 0x1024,
	  "ARCH_GET_XCOMP_GUEST_PERM: large registers of the guest (AMX)" },
	{ NAMED(arch_prctl), KVM_ONLY, 0, UINT32_MAX, 0x1025,
	  "ARCH_REQ_XCOMP_GUEST_PERM: the same" },
	{ NAMED(set_tid_address), OK, ANY, "threads" },
	{ NAMED(set_robust_list), LIVE_ELSE, ANY, "threads" },
	{ NAMED(rseq), LIVE_ELSE, ANY, "threads" },
	{ NAMED(futex), LIVE, ANY, "locks" },
	{ NAMED(clone), LIVE, 0, THREAD | OTHER_NAMESPACES, THREAD,
	  "threads, and only threads" },
	{ NAMED(clone3), FILTER_ALL | FILTER_FORK | FILTER_FORK_RARE,
	  FILTER_REFUSE, ENOSYS, ANY,
	  "its flags cannot be seen here; the C library then uses clone" },
	{ NAMED(exit), LIVE_RARELY, ANY, "a thread's end" },
	{ NAMED(exit_group), LIVE_RARELY, ANY, "QEMU's end" },
	{ NAMED(gettid), LIVE_ELSE, ANY, "which thread is this" },
	{ NAMED(getpid), LIVE_RARELY, ANY, "who am I" },
	{ NAMED(tgkill), LIVE_RARELY, ANY, "abort(); KVM's kick of a processor" },
	{ NAMED(rt_sigaction), LIVE_ELSE, ANY, "signals" },
	{ NAMED(rt_sigprocmask), LIVE_ELSE, ANY, "signals" },
	{ NAMED(rt_sigreturn), LIVE_FORK, ANY, "signals" },
	{ NAMED(rt_sigpending), KVM_ONLY, ANY, "KVM's signal loop" },
	{ NAMED(rt_sigtimedwait), KVM_ONLY, ANY, "KVM's signal loop" },
	{ NAMED(sigaltstack), RARELY, ANY, "coroutines of some builds" },
	{ NAMED(signalfd4), OK, ANY, "the main loop's signals" },
	{ NAMED(sched_yield), LIVE_RARELY, ANY, "locks of some builds" },
	{ NAMED(restart_syscall), LIVE_RARELY, ANY, "after SIGSTOP and SIGCONT" },

	/* --- questions -------------------------------------------------- */
	{ NAMED(getrandom), LIVE_ELSE, ANY, "seeds" },
	{ NAMED(sysinfo), LIVE_RARELY, ANY, "qsort of a C library before 2.37" },
	{ NAMED(uname), RARELY, ANY, "libraries" },
	{ NAMED(prlimit64), OK, 2, UINT64_MAX, 0,
	  "limits are read, never set" },
	{ NAMED(sched_getaffinity), OK, ANY, "how many processors" },
	{ NAMED(get_mempolicy), OK, ANY, "libnuma's start" },
	{ NAMED(set_mempolicy), RARELY, ANY, "libnuma's start, before 2.0.19" },
	{ NAMED(clock_gettime), LIVE_RARELY, ANY, "where the vDSO cannot" },
	{ NAMED(clock_getres), RARELY, ANY, "timers" },
	{ NAMED(gettimeofday), LIVE_RARELY, ANY, "where the vDSO cannot" },
	{ NAMED(clock_nanosleep), LIVE_ELSE, ANY, "waiting" },
	{ NAMED(prctl), OK, 0, UINT32_MAX, PR_SET_TIMERSLACK,
	  "exact timers" },
	{ NAMED(prctl), OK, 0, UINT32_MAX, PR_MCE_KILL, "memory errors" },
	{ NAMED(prctl), FILTER_ALL | FILTER_ZYGOTE | FILTER_RARE, FILTER_ALLOW,
	  0, 0, UINT32_MAX, PR_CAPBSET_READ, "libcap's start" },
	{ NAMED(prctl), OK, 0, UINT32_MAX, PR_SET_NO_NEW_PRIVS,
	  "before QEMU's own filter" },
	{ NAMED(prctl), LIVE_RARELY, 0, UINT32_MAX, PR_SET_NAME, "thread names" },
	{ NAMED(seccomp), OK, ANY, "QEMU's own filter" },

	/* --- files: read those of the root, use those given ------------- */
	{ NAMED(openat), OK, 2, CHANGING, O_RDONLY,
	  "libraries and firmware, to read" },
	{ NAMED(openat), FILTER_ALL, FILTER_ASK, 0, 2, UINT32_MAX, O_RDWR,
	  "the guest's RAM: the jailer gives its descriptor" },
	{ NAMED(openat), FILTER_ALL & ~FILTER_KVM, FILTER_REFUSE, EACCES, 2,
	  UINT32_MAX, O_RDWR | O_CLOEXEC, "devices are probed for" },
	{ NAMED(openat), KVM_ONLY, 2, UINT32_MAX, O_RDWR | O_CLOEXEC,
	  "/dev/kvm" },
	{ NAMED(close), LIVE, ANY, "" },
	{ NAMED(read), LIVE, ANY, "" },
	{ NAMED(readv), OK, ANY, "the migration stream" },
	{ NAMED(pread64), LIVE_ELSE, ANY, "the root disk" },
	{ NAMED(preadv), LIVE_RARELY, ANY, "the root disk, in pieces" },
	{ NAMED(write), LIVE, ANY, "event descriptors, standard error" },
	{ NAMED(writev), BOOT_ONLY, FILTER_ALLOW, 0, ANY,
	  "the migration stream" },
	{ NAMED(lseek), OK, ANY, "" },
	{ NAMED(newfstatat), OK, ANY, "" },
	{ NAMED(fstat), RARELY, ANY, "the same, by a C library of 2.39 or newer" },
	{ NAMED(statfs), OK, ANY, "libselinux's start" },
	{ NAMED(fstatfs), OK, ANY, "page size of the RAM's file" },
	{ NAMED(access), OK, ANY, "firmware and modules are looked for" },
	{ NAMED(readlink), OK, ANY, "where the program lies" },
	{ NAMED(getcwd), RARELY, ANY, "where the program lies" },
	{ NAMED(getdents64), RARELY, ANY, "what libraries look for" },
	{ NAMED(fchdir), RARELY, ANY, "what libraries look for" },
	{ NAMED(fadvise64), OK, ANY, "the root disk" },
	{ NAMED(fcntl), LIVE_ELSE, 1, UINT32_MAX, F_GETFL, "" },
	{ NAMED(fcntl), FILTER_ALL | FILTER_FORK | FILTER_FORK_RARE,
	  FILTER_ALLOW, DISK_FLAGS, 1, UINT32_MAX, F_SETFL, "nonblocking sockets; all machines share the root disk's "
	  "description, so nothing that changes how a file is read" },
	{ NAMED(fcntl), OK, 1, UINT32_MAX, F_GETFD, "" },
	{ NAMED(fcntl), RARELY, 1, UINT32_MAX, F_SETFD, "" },
	{ NAMED(fcntl), OK, 1, UINT32_MAX, F_DUPFD_CLOEXEC,
	  "the root disk's descriptor set" },
	{ NAMED(ioctl), KVM_ONLY, 1, 0xffffff00u & 0xff00u, KVM_IOCTL,
	  "KVM's own requests" },
	{ NAMED(eventfd2), LIVE_ELSE, ANY, "the main loop" },
	{ NAMED(poll), LIVE_RARELY, ANY, "the main loop, by a GLib before 2.84" },
	{ NAMED(ppoll), LIVE, ANY, "the main loop" },
	{ NAMED(epoll_create1), OK, ANY, "the main loop, in place of io_uring" },
	{ NAMED(epoll_ctl), RARELY, ANY, "with many descriptors" },
	{ NAMED(epoll_wait), RARELY, ANY, "with many descriptors" },
	{ NAMED(memfd_create), FILTER_ALL, FILTER_REFUSE, ENOSYS, ANY,
	  "probed for at start" },
	{ NAMED(io_uring_setup), FILTER_ALL, FILTER_REFUSE, ENOSYS, ANY,
	  "probed for at start" },
	{ NAMED(ioctl), FILTER_ALL & ~FILTER_TCG, FILTER_REFUSE, ENOTTY, 1,
	  UINT32_MAX, TCGETS, "a terminal is probed for" },
	{ NAMED(ioctl), (FILTER_ALL | FILTER_RARE) & ~FILTER_KVM, FILTER_REFUSE, ENOTTY, ANY,
	  "a terminal is probed for" },

	/* --- its two sockets -------------------------------------------- */
	{ NAMED(sendmsg), LIVE, ANY, "wire and monitor" },
	{ NAMED(recvmsg), LIVE, ANY, "wire and monitor" },
	{ NAMED(getsockname), OK, ANY, "wire and monitor" },
	{ NAMED(getpeername), OK, ANY, "wire and monitor" },
	{ NAMED(getsockopt), OK, ANY, "what kind of socket" },
	{ NAMED(setsockopt), OK, 2, UINT32_MAX, SO_ZEROCOPY,
	  "asked of each socket; no program is to be attached to one" },
	{ NAMED(shutdown), LIVE_RARELY, ANY, "their end" },

	/* --- zygote: the start of its forked machines ------------------- */
	{ NAMED(clone3), ZYGOTE, ANY, "the child, in its namespaces" },
	{ NAMED(dup2), ZYGOTE, ANY, "its descriptors" },
	{ NAMED(close_range), ZYGOTE, ANY, "not the zygote's" },
	{ NAMED(setsid), ZYGOTE, ANY, "its names" },
	{ NAMED(unshare), ZYGOTE, 0, UINT32_MAX, CLONE_NEWCGROUP,
	  "its cgroup namespace" },
	{ NAMED(sethostname), ZYGOTE, ANY, "its names" },
	{ NAMED(setdomainname), ZYGOTE, ANY, "its names" },
	{ NAMED(prlimit64), ZYGOTE, 0, UINT32_MAX, 0, "its limits" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_CAPBSET_DROP, "its rights" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_SET_SECUREBITS,
	  "its rights" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_SET_NO_NEW_PRIVS,
	  "its rights" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_SET_PDEATHSIG,
	  "its parent" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_SET_NAME, "its name" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_GET_TID_ADDRESS,
	  "its threads" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_SET_TIMERSLACK,
	  "QEMU's own" },
	{ NAMED(prctl), ZYGOTE, 0, UINT32_MAX, PR_MCE_KILL, "QEMU's own" },
	{ NAMED(landlock_restrict_self), ZYGOTE, ANY, "its files" },
	{ NAMED(setgroups), ZYGOTE, ANY, "its user" },
	{ NAMED(setresgid), ZYGOTE, ANY, "its user" },
	{ NAMED(setresuid), ZYGOTE, ANY, "its user" },
	{ NAMED(capget), ZYGOTE, ANY, "its capabilities" },
	{ NAMED(capset), ZYGOTE, ANY, "its capabilities" },

	/* --- relay: sockets that it is given, and no other --------------- */
	{ NAMED(recvmsg), RELAY, ANY, "account, door" },
	{ NAMED(sendmsg), RELAY, ANY, "account, door" },
	{ NAMED(recvfrom), RELAY, ANY, "the port, connected sockets" },
	{ NAMED(sendto), RELAY, 4, UINT64_MAX, 0,
	  "the port, connected sockets; to no other address" },
	{ NAMED(accept4), RELAY, ANY, "a client of a port" },
	{ NAMED(getsockopt), RELAY, 2, UINT32_MAX, SO_PEERCRED, "its user" },
	{ NAMED(setsockopt), RELAY, 2, UINT32_MAX, SO_LINGER,
	  "a reset in place of an end" },
	{ NAMED(shutdown), RELAY, ANY, "an end" },
	{ NAMED(fcntl), RELAY, 1, UINT32_MAX, F_SETFL, "a listener does not wait" },
	{ NAMED(close), RELAY, ANY, "" },
	{ NAMED(epoll_create1), RELAY, ANY, "its loop" },
	{ NAMED(epoll_ctl), RELAY, ANY, "its loop" },
	{ NAMED(epoll_wait), RELAY, ANY, "its loop" },
	{ NAMED(timerfd_create), RELAY, ANY, "its loop's timers" },
	{ NAMED(timerfd_settime), RELAY, ANY, "its loop's timers" },
	{ NAMED(eventfd2), RELAY, ANY, "its loop" },
	{ NAMED(read), RELAY, ANY, "its loop's timers" },
	{ NAMED(write), RELAY, ANY, "standard error" },
	{ NAMED(brk), RELAY, ANY, "malloc" },
	{ NAMED(mmap), RELAY, 3, UINT32_MAX, MAP_PRIVATE | MAP_ANONYMOUS, "malloc" },
	{ NAMED(munmap), RELAY, ANY, "malloc" },
	{ NAMED(mremap), RELAY, ANY, "realloc of large blocks" },
	{ NAMED(madvise), RELAY, ANY, "memory that is given back" },
	{ NAMED(getrandom), RELAY, ANY, "malloc's first use" },
	{ NAMED(clock_gettime), RELAY, ANY, "where the vDSO cannot" },
	{ NAMED(restart_syscall), RELAY, ANY, "after SIGSTOP and SIGCONT" },
	{ NAMED(rt_sigprocmask), RELAY, ANY, "abort()" },
	{ NAMED(gettid), RELAY, ANY, "abort()" },
	{ NAMED(getpid), RELAY, ANY, "abort()" },
	{ NAMED(tgkill), RELAY, ANY, "abort()" },
	{ NAMED(exit_group), RELAY, ANY, "its end" },
};

const unsigned filter_row_count = ARRAY_SIZE(filter_rows);

static uint32_t action_of(const struct filter_row *row)
{
	switch (row->action) {
	case FILTER_ALLOW:
		return SCMP_ACT_ALLOW;
	case FILTER_REFUSE:
		return SCMP_ACT_ERRNO((uint32_t)row->code);
	case FILTER_ASK:
		return SCMP_ACT_NOTIFY;
	}
	return SCMP_ACT_KILL_PROCESS;
}

static int add_row(scmp_filter_ctx ctx, const struct filter_row *row)
{
	unsigned arg = (unsigned)(row->arg < 0 ? 0 : row->arg);
	struct scmp_arg_cmp cmp[] = {
		{ .arg = arg, .op = SCMP_CMP_MASKED_EQ,
		  .datum_a = row->mask, .datum_b = row->value },
		{ .arg = arg + 1, .op = SCMP_CMP_MASKED_EQ,
		  .datum_a = (uint64_t)row->code, .datum_b = 0 },
	};
	unsigned count = row->action == FILTER_ALLOW && row->code ? 2 : 1;

	return seccomp_rule_add_array(ctx, action_of(row), row->call,
				      row->arg < 0 ? 0 : count, cmp);
}

static bool zygotes_own(int call)
{
	for (unsigned i = 0; i < ARRAY_SIZE(filter_rows); i++)
		if (filter_rows[i].call == call &&
		    filter_rows[i].where & FILTER_ZYGOTE)
			return true;
	return false;
}

/* Returns whether the row is for these machines. A zygote has the rows of a
 * restored machine, except for calls that have a row for zygotes. */
static bool is_for(const struct filter_row *row, unsigned where)
{
	if (where & FILTER_ZYGOTE && !(row->where & FILTER_ZYGOTE)) {
		if (zygotes_own(row->call))
			return false;
		where ^= FILTER_ZYGOTE | FILTER_RESTORE;
	}
	return (row->where & where) == where;
}

/* Exports the program through a file: the library can write it only to a
 * descriptor. */
static int export(scmp_filter_ctx ctx, struct sock_fprog *ret)
{
	auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	ret->filter = malloc((size_t)st.st_size + 1);
	if (!ret->filter)
		return -ENOMEM;
	if (pread(fd, ret->filter, (size_t)st.st_size, 0) != st.st_size) {
		free(take_ptr(ret->filter));
		return -EIO;
	}
	ret->len = (unsigned short)((size_t)st.st_size /
				    sizeof(*ret->filter));
	return 0;
}

int jail_filter_make(unsigned where, struct sock_fprog *ret, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	*ret = (struct sock_fprog){ 0 };
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				     SCMP_ACT_KILL_PROCESS);
	/* 2: compile to a binary tree, as a machine makes thousands of calls
	 * while it is heated. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(filter_rows); i++) {
		if (!is_for(&filter_rows[i], where))
			continue;
		r = add_row(ctx, &filter_rows[i]);
		if (r < 0)
			err_sys(err, r, "the filter's row for %s",
				filter_rows[i].name);
	}
	if (r == 0) {
		r = export(ctx, ret);
		if (r < 0)
			err_sys(err, r, "the system call filter");
	}
	if (ctx)
		seccomp_release(ctx);
	return r;
}
