/* SPDX-License-Identifier: Apache-2.0 */
/* The jailer's messages, and what its filters let a QEMU do. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/jail/jail_slot.h"
#include "vm/os/rights.h"
#include "vm/jail/jail_filter.h"
#include "vm/jail/jail_wire.h"
#include "vm/vm.h"
#include "tests/unit/tap.h"

/* --- messages ------------------------------------------------------------------ */

#define NO_GROUPS { .base = { -1, -1, -1 } }

static const struct jail_request good = {
	.version = JAIL_VERSION, .op = JAIL_START, .id = 7,
	.kind = JAIL_RESTORE, .accel = VM_ACCEL_TCG, .memory_mib = 1024,
	.cpus = 1,
};

static int check(const struct jail_request *q, size_t size, unsigned fds)
{
	struct jail_request copy;

	return jail_request_check(q, size, fds, &copy, NULL);
}

#define REFUSED(change, name)                                              \
	do {                                                               \
		struct jail_request q_ = good;                             \
		change;                                                    \
		is_int(check(&q_, sizeof(q_), 7), -EINVAL, name);          \
	} while (0)

static void test_messages(void)
{
	struct jail_request q = good, copy;
	struct err err;

	is_int(check(&q, sizeof(q), 7), 0, "a restore with seven descriptors");
	is_int(check(&q, sizeof(q), 6), -EINVAL, "not with six");
	q.layers = 2;
	is_int(check(&q, sizeof(q), 9), 0, "two layers are two more");
	is_int(check(&q, sizeof(q), 7), -EINVAL, "not without them");
	q.layers = JAIL_LAYERS_MAX + 1;
	is_int(check(&q, sizeof(q), 7 + JAIL_LAYERS_MAX + 1), -EINVAL,
	       "not nine layers");
	q.layers = UINT32_MAX;
	is_int(check(&q, sizeof(q), 6), -EINVAL, "nor so many that they wrap");
	q.layers = 0;
	is_int(check(&q, sizeof(q), 0), -EINVAL, "not with none");
	is_int(check(&q, sizeof(q) - 1, 7), -EINVAL, "not a short message");
	is_int(check(&q, sizeof(q) + 1, 7), -EINVAL, "not a long one");
	is_int(check(&q, 0, 0), -EINVAL, "not an empty one");
	REFUSED(q_.version = JAIL_VERSION + 1, "not another version");
	REFUSED(q_.op = 0, "not operation 0");
	REFUSED(q_.op = 99, "not an unknown operation");
	REFUSED(q_.kind = JAIL_KINDS, "not an unknown kind");
	REFUSED(q_.kind = UINT32_MAX, "not the largest kind");
	REFUSED(q_.kind = JAIL_BOOT, "not a boot with a restore's descriptors");
	REFUSED(q_.accel = VM_ACCEL_AUTO, "not an undecided accelerator");
	REFUSED(q_.accel = UINT32_MAX, "not an unknown accelerator");
	REFUSED(q_.memory_mib = 0, "not without memory");
	REFUSED(q_.memory_mib = UINT32_MAX, "not with all the memory there is");
	REFUSED(q_.cpus = 0, "not without a processor");
	REFUSED(q_.cpus = 257, "not with 257 processors");
	q.kind = JAIL_ZYGOTE;
	is_int(check(&q, sizeof(q), 7), 0, "a zygote with seven descriptors");
	REFUSED((q_.kind = JAIL_ZYGOTE, q_.accel = VM_ACCEL_KVM),
		"not a zygote under KVM");
	q.kind = JAIL_FORK;
	is_int(check(&q, sizeof(q), 4), 0, "a fork with four descriptors");
	is_int(check(&q, sizeof(q), 7), -EINVAL, "not with a restore's");
	q.accel = VM_ACCEL_KVM;
	is_int(check(&q, sizeof(q), 4), -EINVAL, "not under KVM");
	q.accel = VM_ACCEL_TCG;
	q.kind = JAIL_RELAY;
	is_int(check(&q, sizeof(q), 3), 0, "a relay with three descriptors");
	is_int(check(&q, sizeof(q), 4), -EINVAL, "not with a fork's");
	q.op = JAIL_KILL;
	is_int(check(&q, sizeof(q), 0), 0, "a kill");
	is_int(check(&q, sizeof(q), 1), -EINVAL,
	       "a kill comes without descriptors");
	q.op = JAIL_KEEP;
	is_int(check(&q, sizeof(q), 0), 0, "one that is to be kept");
	is_int(check(&q, sizeof(q), 1), -EINVAL, "not with a descriptor");
	q.op = JAIL_SWEEP;
	is_int(check(&q, sizeof(q), 0), 0, "the end of all others");
	is_int(check(&q, sizeof(q), 6), -EINVAL, "not with a restore's");
	q.op = JAIL_TEACH;
	is_int(check(&q, sizeof(q), 0), 0, "one that a zygote learns from");
	is_int(check(&q, sizeof(q), 1), -EINVAL, "not with a descriptor");
	REFUSED(q_.op = JAIL_OPS, "not the operation behind the last");
	jail_request_check(&good, 3, 0, &copy, &err);
	is_str(err.text, "a message of 3 bytes", "the sentence says what came");
}

