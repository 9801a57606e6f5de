/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks that an interpreter would hide or not survive: other ABIs, single
 * instructions, traced system calls, filters above the filter. Static, because
 * it runs in the guest as a job's input. Each in a process of its own; a line
 * "name<TAB>outcome" tells each outcome: ok, an errno's or a signal's name, or
 * a number. What is expected stands in table.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 100
#define X32 0x40000000
#define NAMES_MAX 200000
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Each returns 0 or more, or a negative errno; or a signal ends it. */
struct attack {
	const char *name;
	long (*run)(void);
};

static long result(long r)
{
	return r < 0 ? -errno : r;
}

/* --- other ABIs ---------------------------------------------------------- */

static long int80(long number)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(number), "b"(0), "c"(0), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static long i386_getpid(void)
{
	return int80(20);
}

static long i386_mount(void)
{
	return int80(21);
}

static long x32_getpid(void)
{
	return result(syscall(X32 | SYS_getpid));
}

static long x32_bpf(void)
{
	return result(syscall(X32 | SYS_bpf, 0, 0, 0));
}

static long vsyscall(void)
{
	long (*at)(void *) = (long (*)(void *))0xffffffffff600400ul;

	return at(NULL);
}

static long no_such_call(void)
{
	return result(syscall(-1));
}

/* --- instructions -------------------------------------------------------- */

static long out_instruction(void)
{
	__asm__ volatile("outb %%al, $0x80" : : "a"(0));
	return 0;
}

static long cli_instruction(void)
{
	__asm__ volatile("cli");
	return 0;
}

static long hlt_instruction(void)
{
	__asm__ volatile("hlt");
	return 0;
}

static long rdmsr_instruction(void)
{
	unsigned low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(0xc0000082));
	return low;
}

static long write_cr0(void)
{
	__asm__ volatile("mov %0, %%cr0" : : "r"(0ul));
	return 0;
}

static long read_kernel(void)
{
	return *(volatile long *)0xffffffff81000000ul;
}

/* --- memory -------------------------------------------------------------- */

static long map_page_zero(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return at == MAP_FAILED ? -errno : 0;
}

/* What is written to one's own copy of a file's page stays there. */
static long write_through_memory(void)
{
	int fd = open("/bin/true", O_RDONLY), mem = open("/proc/self/mem", O_RDWR);
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char first = 0;

	if (fd < 0 || mem < 0 || at == MAP_FAILED)
		return -errno;
	if (pwrite(mem, "X", 1, (off_t)(uintptr_t)at) != 1)
		return -errno;
	if (pread(fd, &first, 1, 0) != 1)
		return -errno;
	return first != 0x7f; /* of an ELF file */
}

static long map_shared_writable(void)
{
	int fd = open("/bin/true", O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? -errno : 0;
}

static long down(long depth)
{
	volatile char big[1 << 16];

	big[0] = 1;
	return depth ? down(depth - 1) + big[0] : 0;
}

static long overflow_stack(void)
{
	return down(1 << 20);
}

/* --- past the filter ----------------------------------------------------- */

/* A tracer turns its child's harmless call into another one. */
static long swap_call(long number)
{
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(syscall(SYS_getppid) < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status))
		return -ECHILD;
	while (WIFSTOPPED(status)) {
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		waitpid(pid, &status, 0);
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_GETREGS, pid, 0, &regs);
		if (regs.orig_rax != SYS_getppid)
			continue;
		regs.orig_rax = (unsigned long)number;
		regs.rdi = CLONE_NEWUSER;
		ptrace(PTRACE_SETREGS, pid, 0, &regs);
	}
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static long traced_bpf(void)
{
	return swap_call(SYS_bpf);
}

static long traced_unshare(void)
{
	return swap_call(SYS_unshare);
}

static long traced_mount(void)
{
	return swap_call(SYS_mount);
}

/* A filter of one's own that answers getppid's place with what is asked. */
static long put_filter(int number, unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_SIZE(code), code};

	return result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			      &program));
}

static long allow_above(void)
{
	long r = put_filter(SYS_unshare, SECCOMP_RET_ALLOW, 0);

	return r < 0 ? r : result(unshare(CLONE_NEWUSER));
}

