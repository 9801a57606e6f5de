/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes rights from the server: capabilities, files outside its directories (Landlock),
 * and system calls (seccomp). It runs once, in the main thread, before any other thread
 * starts; threads inherit all of it.
 */
#include "restrain.h"
#include "fsd/store/store.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fsd/control/about.h"
#include "options.h"
#include "vm/os/rights.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true /* the sanitizer searches for leaks with processes of its own */
#else
#define SANITIZED false
#endif

static void note(struct own_walls *walls, enum own_wall wall, int r,
		 const char *detail)
{
	walls->wall[wall].active = r == 0;
	snprintf(walls->wall[wall].detail, sizeof(walls->wall[wall].detail), "%s",
		 r < 0 ? strerror(-r) : detail);
}

/* --- files ---------------------------------------------------------------------- */

/* Makes the directory readable for all users of the host, as its files are. */
static void make_readable(const char *path)
{
	if (store_make_dirs(path) == 0 && chmod(path, 0755) < 0)
		log_warn("%s: %s", path, strerror(errno));
}

static int give_up_files(const struct mount_options *o)
{
	const char *const *more = o->environments.places.dirs;
	struct rights_path paths[3 + VM_SHARED_MAX + ENVIRONMENT_PLACES] = {
		{ o->state_dir, true },
		{ o->vm.cache_dir, true },
		/* the server reads its own descriptors there, and which processes
		 * exist */
		{ "/proc", false },
	};
	size_t count = 3;
	int r = store_make_dirs(o->vm.cache_dir), set;

	if (r < 0)
		return r;
	for (size_t i = 0; i < VM_SHARED_MAX; i++)
		if (o->vm.shared[i] &&
		    access(o->vm.shared[i], R_OK | X_OK) == 0)
			paths[count++] = (struct rights_path){
				o->vm.shared[i], false };
	/* Make missing directories now: those made later could not be read. */
	for (size_t i = 0; i < ENVIRONMENT_PLACES && more[i]; i++) {
		if (access(more[i], F_OK) < 0 && !o->die_with_parent)
			make_readable(more[i]);
		if (access(more[i], R_OK | X_OK) == 0)
			paths[count++] = (struct rights_path){ more[i], false };
	}
	set = rights_landlock(paths, count);
	if (set < 0)
		return set;
	r = rights_landlock_enter(set);
	close(set);
	return r;
}

/* --- system calls ----------------------------------------------------------------- */

#define OTHERS (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
		CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* Denied with EPERM, whatever the arguments. */
static const int denied[] = {
	/* calls that start programs or reach other processes */
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
	SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
	SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(tkill),
	/* as root the server could end, stop or starve any process of root */
	SCMP_SYS(kill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(pidfd_send_signal), SCMP_SYS(process_mrelease),
	/* the network: its sockets are open already */
	SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen),
	SCMP_SYS(accept), SCMP_SYS(accept4),
	/* mounts, roots, namespaces */
	SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
	SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare),
	SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at),
	/* rights */
	SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid),
	SCMP_SYS(setregid), SCMP_SYS(setresuid), SCMP_SYS(setresgid),
	SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups),
	SCMP_SYS(capset),
	/* the kernel itself */
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key),
	SCMP_SYS(request_key), SCMP_SYS(init_module), SCMP_SYS(finit_module),
	SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon),
	SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(iopl),
	SCMP_SYS(ioperm), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
	SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(syslog),
	SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(personality),
};

/* Permits clone for threads only. A filter cannot read the flags of clone3, so
 * that is denied as unknown; the C library then uses clone. */
static int add_clone(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
				 0);

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				     SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD,
					     0));
	for (int bit = 0; r == 0 && bit < 32; bit++)
		if (OTHERS & 1u << bit)
			r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
					     SCMP_SYS(clone), 1,
					     SCMP_A0(SCMP_CMP_MASKED_EQ,
						     1u << bit, 1u << bit));
	return r;
}

/* Calls with a file's mode as an argument: set-id bits are denied. A setuid
 * program in its directory would give any user root's rights. */
static const struct {
	int call;
	unsigned arg;
} modes[] = {
	{ SCMP_SYS(chmod), 1 },	 { SCMP_SYS(fchmod), 1 },
	{ SCMP_SYS(fchmodat), 2 }, { SCMP_SYS(open), 2 },
	{ SCMP_SYS(openat), 3 }, { SCMP_SYS(creat), 1 },
	{ SCMP_SYS(mknod), 1 },	 { SCMP_SYS(mknodat), 2 },
};

/* These requests put input into the terminal that fsd was started from. */
static const unsigned typing[] = { TIOCSTI, TIOCLINUX };

/* Calls whose mode is in memory, where a filter cannot read it. */
static const int hidden[] = { SYS_openat2, 452 /* fchmodat2 */ };

/* Denies a call with EPERM if (argument & mask) equals value. */
static int deny_when(scmp_filter_ctx ctx, int call, unsigned arg, uint64_t mask,
		     uint64_t value)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, value));
}

static int add_arguments(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(modes); i++) {
		r = deny_when(ctx, modes[i].call, modes[i].arg, S_ISUID,
			      S_ISUID);
		if (r == 0)
			r = deny_when(ctx, modes[i].call, modes[i].arg,
				      S_ISGID, S_ISGID);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(typing); i++)
		r = deny_when(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX, typing[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(hidden); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), hidden[i],
				     0);
	/* permit only its own threads: abort() needs that */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				     SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_NE,
					     (scmp_datum_t)getpid(), 0));
	/* permit only its own limits */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				     SCMP_SYS(prlimit64), 1,
				     SCMP_A0(SCMP_CMP_NE, 0, 0));
	return r;
}

static int give_up_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = ctx ? 0 : -ENOMEM;

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(denied); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
	if (r == 0)
		r = add_clone(ctx);
	if (r == 0)
		r = add_arguments(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}

/* --- all together ------------------------------------------------------- */

/* Root must be able to write a user's file that is read-only. */
static const unsigned kept[] = { CAP_DAC_OVERRIDE };

int restrain(const struct mount_options *options, struct own_walls *walls,
	     struct err *err)
{
	int r;

	if (SANITIZED) {
		for (unsigned i = 0; i < OWN_WALLS; i++)
			note(walls, i, -ENOTSUP, "");
		return 0;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "no_new_privs");
	r = give_up_files(options);
	note(walls, OWN_LANDLOCK, r, "files below the state directory only");
	if (r < 0 && r != -ENOSYS && r != -EOPNOTSUPP)
		return err_sys(err, r, "Landlock for the daemon");
	r = rights_keep(kept, ARRAY_SIZE(kept));
	note(walls, OWN_CAPS, r, "none but to write what it owns");
	if (r < 0)
		return err_sys(err, r, "giving up capabilities");
	r = give_up_calls();
	note(walls, OWN_SECCOMP, r,
	     "no process, socket, mount or look into others");
	return r < 0 ? err_sys(err, r, "the daemon's seccomp filter") : 0;
}