/* What the jailer is given instead of what it must be given. */
static int check_fds(uint32_t kind, unsigned at, int instead)
{
	struct jail_request q = good;
	int pipes[2], socks[2], fds[JAIL_FDS_MAX], r;

	q.kind = kind;
	q.layers = kind == JAIL_RESTORE ? JAIL_LAYERS_MAX : 0;
	if (pipe(pipes) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, socks) < 0)
		return 1;
	fds[JAIL_FD_ERR] = pipes[1];
	fds[JAIL_FD_QMP] = socks[0];
	fds[JAIL_FD_WIRE] = socks[1];
	fds[JAIL_FD_NET] = dup(socks[0]);
	for (unsigned i = JAIL_FD_ROOTFS; i < JAIL_FDS_MAX; i++)
		fds[i] = open("/proc/self/exe", O_RDONLY);
	if (kind == JAIL_BOOT) {
		close(fds[JAIL_FD_RAM]);
		fds[JAIL_FD_RAM] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	}
	if (at < JAIL_FDS_MAX)
		dup2(instead, fds[at]);
	r = jail_fds_check(&q, fds, NULL);
	for (unsigned i = 0; i < JAIL_FDS_MAX; i++)
		close(fds[i]);
	close(pipes[0]);
	close(instead);
	return r;
}

static void test_descriptors(void)
{
	is_int(check_fds(JAIL_RESTORE, JAIL_FDS_MAX, -1), 0,
	       "a restore with what it is for");
	is_int(check_fds(JAIL_BOOT, JAIL_FDS_MAX, -1), 0,
	       "a boot with what it is for");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_RAM,
			 open("/tmp", O_TMPFILE | O_RDWR, 0600)), -EINVAL,
	       "not with memory that can be written");
	is_int(check_fds(JAIL_BOOT, JAIL_FD_ROOTFS,
			 open("/tmp", O_TMPFILE | O_RDWR, 0600)), -EINVAL,
	       "not with a disk that can be written");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_LAYER + 7,
			 open("/tmp", O_TMPFILE | O_RDWR, 0600)), -EINVAL,
	       "nor with a layer that can be");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_LAYER,
			 open("/dev/null", O_RDONLY)), -EINVAL,
	       "nor with one that is no file");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_STATE, open("/", O_RDONLY)),
	       -EINVAL, "not with a directory");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_QMP, open("/", O_RDONLY)),
	       -EINVAL, "not with a directory as a socket");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_ERR,
			 open("/dev/null", O_RDWR)), -EINVAL,
	       "not with a device as its standard error");
	is_int(check_fds(JAIL_RESTORE, JAIL_FD_ROOTFS,
			 open("/proc/self/exe", O_PATH)), -EINVAL,
	       "not with a name of a file that is not open");
}

/* --- a child ---------------------------------------------------------------------- */

/* A jailer that dies before it says "go"; the pid of its child goes to out. */
static void make_orphan(int out)
{
	int pair[2];
	struct jail_child c = { .landlock = -1, .control = -1 };
	pid_t pid;

	socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	c.null = open("/dev/null", O_RDWR);
	c.status = pair[1];
	pid = fork();
	if (pid == 0)
		jail_child_main(&c);
	if (write(out, &pid, sizeof(pid)) < 0)
		_exit(1);
	_exit(0);
}

static void test_orphan(void)
{
	int out[2];
	pid_t jailer, child = 0;
	struct pollfd p = { .events = POLLIN };

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (pipe(out) < 0)
		return;
	jailer = fork();
	if (jailer == 0)
		make_orphan(out[1]);
	ok(read(out[0], &child, sizeof(child)) == sizeof(child),
	   "a jailer makes a child and dies");
	waitpid(jailer, NULL, 0);
	p.fd = (int)syscall(SYS_pidfd_open, child, 0);
	is_int(poll(&p, 1, 5000), 1, "the child, which waits for it, ends");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(p.fd);
	close(out[0]);
	close(out[1]);
}