/* Tells the kernel to go on with the call that it has asked about. */
static void go_on(int fd)
{
	struct seccomp_notif call = {0};
	struct seccomp_notif_resp answer = {
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	answer.id = call.id;
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* A filter that asks another process, which lets the call through. */
static long continue_above(void)
{
	int status, fd = (int)put_filter(SYS_unshare, SECCOMP_RET_USER_NOTIF,
					 SECCOMP_FILTER_FLAG_NEW_LISTENER);
	struct pollfd asked = {.fd = fd, .events = POLLIN};
	pid_t pid;

	if (fd < 0)
		return fd;
	pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) ? errno : 0);
	while (waitpid(pid, &status, WNOHANG) == 0)
		if (poll(&asked, 1, 10) > 0)
			go_on(fd);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static long strict_mode(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		return -errno;
	return 0;
}

/* --- namespaces and roots ------------------------------------------------ */

static long raw_clone(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return result(pid) < 0 ? -errno : 0;
}

static long clone_user(void)
{
	return raw_clone(CLONE_NEWUSER);
}

static long clone_all(void)
{
	return raw_clone(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

static int in_stack(void *unused)
{
	(void)unused;
	return 0;
}

static long library_clone(void)
{
	static char stack[16384] __attribute__((aligned(64)));

	return result(clone(in_stack, stack + sizeof(stack),
			    CLONE_NEWUSER | SIGCHLD, NULL));
}

/* The way out of a chroot that is not one's own root. */
static long chroot_escape(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	mkdir("/tmp/jail", 0700);
	if (chroot("/tmp/jail"))
		return -errno;
	fchdir(fd);
	for (int i = 0; i < 20; i++)
		if (chdir(".."))
			return -errno;
	return result(chroot("."));
}

static long mount_over(void)
{
	return result(mount("/tmp", "/usr/bin", NULL, MS_BIND, NULL));
}

static long write_core_pattern(void)
{
	int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);

	return fd < 0 ? -errno : result(write(fd, "|/tmp/x", 7));
}

static long write_uid_map(void)
{
	int fd = open("/proc/self/uid_map", O_WRONLY);

	return fd < 0 ? -errno : result(write(fd, "0 1000 1", 8));
}

/* --- privileges by exec --------------------------------------------------- */

static int copy_self(const char *path, mode_t mode)
{
	char bytes[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	if (from < 0 || to < 0)
		return -errno;
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return -errno;
	close(from);
	close(to);
	return chmod(path, mode) ? -errno : 0;
}

/* The uid that a set-id copy of this program has in effect. */
static long run_set_id(mode_t mode)
{
	int status, r = copy_self("/tmp/set-id", mode);
	pid_t pid;

	if (r)
		return r;
	pid = fork();
	if (pid == 0) {
		execl("/tmp/set-id", "set-id", "whoami", (char *)NULL);
		_exit(255);
	}
	waitpid(pid, &status, 0);
	unlink("/tmp/set-id");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

static long run_set_uid(void)
{
	return run_set_id(04755);
}

static long run_set_gid(void)
{
	return run_set_id(02755);
}

static long give_set_uid_to_root(void)
{
	int r = copy_self("/tmp/set-root", 0755);

	if (!r && chown("/tmp/set-root", 0, 0))
		r = -errno;
	unlink("/tmp/set-root");
	return r;
}

static long trace_init(void)
{
	return result(ptrace(PTRACE_ATTACH, 1, 0, 0));
}

static long init_memory(void)
{
	int fd = open("/proc/1/mem", O_RDWR);

	return fd < 0 ? -errno : 0;
}

static long kill_init(void)
{
	return result(kill(1, SIGKILL));
}

static long queue_to_init(void)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = -1;
	return result(syscall(SYS_rt_sigqueueinfo, 1, SIGTERM, &info));
}

static long dump_core(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setrlimit(RLIMIT_CORE, &all))
			_exit(1);
		abort();
	}
	waitpid(pid, &status, 0);
	return !WIFSIGNALED(status) || WCOREDUMP(status);
}

/* --- many ---------------------------------------------------------------- */

/* Names in dir until its file system has no more; they stay. */
static long fill_names(const char *dir)
{
	long e = 0;
	char name[32];
	int at;

	mkdir(dir, 0700);
	at = open(dir, O_RDONLY | O_DIRECTORY);
	for (long count = 0; !e && count < NAMES_MAX; count++) {
		snprintf(name, sizeof(name), "%ld", count);
		if (mknodat(at, name, S_IFREG | 0600, 0))
			e = -errno;
	}
	close(at);
	return e;
}

static long fill_tmp(void)
{
	return fill_names("/tmp/names");
}

static const struct attack attacks[] = {
	{"int80 getpid", i386_getpid},
	{"int80 mount", i386_mount},
	{"x32 getpid", x32_getpid},
	{"x32 bpf", x32_bpf},
	{"vsyscall", vsyscall},
	{"call -1", no_such_call},
	{"outb", out_instruction},
	{"cli", cli_instruction},
	{"hlt", hlt_instruction},
	{"rdmsr", rdmsr_instruction},
	{"cr0", write_cr0},
	{"kernel address", read_kernel},
	{"page zero", map_page_zero},
	{"private page", write_through_memory},
	{"shared page", map_shared_writable},
	{"stack", overflow_stack},
	{"traced bpf", traced_bpf},
	{"traced unshare", traced_unshare},
	{"traced mount", traced_mount},
	{"allow above", allow_above},
	{"continue above", continue_above},
	{"strict mode", strict_mode},
	{"clone user", clone_user},
	{"clone all", clone_all},
	{"library clone", library_clone},
	{"chroot escape", chroot_escape},
	{"mount over", mount_over},
	{"core pattern", write_core_pattern},
	{"uid map", write_uid_map},
	{"set-uid copy", run_set_uid},
	{"set-gid copy", run_set_gid},
	{"set-uid root", give_set_uid_to_root},
	{"trace init", trace_init},
	{"init memory", init_memory},
	{"kill init", kill_init},
	{"queue to init", queue_to_init},
	{"core", dump_core},
	{"names in /tmp", fill_tmp},
};

static void tell(const char *name, int status, long r)
{
	if (WIFSIGNALED(status))
		printf("%s\tSIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
	else if (r < 0)
		printf("%s\t%s\n", name, strerrorname_np((int)-r));
	else if (r == 0)
		printf("%s\tok\n", name);
	else
		printf("%s\t%ld\n", name, r);
	fflush(stdout);
}

static void attack(const struct attack *a)
{
	int ends[2], status;
	long r = -EPIPE;
	pid_t pid;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		r = a->run();
		_exit(write(ends[1], &r, sizeof(r)) != (ssize_t)sizeof(r));
	}
	close(ends[1]);
	if (read(ends[0], &r, sizeof(r)) != (ssize_t)sizeof(r))
		r = -EPIPE;
	close(ends[0]);
	waitpid(pid, &status, 0);
	tell(a->name, status, r);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "whoami"))
		return geteuid() == 1000 && getegid() == 1000 ? 0 : 1;
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++)
		attack(&attacks[i]);
	return 0;
}
