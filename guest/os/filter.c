/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of system calls: a list of denied calls. It cannot be a list of
 * permitted ones, because any program of Linux may run. A call is denied if
 * programs without privileges do not need it, and exploits have used it again
 * and again. The kernel refuses most of these calls to this user anyway; the
 * filter keeps programs from reaching even the code that refuses. Owns the
 * compiled filter; init makes it once.
 *
 * A denied call gets the answer of a kernel: ENOSYS where kernels are built
 * without it, so that programs know what to do; EPERM where it needs a
 * capability.
 *
 * Not denied, on purpose: ptrace and process_vm_* of own children (the kernel's
 * yama.ptrace_scope is 1, so debuggers work and no other process can be
 * touched), personality (a debugger uses it to switch off address
 * randomisation; no set-id program exists that it could weaken), seccomp and
 * landlock (a program may confine itself further), vmsplice.
 *
 * The cost: the kernel computes once which calls always pass, a bit for each,
 * and runs the filter only for the others: the denied ones, and clone, unshare,
 * socket, socketpair and ioctl, whose arguments matter.
 */
#include "filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define TIOCLINUX 0x541C
#define NETLINK_PROTOCOLS 32u /* MAX_LINKS; the kernel knows no more */
#define KERNEL_INT 0xffffffffu

struct call {
	int number, error;
};

static const struct call calls[] = {
	/* calls that run other programs inside the kernel */
	{SCMP_SYS(bpf), EPERM}, /* bpf(2) has a verifier and a compiler */
	/* a second way to most calls, around this filter */
	{SCMP_SYS(io_uring_setup), ENOSYS},
	{SCMP_SYS(io_uring_enter), ENOSYS},
	{SCMP_SYS(io_uring_register), ENOSYS},
	/* can stop the kernel in the middle of a copy */
	{SCMP_SYS(userfaultfd), ENOSYS},
	/* counts events of other processes */
	{SCMP_SYS(perf_event_open), EPERM},
	{SCMP_SYS(lookup_dcookie), EPERM}, /* lookup_dcookie: only profilers use it */
	{SCMP_SYS(init_module), EPERM},
	{SCMP_SYS(finit_module), EPERM},
	{SCMP_SYS(delete_module), EPERM},
	{SCMP_SYS(kexec_load), EPERM}, /* calls that start another kernel */
	{SCMP_SYS(kexec_file_load), EPERM},
	/* keys: separated only by the uid, which all programs share */
	{SCMP_SYS(add_key), ENOSYS},
	{SCMP_SYS(request_key), ENOSYS},
	{SCMP_SYS(keyctl), ENOSYS},
	/* the file tree */
	{SCMP_SYS(mount), EPERM},
	{SCMP_SYS(umount2), EPERM},
	{SCMP_SYS(pivot_root), EPERM},
	{SCMP_SYS(chroot), EPERM},
	{SCMP_SYS(open_tree), EPERM},
	{SCMP_SYS(move_mount), EPERM},
	{SCMP_SYS(fsopen), EPERM}, /* fsopen: the kernel parses its arguments */
	{SCMP_SYS(fsconfig), EPERM},
	{SCMP_SYS(fsmount), EPERM},
	{SCMP_SYS(fspick), EPERM},
	{SCMP_SYS(mount_setattr), EPERM},
	/* opens files without their paths */
	{SCMP_SYS(open_by_handle_at), EPERM},
	{SCMP_SYS(name_to_handle_at), EPERM}, /* makes handles for open_by_handle_at(2) */
	{SCMP_SYS(fanotify_init), EPERM}, /* watches a whole mount */
	{SCMP_SYS(fanotify_mark), EPERM},
	{SCMP_SYS(quotactl), EPERM},
	{SCMP_SYS(quotactl_fd), EPERM},
	{SCMP_SYS(swapon), EPERM},
	{SCMP_SYS(swapoff), EPERM},
	/* namespaces: inside, a program is root over the kernel's objects */
	{SCMP_SYS(setns), EPERM},
	/* clone3(2) has its flags in memory, where a filter cannot read them. At ENOSYS
	 * libraries use clone(2). */
	{SCMP_SYS(clone3), ENOSYS},
	/* the machine */
	{SCMP_SYS(reboot), EPERM},
	{SCMP_SYS(iopl), EPERM}, /* processor ports */
	{SCMP_SYS(ioperm), EPERM},
	{SCMP_SYS(modify_ldt), ENOSYS}, /* 16-bit segments */
	{SCMP_SYS(syslog), EPERM}, /* the kernel's log has addresses */
	{SCMP_SYS(acct), EPERM}, /* makes the kernel write a file */
	{SCMP_SYS(vhangup), EPERM},
	{SCMP_SYS(sethostname), EPERM},
	{SCMP_SYS(setdomainname), EPERM},
	{SCMP_SYS(settimeofday), EPERM},
	{SCMP_SYS(clock_settime), EPERM},
	{SCMP_SYS(clock_adjtime), EPERM},
	{SCMP_SYS(adjtimex), EPERM},
};