/* Root in the host's own root, with every file of it at hand: mkdir, and no wall
 * but Landlock (ruleset; -1: none). Return: whether the directory was made. */
static bool makes_directory(int ruleset)
{
	static struct sock_filter all[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	char path[] = "/tmp/jail-test.XXXXXX", made[40];
	const char *argv[] = { "/bin/mkdir", made, NULL };
	struct jail_child c = {
		.argv = argv, .fd_count = 1, .landlock = ruleset,
		.control = -1,
		.filter = { .len = 1, .filter = all },
	};
	int pair[2];
	bool is_there;
	pid_t pid;

	if (!mkdtemp(path) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	snprintf(made, sizeof(made), "%s/made", path);
	c.null = c.fds[0] = open("/dev/null", O_RDWR);
	c.status = pair[1];
	pid = fork();
	if (pid == 0)
		jail_child_main(&c);
	send(pair[0], "", 1, 0);
	waitpid(pid, NULL, 0);
	is_there = rmdir(made) == 0;
	rmdir(path);
	close(c.null);
	close(pair[0]);
	close(pair[1]);
	return is_there;
}

/* A script in a zygote's place (zygote) or a machine's, with two layers: what it
 * writes to its monitor, which is a pipe here. */
static void see_layers(bool zygote, const char *script, char *ret, size_t size)
{
	static struct sock_filter all[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct jail_child c = {
		.argv = argv, .fd_count = JAIL_FD_LAYER + 2, .layers = 2,
		.landlock = -1, .control = -1,
		.filter = { .len = 1, .filter = all },
	};
	int pair[2], out[2], control[2];
	pid_t pid;
	ssize_t n;

	ret[0] = '\0';
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		       control) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return;
	c.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < c.fd_count; i++)
		c.fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup3(out[1], c.fds[JAIL_FD_QMP], O_CLOEXEC);
	for (unsigned i = JAIL_FD_LAYER; i < c.fd_count; i++)
		dup3(open(i == JAIL_FD_LAYER ? "/etc/passwd" : "/etc/group",
			  O_RDONLY | O_CLOEXEC), c.fds[i], O_CLOEXEC);
	c.control = zygote ? control[1] : -1;
	c.status = pair[1];
	pid = fork();
	if (pid == 0)
		jail_child_main(&c);
	send(pair[0], "", 1, 0);
	close(out[1]);
	close(c.fds[JAIL_FD_QMP]);
	while (size > 1 && (n = read(out[0], ret, size - 1)) > 0) {
		ret += n;
		size -= (size_t)n;
		*ret = '\0';
	}
	waitpid(pid, NULL, 0);
}

static void test_layers(void)
{
	static const char script[] =
		"for n in 8 9 10 11 12; do readlink /proc/self/fd/$n >&3 || "
		"echo none >&3; done";
	char seen[300];

	see_layers(false, script, seen, sizeof(seen));
	is_str(seen, "/dev/null\n/dev/null\n/etc/passwd\n/etc/group\nnone\n",
	       "a machine's layers have their numbers, and nothing is behind");
	see_layers(true, script, seen, sizeof(seen));
	ok(!strncmp(seen, "socket:", 7), "a zygote has its control before them");
	ok(strstr(seen, "]\n/dev/null\n/etc/passwd\n/etc/group\nnone\n"),
	   "and its layers at the same numbers");
}

static void test_landlock(void)
{
	struct rights_path root = { "/", false };
	int ruleset = rights_landlock(&root, 1);

	ok(makes_directory(-1), "without any wall a child can write");
	if (ruleset >= 0)
		ok(!makes_directory(ruleset),
		   "where every other wall has fallen Landlock stands");
	else
		is_int(ruleset, -ENOSYS, "the kernel has no Landlock");
	close(ruleset);
}

static const char *const qemu[] = { "/qemu", NULL };

/* Nothing may be made in the directory of leases: with EPERM, at that. */
static void test_no_lease(void)
{
	struct jail_request q = good;
	struct jailer j = { .qemu = qemu, .landlock = -1, .null = -1,
			    .most = 1, .cgroups = NO_GROUPS };
	struct jail_word word = { 0 };
	char dir[] = "/tmp/jail-test.XXXXXX";
	int fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY) : -1;
	int flags = FS_IMMUTABLE_FL, none = 0, pair[2];

	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
		q.kind = JAIL_PROBE;
		j.uids = (struct uid_range){ .first = 1900000000u, .count = 1,
					     .dir = fd };
		ok(!jail_slot_start(&j, &q, pair, 2, &word),
		   "no machine starts without a user of its own");
		is_int(word.code, -EPERM, "and it is said why");
		free(j.slots);
		ioctl(fd, FS_IOC_SETFLAGS, &none);
	}
	close(fd);
	rmdir(dir);
}

