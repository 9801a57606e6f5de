/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the privileges of a new process, step by step, up to execve() or to a
 * forked machine. Each step returns 0 or a negative errno; jail_child_must()
 * reports the failed step to the jailer and exits.
 *
 * jail_child_main() runs in a process that the jailer has cloned, and ends in
 * execve(). The other public functions serve machines forked off a zygote, too
 * (vm/zygote/orders.c). Either process has only the calling thread. In a forked
 * machine the C library still has the records of QEMU's other threads, so the
 * code makes a system call directly wherever the library would synchronize
 * threads.
 */
#include "jail_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "vm/os/rights.h"
#include "vm/os/spawn.h"
#include "vm/zygote/wire.h"

#define HOST_NAME "machine"
#define FDS 256

/* --- the steps; each returns 0 or a negative errno ------------------------------ */

int jail_child_set_names(void)
{
	return sethostname(HOST_NAME, strlen(HOST_NAME)) < 0 ||
	       setdomainname("", 0) < 0 ? -errno : 0;
}

static int own_names(const struct jail_child *c)
{
	if (setsid() < 0)
		return -errno;
	/* The jail has no cgroup files; a cgroup namespace of its own hides
	 * the path of its group in /proc, too. */
	if (c->bounds.own_cgroup_ns && unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	return c->bounds.own_names ? jail_child_set_names() : 0;
}

int jail_child_join(struct jail_groups *g)
{
	int r = 0;

	while (g->count) {
		int fd = g->fd[--g->count];

		if (g->by_itself && write(fd, "0", 1) < 0)
			r = -errno;
		close(fd);
	}
	return r;
}

/* Fills in the order of descriptors for place_fds(); from[i] becomes number i.
 * Return: how many. */
static int order_fds(const struct jail_child *c, int *from)
{
	bool zygote = c->control >= 0;
	int count = 0;

	from[count++] = c->null;
	from[count++] = c->null;
	for (unsigned i = 0; i < c->fd_count - c->layers; i++)
		if (i != JAIL_FD_RAM)
			from[count++] = c->fds[i];
	if (zygote)
		from[count++] = c->control;
	if (zygote && c->landlock >= 0)
		from[count++] = c->landlock;
	/* Fill the numbers that only a zygote uses: layers have the same numbers in each
	 * kind of machine. */
	while (c->layers && count < ARGV_FD_LAYER)
		from[count++] = c->null;
	for (unsigned i = c->fd_count - c->layers; i < c->fd_count; i++)
		from[count++] = c->fds[i];
	if (!zygote && c->landlock >= 0)
		from[count++] = c->landlock;
	from[count++] = c->status;
	return count;
}

/*
 * Gives the descriptors their numbers. 0 1 2: null, null, standard error; then
 * QMP, wire, ... but not RAM; a zygote's control and Landlock; an environment's
 * layers; Landlock; status. Each is first duplicated to a high number, so that
 * none is overwritten. Exec closes the status and Landlock; a zygote keeps
 * Landlock for its forked machines.
 */
static int place_fds(struct jail_child *c)
{
	int from[JAIL_FDS_MAX + 8];
	bool zygote = c->control >= 0;
	int count = order_fds(c, from);

	for (int i = 0; i < count; i++) {
		from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, count);
		if (from[i] < 0)
			return -errno;
	}
	for (int i = 0; i < count; i++)
		if (dup2(from[i], i) < 0)
			return -errno;
	c->status = count - 1;
	if (c->landlock >= 0)
		c->landlock = zygote ? ZYGOTE_FD_LANDLOCK : count - 2;
	if (fcntl(c->status, F_SETFD, FD_CLOEXEC) < 0 ||
	    (!zygote && c->landlock >= 0 &&
	     fcntl(c->landlock, F_SETFD, FD_CLOEXEC) < 0) ||
	    syscall(SYS_close_range, count, ~0u, 0) < 0)
		return -errno;
	return 0;
}