/* A call that is denied if (argument & mask) equals value. The kernel takes an int from
 * the lower half of a register, so the upper half must not count. */
struct use {
	int number, error;
	unsigned argument;
	uint64_t mask, value;
};

#define FLAG(call, flag) {SCMP_SYS(call), EPERM, 0, flag, flag}

static const struct use uses[] = {
	FLAG(clone, CLONE_NEWNS),
	FLAG(clone, CLONE_NEWCGROUP),
	FLAG(clone, CLONE_NEWUTS),
	FLAG(clone, CLONE_NEWIPC),
	FLAG(clone, CLONE_NEWUSER),
	FLAG(clone, CLONE_NEWPID),
	FLAG(clone, CLONE_NEWNET),
	/* not for clone(2): there this bit of the flags belongs to the signal */
	FLAG(unshare, CLONE_NEWTIME),
	FLAG(unshare, CLONE_NEWNS),
	FLAG(unshare, CLONE_NEWCGROUP),
	FLAG(unshare, CLONE_NEWUTS),
	FLAG(unshare, CLONE_NEWIPC),
	FLAG(unshare, CLONE_NEWUSER),
	FLAG(unshare, CLONE_NEWPID),
	FLAG(unshare, CLONE_NEWNET),
	/* puts characters into the input of a terminal */
	{SCMP_SYS(ioctl), EPERM, 1, KERNEL_INT, TIOCSTI},
	{SCMP_SYS(ioctl), EPERM, 1, KERNEL_INT, TIOCLINUX},
};

/* The permitted families of sockets; all others are denied. */
static const int families[] = {
	AF_UNIX, /* socket pairs, multiprocessing, servers with a path */
	AF_INET, /* programs use the loopback by it */
	AF_INET6,   /* the same for IPv6 */
	AF_NETLINK, /* only NETLINK_ROUTE: programs list interfaces by it */
};

/* owned by init; its children inherit it */
static struct sock_fprog program;

static bool is_wanted(int family)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i] == family)
			return true;
	return false;
}

/* Denies sockets by family and protocol: both calls have the family first and
 * the protocol third. */
static int deny_sockets(scmp_filter_ctx ctx, int number)
{
	int r = 0;

	for (int family = 0; !r && family < AF_MAX; family++)
		if (!is_wanted(family))
			r = seccomp_rule_add(
				ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), number, 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, KERNEL_INT,
					(uint64_t)family));
	for (unsigned i = NETLINK_ROUTE + 1; !r && i < NETLINK_PROTOCOLS; i++)
		r = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), number, 2,
			SCMP_A0(SCMP_CMP_MASKED_EQ, KERNEL_INT, AF_NETLINK),
			SCMP_A2(SCMP_CMP_MASKED_EQ, KERNEL_INT, i));
	return r;
}

static int add_rules(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(ctx,
				     SCMP_ACT_ERRNO((unsigned)calls[i].error),
				     calls[i].number, 0);
	for (size_t i = 0; !r && i < ARRAY_SIZE(uses); i++) {
		const struct use *u = &uses[i];

		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)u->error),
				     u->number, 1,
				     SCMP_CMP(u->argument, SCMP_CMP_MASKED_EQ,
					      u->mask, u->value));
	}
	if (!r)
		r = deny_sockets(ctx, SCMP_SYS(socket));
	return r ? r : deny_sockets(ctx, SCMP_SYS(socketpair));
}

/* Kills a process that uses another ABI (i386, x32): its calls have other
 * numbers, and no program here is built for one. */
static int set_attributes(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				 SCMP_ACT_KILL_PROCESS);

	/* compile to a tree of comparisons */
	return r ? r : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

static int take_program(scmp_filter_ctx ctx)
{
	auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(ctx, fd);
	if (r)
		return r;
	if (fstat(fd, &st))
		return -errno;
	program.len = (unsigned short)((size_t)st.st_size /
				       sizeof(*program.filter));
	free(program.filter);
	program.filter = malloc((size_t)st.st_size);
	if (!program.filter)
		return -ENOMEM;
	if (pread(fd, program.filter, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	return 0;
}

int filter_make(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = ctx ? set_attributes(ctx) : -ENOMEM;

	if (!r)
		r = add_rules(ctx);
	if (!r)
		r = take_program(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r ? err_sys(err, r, "cannot make the filter of system calls")
		 : 0;
}

int filter_install(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return -errno;
	return 0;
}