/* Return: what became of a start of that kind. */
static struct jail_word start_kind(struct jailer *j, uint32_t kind)
{
	struct jail_request q = good;
	struct jail_word word = { 0 };
	int fds[JAIL_FDS_MAX];

	q.kind = kind;
	if (kind == JAIL_FORK)
		q.zygote = 4;
	for (unsigned i = 0; i < JAIL_FDS_MAX; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	ok(!jail_slot_start(j, &q, fds, jail_fd_count(&q), &word),
	   "no process is started");
	for (unsigned i = 0; i < JAIL_FDS_MAX; i++)
		if (i < jail_fd_count(&q))
			is_int(fds[i], -1, "descriptor %u is closed", i);
		else
			close(fds[i]);
	return word;
}

/* A machine with the number of the zygote, and no zygote. */
static void test_no_zygote(void)
{
	struct jail_slot slots[2] = { { .pid = 5, .id = 4, .kind = JAIL_RESTORE } };
	struct jailer j = {
		.qemu = qemu, .landlock = -1, .null = -1, .most = 2,
		.slots = slots, .slot_count = 2, .uids = { .dir = -1 },
		.cgroups = NO_GROUPS,
	};
	struct jail_word word = start_kind(&j, JAIL_FORK);

	ok(word.step == JAIL_STEP_ZYGOTE && word.code == -ESRCH,
	   "off what is no zygote nothing is forked");
	word = start_kind(&j, JAIL_ZYGOTE);
	ok(word.step == JAIL_STEP_ZYGOTE && word.code == -ENOTSUP,
	   "without a root of its own there is no zygote");
}

/* One that has hung, or has been taken over: whatever it answers. */
static void ask_zygote(const void *answer, size_t size, int code,
		       const char *name)
{
	struct jail_slot slots[2] = { { .id = 4, .kind = JAIL_ZYGOTE } };
	struct jailer j = {
		.qemu = qemu, .landlock = -1, .null = -1, .most = 2,
		.slots = slots, .slot_count = 2, .uids = { .dir = -1 },
		.cgroups = NO_GROUPS,
	};
	int pair[2], status;

	slots[0].pid = fork();
	if (slots[0].pid == 0) {
		alarm(20);
		for (;;)
			pause();
	}
	/* Made now, so that only we hold its other end. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		exit(1);
	slots[0].control = pair[0];
	if (size)
		send(pair[1], answer, size, 0);
	else
		close(pair[1]);
	is_int(start_kind(&j, JAIL_FORK).code, code, "%s", name);
	ok(waitpid(slots[0].pid, &status, 0) > 0 && WIFSIGNALED(status) &&
		   WTERMSIG(status) == SIGKILL,
	   "such a zygote is ended");
	close(pair[0]);
	if (size)
		close(pair[1]);
}

static void test_bad_zygote(void)
{
	const int32_t busy = -EAGAIN, pid = 1;

	ask_zygote(&busy, sizeof(busy), -EAGAIN, "a zygote may fail");
	ask_zygote(&pid, sizeof(pid), -EPROTO,
		   "one that names a process shows that it is one");
	ask_zygote("abc", 3, -EPIPE, "a short answer is none");
	ask_zygote(NULL, 0, -EPIPE, "one that has gone is missed");
}

/* Two live already, as far as the jailer knows. */
static void start_third(struct jailer *j, struct jail_word *word)
{
	struct jail_request q = good;
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(1);
	q.kind = JAIL_PROBE;
	ok(!jail_slot_start(j, &q, pair, 2, word), "no process is started");
	ok(pair[0] == -1 && pair[1] == -1, "its descriptors are closed");
}

static void test_most(void)
{
	struct jail_slot slots[3] = { { .pid = 5 }, { .pid = 0 }, { .pid = 6 } };
	struct jailer j = {
		.qemu = qemu, .landlock = -1, .null = -1, .most = 2,
		.slots = slots, .slot_count = 3,
		.uids = { .dir = -1 }, .clone_flags = ~0ul,
		.cgroups = NO_GROUPS,
	};
	struct jail_word word;

	start_third(&j, &word);
	ok(word.step == JAIL_STEP_MOST && word.code == -EAGAIN,
	   "as many live as there may be, and it is said so");
	slots[2].pid = 0;
	start_third(&j, &word);
	ok(word.step == JAIL_STEP_CLONE && word.code == -EINVAL,
	   "when one has ended the next one's turn comes");
	j.most = 0;
	start_third(&j, &word);
	is_int(word.step, JAIL_STEP_MOST, "none may be started where none may");
}

/* --- filters --------------------------------------------------------------------- */

enum outcome { WORKS, KILLED, FAILS };

static long do_openat(int flags)
{
	return syscall(SYS_openat, AT_FDCWD, "/", flags, 0600);
}

static long do_mmap(int flags)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
		       flags | MAP_ANONYMOUS, -1, 0) == -1 ? -1 : 0;
}