static int limit(int resource, rlim_t value)
{
	struct rlimit l = { value, value };

	return setrlimit((__rlimit_resource_t)resource, &l) < 0 ? -errno : 0;
}

static int set_limits(const struct jail_child *c)
{
	const struct jail_bounds *b = &c->bounds;
	int r = spawn_no_core();

	if (r == 0)
		r = limit(RLIMIT_NOFILE, b->files ? b->files : FDS);
	if (r == 0)
		r = limit(RLIMIT_FSIZE, b->file_bytes);
	if (r == 0)
		r = limit(RLIMIT_MSGQUEUE, 0);
	if (r == 0 && b->threads)
		r = limit(RLIMIT_NPROC, b->threads);
	if (r == 0 && b->address_bytes)
		r = limit(RLIMIT_AS, b->address_bytes);
	return r;
}

static int restrict_files(const struct jail_child *c)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return c->landlock < 0 ? 0 : rights_landlock_enter(c->landlock);
}

static int enter_landlock(const struct jail_child *c)
{
	int r = restrict_files(c);

	if (c->landlock >= 0)
		close(c->landlock);
	return r;
}

static int lock_securebits(void)
{
	return prctl(PR_SET_SECUREBITS,
		     SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
			     SECBIT_NO_SETUID_FIXUP_LOCKED |
			     SECBIT_KEEP_CAPS_LOCKED |
			     SECBIT_NO_CAP_AMBIENT_RAISE |
			     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0 ?
		       -errno : 0;
}

/*
 * Changes user and group. By system calls: the C library's functions would
 * signal all threads, which do not exist in a forked machine yet. uid 0: no
 * change.
 */
static int set_ids(uid_t uid)
{
	if (uid && (syscall(SYS_setgroups, 0, NULL) < 0 ||
		    syscall(SYS_setresgid, uid, uid, uid) < 0 ||
		    syscall(SYS_setresuid, uid, uid, uid) < 0))
		return -errno;
	return 0;
}

static int change_ids(const struct jail_child *c)
{
	int r = rights_bound(NULL, 0);

	if (r == 0)
		r = lock_securebits();
	return r < 0 ? r : set_ids(c->bounds.uid);
}

/* Makes this process die with the jailer, and checks that the jailer still lives. Call it
 * again after a change of user, which clears the setting. */
static int tie_to_parent(const struct jail_child *c)
{
	struct pollfd p = { .fd = c->status, .events = 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP ? -ESRCH : 0;
}

/* Installs the filter and sends its listener to the jailer. The filter still
 * permits that send, and exec. */
static int filter(struct jail_child *c)
{
	struct jail_word word = { JAIL_STEP_SECCOMP, 0 };
	ssize_t n;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_NEW_LISTENER, &c->filter);

	if (fd < 0)
		return -errno;
	n = fdpass_send(c->status, &word, sizeof(word), &fd, 1, 0);
	if (n < 0)
		return (int)n;
	close(fd);
	return 0;
}

/* Installs a filter without a listener. */
static int plain_filter(struct jail_child *c)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
		       &c->filter) < 0 ? -errno : 0;
}

_Noreturn static void end(const struct jail_child *c, uint32_t step, int code)
{
	struct jail_word word = { step, code };

	/* If the send fails the jailer has ended as well. */
	fdpass_send(c->status, &word, sizeof(word), NULL, 0, 0);
	_exit(127);
}

void jail_child_must(const struct jail_child *c, uint32_t step, int r)
{
	if (r < 0)
		end(c, step, r);
}

/* --- entering the jail -------------------------------------------------- */

bool jail_child_may_go(const struct jail_child *c)
{
	unsigned none;
	char go = 0;

	return fdpass_receive(c->status, &go, 1, NULL, 0, &none, 0) == 1;
}