static long try_read(void) { return do_openat(O_RDONLY | O_CLOEXEC); }
static long try_create(void) { return do_openat(O_RDWR | O_CREAT); }
static long try_write(void) { return do_openat(O_WRONLY); }
static long try_truncate(void) { return do_openat(O_RDONLY | O_TRUNC); }
static long try_tmpfile(void) { return do_openat(O_TMPFILE | O_RDWR); }
static long try_device(void) { return do_openat(O_RDWR | O_CLOEXEC); }
static long try_private(void) { return do_mmap(MAP_PRIVATE); }
static long try_shared(void) { return do_mmap(MAP_SHARED); }
static long try_validate(void) { return do_mmap(MAP_SHARED_VALIDATE); }
/* From a file that may be written, or not; only sharing is of interest. */
static long map_file(int fd, int prot)
{
	return syscall(SYS_mmap, NULL, 4096, prot, MAP_SHARED, fd, 0) == -1 ?
		       -1 : 0;
}

static int to_write = -1, to_read = -1;
static long try_shared_write(void)
{
	return map_file(to_write, PROT_READ | PROT_WRITE);
}
static long try_shared_read(void)
{
	return map_file(to_read, PROT_READ | PROT_WRITE);
}
static long try_shared_code(void)
{
	return map_file(to_read, PROT_READ | PROT_WRITE | PROT_EXEC);
}
static long try_clone3(void) { return syscall(SYS_clone3, NULL, 0); }
static long try_fork(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static long try_vfork(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
}
static long try_userns(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND |
		       CLONE_NEWUSER, 0, 0, 0, 0);
}
static long try_socket(void) { return syscall(SYS_socket, AF_UNIX, 1, 0); }
static long try_connect(void) { return syscall(SYS_connect, 0, NULL, 0); }
static long try_bind(void) { return syscall(SYS_bind, 0, NULL, 0); }
static long try_sendto(void) { return syscall(SYS_sendto, 0, "", 0, 0, "\1", 2); }
static long try_ptrace(void) { return syscall(SYS_ptrace, 0, 0, 0, 0); }
static long try_kill(void) { return syscall(SYS_kill, 1, 0); }
static long try_unlink(void) { return syscall(SYS_unlink, "/nowhere"); }
static long try_rename(void) { return syscall(SYS_rename, "/no", "/where"); }
static long try_mount(void) { return syscall(SYS_mount, 0, "/", 0, 0, 0); }
static long try_chroot(void) { return syscall(SYS_chroot, "/"); }
static long try_bpf(void) { return syscall(SYS_bpf, 0, NULL, 0); }
static long try_uring(void) { return syscall(SYS_io_uring_setup, 1, NULL); }
static long try_memfd(void) { return syscall(SYS_memfd_create, "x", 0); }
static long try_ioctl(void) { return syscall(SYS_ioctl, 0, 0x5412, "x"); }
static long try_dumpable(void)
{
	return syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}
static long try_setlimit(void)
{
	struct { unsigned long a, b; } l = { 0, 0 };

	return syscall(SYS_prlimit64, 0, 1, &l, NULL);
}
static long try_getlimit(void)
{
	struct { unsigned long a, b; } l;

	return syscall(SYS_prlimit64, 0, 1, NULL, &l);
}
static long try_setuid(void) { return syscall(SYS_setuid, 0); }
static long try_ftruncate(void) { return syscall(SYS_ftruncate, 0, 0); }
static long try_fallocate(void) { return syscall(SYS_fallocate, 0, 0, 0, 1); }
static long try_vm_write(void)
{
	return syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0);
}
static long try_kcmp(void) { return syscall(SYS_kcmp, 1, 1, 0, 0, 0); }
static long try_pidfd(void) { return syscall(SYS_pidfd_open, 1, 0); }
/* The root disk's descriptor is one of all machines. */
static long try_direct(void)
{
	return syscall(SYS_fcntl, 0, F_SETFL, O_RDONLY | O_DIRECT);
}
static long try_attach(void)
{
	return syscall(SYS_setsockopt, 0, SOL_SOCKET, SO_ATTACH_FILTER, "", 0);
}
static long try_nonblock(void)
{
	return syscall(SYS_fcntl, 0, F_SETFL, O_RDWR | O_NONBLOCK);
}
static long try_execute(void)
{
	return syscall(SYS_execve, "/nowhere", NULL, NULL);
}
static long try_unshare(void) { return syscall(SYS_unshare, CLONE_NEWNS); }
static long try_setresuid(void)
{
	return syscall(SYS_setresuid, 0, 0, 0);
}
static long try_capset(void) { return syscall(SYS_capset, NULL, NULL); }
static long try_seccomp(void) { return syscall(SYS_seccomp, 1, 0, NULL); }
static long try_epoll(void) { return syscall(SYS_epoll_ctl, 0, 1, 0, NULL); }
static long try_dup2(void) { return syscall(SYS_dup2, 0, 1); }

struct attempt {
	const char *name;
	long (*fn)(void);
	enum outcome outcome;
	int code;
};

/* A forked machine's: it has started already. */
static const struct attempt forked_attempts[] = {
	{ "opens a file to read", try_read, KILLED, 0 },
	{ "opens a device", try_device, KILLED, 0 },
	{ "executes", try_execute, KILLED, 0 },
	{ "maps memory of its own", try_private, WORKS, 0 },
	{ "maps shared memory", try_shared, KILLED, 0 },
	{ "asks for clone3", try_clone3, FAILS, ENOSYS },
	{ "forks", try_fork, KILLED, 0 },
	{ "makes a user namespace", try_userns, KILLED, 0 },
	{ "leaves its namespaces", try_unshare, KILLED, 0 },
	{ "makes a socket", try_socket, KILLED, 0 },
	{ "asks for io_uring", try_uring, KILLED, 0 },
	{ "asks for memory by descriptor", try_memfd, KILLED, 0 },
	{ "makes itself dumpable", try_dumpable, KILLED, 0 },
	{ "sets a limit", try_setlimit, KILLED, 0 },
	{ "reads a limit", try_getlimit, KILLED, 0 },
	{ "changes its user", try_setuid, KILLED, 0 },
	{ "takes up its first user again", try_setresuid, KILLED, 0 },
	{ "sets capabilities", try_capset, KILLED, 0 },
	{ "sets another filter", try_seccomp, KILLED, 0 },
	{ "makes others read past the cache", try_direct, KILLED, 0 },
	{ "does not want to wait", try_nonblock, WORKS, 0 },
	{ "doubles a descriptor", try_dup2, KILLED, 0 },
	{ "polls with a set", try_epoll, KILLED, 0 },
};

/* A relay's: all its sockets are given to it. */
static const struct attempt relay_attempts[] = {
	{ "opens a file to read", try_read, KILLED, 0 },
	{ "creates a file", try_create, KILLED, 0 },
	{ "opens a device", try_device, KILLED, 0 },
	{ "executes", try_execute, KILLED, 0 },
	{ "maps memory of its own", try_private, WORKS, 0 },
	{ "maps shared memory", try_shared, KILLED, 0 },
	{ "asks for clone3", try_clone3, KILLED, 0 },
	{ "forks", try_fork, KILLED, 0 },
	{ "leaves its namespaces", try_unshare, KILLED, 0 },
	{ "makes a socket", try_socket, KILLED, 0 },
	{ "connects", try_connect, KILLED, 0 },
	{ "binds a socket", try_bind, KILLED, 0 },
	{ "sends to an address", try_sendto, KILLED, 0 },
	{ "attaches a program to a socket", try_attach, KILLED, 0 },
	{ "signals a process", try_kill, KILLED, 0 },
	{ "traces", try_ptrace, KILLED, 0 },
	{ "asks for io_uring", try_uring, KILLED, 0 },
	{ "asks for memory by descriptor", try_memfd, KILLED, 0 },
	{ "sets a limit", try_setlimit, KILLED, 0 },
	{ "changes its user", try_setuid, KILLED, 0 },
	{ "sets another filter", try_seccomp, KILLED, 0 },
	{ "doubles a descriptor", try_dup2, KILLED, 0 },
};