static void enter(struct jail_child *c)
{
	jail_child_must(c, JAIL_STEP_NAMES, own_names(c));
	jail_child_must(c, JAIL_STEP_LIMITS, set_limits(c));
	jail_child_must(c, JAIL_STEP_LANDLOCK, enter_landlock(c));
	jail_child_must(c, JAIL_STEP_IDS, change_ids(c));
	jail_child_must(c, JAIL_STEP_CAPS, rights_keep(NULL, 0));
	jail_child_must(c, JAIL_STEP_PARENT, tie_to_parent(c));
}

void jail_child_enter(struct jail_child *c)
{
	/* If the jailer has ended before this call, the kernel sends no signal:
	 * so check. */
	if (tie_to_parent(c) < 0)
		_exit(127);
	enter(c);
	jail_child_must(c, JAIL_STEP_SECCOMP, plain_filter(c));
}

/* Capabilities that forked machines need to enter their jails. No job's program
 * runs in a zygote. */
static const unsigned zygote_caps[] = {
	CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP,
};

/* Changes to a zygote's own user; its capabilities must survive the change and
 * exec. */
static int become_zygote(const struct jail_child *c)
{
	int r = rights_bound(zygote_caps, ARRAY_SIZE(zygote_caps));

	if (r == 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? r : set_ids(c->bounds.uid);
}

static void enter_zygote(struct jail_child *c)
{
	jail_child_must(c, JAIL_STEP_NAMES, own_names(c));
	jail_child_must(c, JAIL_STEP_LIMITS, set_limits(c));
	jail_child_must(c, JAIL_STEP_LANDLOCK, restrict_files(c));
	jail_child_must(c, JAIL_STEP_IDS, become_zygote(c));
	jail_child_must(c, JAIL_STEP_CAPS,
			rights_hand_on(zygote_caps, ARRAY_SIZE(zygote_caps)));
	jail_child_must(c, JAIL_STEP_PARENT, tie_to_parent(c));
}

/*
 * Blocks SIGTERM. A batch system sends it to every process of a job; QEMU would
 * end, although the job's program should have time to save. The mask survives
 * exec.
 */
static void block_term(void)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
}

/* Joins the control groups, numbers the descriptors, and waits for the jailer's word to
 * enter the jail. */
static void prepare(struct jail_child *c)
{
	/* place_fds() also closes the jailer's end of our socket, of which we
	 * have a copy: until then we would not see that the jailer has ended. */
	int joined = jail_child_join(&c->groups), placed = place_fds(c);

	if (tie_to_parent(c) < 0 || !jail_child_may_go(c))
		_exit(127);
	spawn_reset_signals();
	block_term();
	jail_child_must(c, JAIL_STEP_CGROUP, joined);
	jail_child_must(c, JAIL_STEP_FDS, placed);
}

void jail_child_stay(struct jail_child *c)
{
	prepare(c);
	enter(c);
	jail_child_must(c, JAIL_STEP_SECCOMP, plain_filter(c));
	fd_close(&c->status);
}

_Noreturn void jail_child_main(struct jail_child *c)
{
	/*
	 * The C library uses one heap: each further one would cost a system call for
	 * every page.
	 */
	static const char *const envp[] = {
		"GLIBC_TUNABLES=glibc.malloc.arena_max=1", NULL,
	};
	static const char *const zygote_envp[] = {
		"GLIBC_TUNABLES=glibc.malloc.arena_max=1",
		"LD_PRELOAD=" ZYGOTE_LIBRARY, NULL,
	};
	bool zygote = c->control >= 0;

	prepare(c);
	if (zygote)
		enter_zygote(c);
	else
		enter(c);
	jail_child_must(c, JAIL_STEP_SECCOMP, filter(c));
	execve(c->argv[0], (char *const *)(uintptr_t)c->argv,
	       (char *const *)(uintptr_t)(zygote ? zygote_envp : envp));
	end(c, JAIL_STEP_EXEC, -errno);
}