/* A restored machine's, with the emulator. */
static const struct attempt attempts[] = {
	{ "opens a file to read", try_read, WORKS, 0 },
	{ "creates a file", try_create, KILLED, 0 },
	{ "opens a file to write", try_write, KILLED, 0 },
	{ "truncates a file", try_truncate, KILLED, 0 },
	{ "makes an unnamed file", try_tmpfile, KILLED, 0 },
	{ "opens a device", try_device, FAILS, EACCES },
	{ "maps memory of its own", try_private, WORKS, 0 },
	{ "maps shared memory", try_shared, KILLED, 0 },
	{ "maps shared memory the other way", try_validate, KILLED, 0 },
	{ "asks for clone3", try_clone3, FAILS, ENOSYS },
	{ "forks", try_fork, KILLED, 0 },
	{ "vforks", try_vfork, KILLED, 0 },
	{ "makes a user namespace", try_userns, KILLED, 0 },
	{ "makes a socket", try_socket, KILLED, 0 },
	{ "connects", try_connect, KILLED, 0 },
	{ "traces", try_ptrace, KILLED, 0 },
	{ "signals a process", try_kill, KILLED, 0 },
	{ "removes a file", try_unlink, KILLED, 0 },
	{ "renames a file", try_rename, KILLED, 0 },
	{ "mounts", try_mount, KILLED, 0 },
	{ "changes its root", try_chroot, KILLED, 0 },
	{ "loads BPF", try_bpf, KILLED, 0 },
	{ "asks for io_uring", try_uring, FAILS, ENOSYS },
	{ "asks for memory by descriptor", try_memfd, FAILS, ENOSYS },
	{ "puts a letter into a terminal", try_ioctl, FAILS, ENOTTY },
	{ "makes itself dumpable", try_dumpable, KILLED, 0 },
	{ "sets a limit", try_setlimit, KILLED, 0 },
	{ "reads a limit", try_getlimit, WORKS, 0 },
	{ "changes its user", try_setuid, KILLED, 0 },
	{ "shortens a file", try_ftruncate, KILLED, 0 },
	{ "punches a hole", try_fallocate, KILLED, 0 },
	{ "writes to another's memory", try_vm_write, KILLED, 0 },
	{ "compares processes", try_kcmp, KILLED, 0 },
	{ "asks for a process", try_pidfd, KILLED, 0 },
	{ "makes others read past the cache", try_direct, KILLED, 0 },
	{ "attaches a program to a socket", try_attach, KILLED, 0 },
	{ "does not want to wait", try_nonblock, WORKS, 0 },
	{ "doubles a descriptor", try_dup2, KILLED, 0 },
};

static int outcome_of(const struct sock_fprog *filter, long (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (syscall(SYS_seccomp, 1, 0, filter))
			syscall(SYS_exit_group, 200);
		syscall(SYS_exit_group, fn() < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void test_attempts_of(unsigned where, const char *who,
			     const struct attempt *list, size_t count)
{
	struct sock_fprog filter;

	is_int(jail_filter_make(where, &filter, NULL), 0,
	       "the filter of %s is made", who);
	for (size_t i = 0; i < count; i++) {
		const struct attempt *a = &list[i];
		int status = outcome_of(&filter, a->fn);

		if (a->outcome == KILLED)
			ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
			   "%s that %s is killed", who, a->name);
		else
			is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			       a->code, "%s that %s is answered", who, a->name);
	}
	free(filter.filter);
}

static void test_attempts(void)
{
	test_attempts_of(FILTER_TCG | FILTER_RESTORE, "a restored QEMU",
			 attempts, ARRAY_SIZE(attempts));
	test_attempts_of(FILTER_TCG | FILTER_FORK, "a forked QEMU",
			 forked_attempts, ARRAY_SIZE(forked_attempts));
	test_attempts_of(FILTER_TCG | FILTER_RELAY, "a relay", relay_attempts,
			 ARRAY_SIZE(relay_attempts));
}

/* Only the calls that its children's way down takes are more. */
static void test_zygote_filter(void)
{
	struct sock_fprog filter;

	is_int(jail_filter_make(FILTER_TCG | FILTER_ZYGOTE, &filter, NULL), 0,
	       "a zygote's filter is made");
	ok(WIFEXITED(outcome_of(&filter, try_clone3)),
	   "a zygote may make a process");
	ok(WIFSIGNALED(outcome_of(&filter, try_unshare)),
	   "it may not leave its own namespaces");
	ok(WIFSIGNALED(outcome_of(&filter, try_dumpable)),
	   "nor make itself dumpable");
	ok(WIFSIGNALED(outcome_of(&filter, try_socket)),
	   "it may not make a socket");
	ok(WIFSIGNALED(outcome_of(&filter, try_mount)), "nor mount");
	ok(WIFSIGNALED(outcome_of(&filter, try_ptrace)), "nor trace");
	ok(WIFSIGNALED(outcome_of(&filter, try_create)), "nor create a file");
	free(filter.filter);
}

static void test_kinds(void)
{
	static const unsigned kinds[] = {
		FILTER_TCG | FILTER_RESTORE, FILTER_TCG | FILTER_BOOT,
		FILTER_KVM | FILTER_RESTORE, FILTER_KVM | FILTER_BOOT,
	};
	struct sock_fprog filter;

	for (unsigned i = 0; i < 4; i++) {
		is_int(jail_filter_make(kinds[i], &filter, NULL), 0,
		       "filter %u is made", i);
		ok(filter.len > 50 && filter.len < 1000, "it has a sane length");
		/* only who makes a template may share memory with its file */
		if (kinds[i] & FILTER_BOOT)
			is_int(outcome_of(&filter, try_shared), 0,
			       "a boot may map its RAM's file");
		else
			ok(WIFSIGNALED(outcome_of(&filter, try_shared)),
			   "a restored machine may not");
		ok(WIFSIGNALED(outcome_of(&filter, try_socket)),
		   "none may make a socket");
		free(filter.filter);
	}
}

/* A processor of KVM's is a file that is mapped shared, to read and write. */
static void test_kvm_processor(void)
{
	struct sock_fprog kvm, tcg;
	int status;

	to_write = memfd_create("processor", 0);
	to_read = open("/proc/self/exe", O_RDONLY);
	if (ftruncate(to_write, 4096) < 0 ||
	    jail_filter_make(FILTER_KVM | FILTER_RESTORE, &kvm, NULL) < 0 ||
	    jail_filter_make(FILTER_TCG | FILTER_RESTORE, &tcg, NULL) < 0) {
		ok(false, "two filters and a file");
		return;
	}
	is_int(outcome_of(&kvm, try_shared_write), 0,
	       "a restored machine under KVM may map its processor");
	status = outcome_of(&kvm, try_shared_read);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, EACCES,
	       "a file that is open to read it may not map so");
	ok(WIFSIGNALED(outcome_of(&kvm, try_shared_code)),
	   "nor anything to execute it");
	ok(WIFSIGNALED(outcome_of(&tcg, try_shared_write)),
	   "the emulator has no use for it");
	free(kvm.filter);
	free(tcg.filter);
	close(to_write);
	close(to_read);
}

static void test_table(void)
{
	for (unsigned i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];

		ok(row->name[0] && row->where & (FILTER_TCG | FILTER_KVM) &&
			   row->where & (FILTER_BOOT | FILTER_RESTORE |
					 FILTER_ZYGOTE | FILTER_RELAY),
		   "%s is for some machine", row->name);
	}
}

/* The calls that each machine of the kind makes, under emulation. */
static void print_rows(unsigned kind, unsigned rare)
{
	for (unsigned i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];

		if (!(row->where & rare) && row->where & FILTER_TCG &&
		    row->where & kind)
			printf("%s\n", row->name);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "rows")) {
		print_rows(FILTER_RESTORE, FILTER_RARE);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "forked-rows")) {
		print_rows(FILTER_FORK, FILTER_FORK_RARE);
		return 0;
	}
	test_messages();
	test_descriptors();
	test_orphan();
	if (geteuid() == 0) /* the way down ends without its rights */
		test_layers();
	test_landlock();
	test_no_lease();
	test_most();
	test_no_zygote();
	test_bad_zygote();
	test_table();
	test_attempts();
	test_zygote_filter();
	test_kinds();
	test_kvm_processor();
	return done_testing();
}
