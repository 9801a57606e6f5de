# SPDX-License-Identifier: Apache-2.0
"""Names that lead to the kernel, the machine or other processes."""
import errno
import os
import stat

import hostile

NULL = os.makedev(1, 3)


def reads(path):
    """Opens it and reads a little: what came, or "empty"."""
    def attack():
        with open(path, "rb", buffering=0) as f:
            return "bytes" if f.read(64) else "empty"
    return attack


def writes(path, flags=os.O_WRONLY):
    """Opens it for writing; nothing is written."""
    def attack():
        os.close(os.open(path, flags))
    return attack


def lists(path):
    def attack():
        return "names" if os.listdir(path) else "empty"
    return attack


def covered(path):
    """Under a cover there is nothing, neither for reading nor writing."""
    def attack():
        info = os.stat(path)
        if not stat.S_ISCHR(info.st_mode) or info.st_rdev != NULL:
            return "uncovered"
        return reads(path)()
    return attack


def of_others(what, open_it):
    """The same of another process of the user."""
    return hostile.on_others(lambda pid: open_it("/proc/%d/%s" % (pid, what))())


def open_sockets(pid):
    """What a runner hears its job by."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        path = "/proc/%d/fd/%s" % (pid, fd)
        if os.readlink(path).startswith("socket:"):
            writes(path)()
    raise OSError(errno.ENOENT, "no socket")


def makes(path):
    def attack():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return attack


def node(kind, major, minor):
    def attack():
        os.mknod("/tmp/node", kind | 0o666, os.makedev(major, minor))
    return attack


def any_privileged_file():
    """Set-id files in what is mounted; none is the only good number."""
    found = 0
    for top in ("/usr", "/etc", "/var"):
        for folder, _, names in os.walk(top):
            for name in names:
                info = os.lstat(os.path.join(folder, name))
                found += stat.S_ISREG(info.st_mode) and bool(
                    info.st_mode & (stat.S_ISUID | stat.S_ISGID))
    return found


def mounts(option):
    """The mount points without the option."""
    def attack():
        with open("/proc/self/mounts") as f:
            rows = [line.split() for line in f]
        return " ".join(r[1] for r in rows
                        if option not in r[3].split(",")) or "none"
    return attack


def dev_nodes():
    return " ".join(sorted(
        name for name in os.listdir("/dev")
        if stat.S_ISCHR(os.lstat("/dev/" + name).st_mode) or
        stat.S_ISBLK(os.lstat("/dev/" + name).st_mode)))


def reopen():
    """A read-only descriptor of a file of root's, opened anew for writing."""
    fd = os.open("/etc/passwd", os.O_RDONLY)
    try:
        os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY))
    finally:
        os.close(fd)


def dotdot():
    """Out of the root by its parent."""
    same = os.path.samestat(os.stat("/.."), os.stat("/"))
    return "the root" if same else "elsewhere"


COVERED = ["/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys",
           "/proc/key-users", "/proc/timer_list", "/proc/interrupts",
           "/proc/iomem", "/proc/ioports", "/proc/slabinfo",
           "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/kpagecount",
           "/proc/kpageflags", "/sys/kernel/notes", "/sys/kernel/vmcoreinfo"]
EMPTY = ["/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing",
         "/sys/kernel/security", "/sys/kernel/btf", "/sys/kernel/slab",
         "/sys/fs/bpf", "/sys/fs/pstore", "/proc/acpi",
         "/proc/dynamic_debug"]
NO_NODES = ["/dev/mem", "/dev/kmem", "/dev/port", "/dev/vda", "/dev/vport0p1",
            "/dev/vport1p1", "/dev/virtio-ports", "/dev/hvc0", "/dev/console",
            "/dev/tty0", "/dev/ttyS0", "/dev/kvm", "/dev/fuse",
            "/dev/loop-control", "/dev/loop0", "/dev/userfaultfd",
            "/dev/vhost-vsock", "/dev/net/tun", "/dev/snapshot",
            "/dev/cpu/0/msr", "/dev/bpf", "/dev/uinput"]
SYSCTLS = ["kernel/core_pattern", "kernel/modprobe", "kernel/sysrq",
           "kernel/yama/ptrace_scope", "kernel/kptr_restrict",
           "kernel/randomize_va_space", "vm/overcommit_memory",
           "vm/drop_caches", "fs/suid_dumpable", "user/max_user_namespaces",
           "net/ipv4/ip_forward"]
SETTINGS = {  # those that a user may read
    "kernel/modules_disabled": "1", "kernel/dmesg_restrict": "1",
    "kernel/kptr_restrict": "2", "kernel/randomize_va_space": "2",
    "kernel/perf_event_paranoid": "3", "kernel/panic_on_oops": "1",
    "kernel/unprivileged_bpf_disabled": "1", "kernel/sysrq": "0",
    "kernel/unprivileged_userns_clone": "0", "kernel/modprobe": "",
    "kernel/kexec_load_disabled": "1", "kernel/yama/ptrace_scope": "1",
    "user/max_user_namespaces": "0", "vm/mmap_min_addr": "65536",
    "vm/unprivileged_userfaultfd": "0", "fs/suid_dumpable": "0",
    "net/mptcp/enabled": "0", "dev/tty/ldisc_autoload": "0",
}


def setting(name):
    def attack():
        with open("/proc/sys/" + name) as f:
            return f.read().strip()
    return attack


ROWS = [
    ("setting " + p, "finds " + p.replace("/", ".") + " at another value",
     value, setting(p)) for p, value in SETTINGS.items()
] + [
    ("read " + p, "opens " + p, "ENOENT", reads(p)) for p in NO_NODES
] + [
    ("read " + p, "reads " + p, "empty", covered(p)) for p in COVERED
] + [
    ("list " + p, "lists " + p, "empty", lists(p)) for p in EMPTY
] + [
    ("write sysctl " + p, "sets " + p.replace("/", "."), "EACCES",
     writes("/proc/sys/" + p)) for p in SYSCTLS
] + [
    ("write /dev/kmsg", "writes into the kernel's words", "EACCES",
     writes("/dev/kmsg")),
    ("read /dev/kmsg", "reads the kernel's words", "EACCES",
     reads("/dev/kmsg")),
    ("write /dev/urandom", "adds to the kernel's random numbers", "EACCES",
     writes("/dev/urandom")),
    ("write sysrq", "asks for a crash", "EACCES",
     writes("/proc/sysrq-trigger")),
    ("see PID 1", "sees PID 1 in /proc", "ENOENT",
     lambda: os.stat("/proc/1") and None),
    ("PID 1 environ", "reads PID 1's environment", "ENOENT",
     reads("/proc/1/environ")),
    ("PID 1 mem", "opens PID 1's memory", "ENOENT", reads("/proc/1/mem")),
    ("PID 1 root", "goes by PID 1's root", "ENOENT", lists("/proc/1/root/")),
    ("PID 1 fd", "lists PID 1's descriptors", "ENOENT", lists("/proc/1/fd")),
    ("PID 1 oom", "makes PID 1 the first to be killed", "ENOENT",
     writes("/proc/1/oom_score_adj")),
    ("others' mem", "opens other runners' memory", "EACCES",
     of_others("mem", reads)),
    ("others' mem, writing", "opens other runners' memory for writing",
     "EACCES", of_others("mem", writes)),
    ("others' syscall", "sees what other runners are at", "EPERM",
     of_others("syscall", reads)),
    ("others' sockets", "opens other runners' control sockets", "ENXIO",
     hostile.on_others(open_sockets)),
    ("list cgroups", "lists the control groups", "EACCES",
     lists("/sys/fs/cgroup")),
    ("write cgroup.procs", "leaves its control group", "EACCES",
     writes("/sys/fs/cgroup/cgroup.procs")),
    ("write memory.max", "raises its memory", "EACCES",
     writes("/sys/fs/cgroup/job-python/memory.max")),
    ("write pids.max", "raises its processes", "EACCES",
     writes("/sys/fs/cgroup/job-python/pids.max")),
    ("write cgroup.kill", "kills another group", "EACCES",
     writes("/sys/fs/cgroup/job-node/cgroup.kill")),
    ("write sysfs", "switches a processor off", "EROFS",
     writes("/sys/devices/system/cpu/cpu0/power/control")),
    ("write thp", "changes the huge pages", "EROFS",
     writes("/sys/kernel/mm/transparent_hugepage/enabled")),
    ("read shadow", "reads /etc/shadow", "EACCES", reads("/etc/shadow")),
    ("write passwd", "writes /etc/passwd", "EACCES", writes("/etc/passwd")),
    ("reopen passwd", "opens a descriptor of it anew for writing", "EACCES",
     reopen),
    ("write python", "writes the interpreter", "EACCES",
     writes("/usr/bin/python3.13")),
    ("make in /", "makes a file in /", "EACCES", makes("/evil")),
    ("make in /usr", "makes a file in /usr/bin", "EACCES",
     makes("/usr/bin/evil")),
    ("make in /etc", "makes a file in /etc", "EACCES", makes("/etc/evil")),
    ("make in /dev", "makes a file in /dev", "EROFS", makes("/dev/evil")),
    ("make in /run", "makes a file in /run", "EACCES", makes("/run/evil")),
    ("make in runners", "makes a module among the runners", "EACCES",
     makes("/usr/lib/fsd/runners/python/evil.py")),
    ("unlink", "removes the runners' module", "EACCES",
     lambda: os.unlink("/usr/lib/fsd/runners/python/sitecustomize.py")),
    ("rename", "renames /etc", "EACCES", lambda: os.rename("/home", "/etc2")),
    ("chmod", "makes /usr/bin writable", "EPERM",
     lambda: os.chmod("/usr/bin", 0o777)),
    ("hard link", "links a file of root's into its home", "EXDEV",
     lambda: os.link("/etc/shadow", "/home/user/shadow")),
    ("mknod vda", "makes a node of the root disk", "EPERM",
     node(stat.S_IFBLK, 254, 0)),
    ("mknod mem", "makes a node of the memory", "EPERM",
     node(stat.S_IFCHR, 1, 1)),
    ("mknod vport", "makes a node of the port to the host", "EPERM",
     node(stat.S_IFCHR, 246, 1)),
    ("run in shm", "runs a file in /dev/shm", "EACCES", lambda: run_in_shm()),
    ("root's parent", "leaves the root by ..", "the root", dotdot),
    ("nosuid", "finds a mount that honours set-id bits", "none",
     mounts("nosuid")),
    ("set-id files", "finds set-id files", "0", any_privileged_file),
    ("nodes", "finds other device nodes",
     "full kmsg null random tty urandom zero", dev_nodes),
    ("inodes of home", "has a home without a limit of files", "204800",
     lambda: os.statvfs("/home/user").f_files),
    ("inodes of tmp", "has a /tmp without a limit of files", "102400",
     lambda: os.statvfs("/tmp").f_files),
    ("inodes of shm", "has a /dev/shm without a limit of files", "20480",
     lambda: os.statvfs("/dev/shm").f_files),
]


def run_in_shm():
    with open("/dev/shm/x", "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod("/dev/shm/x", 0o755)
    try:
        if os.fork() == 0:
            try:
                os.execv("/dev/shm/x", ["x"])
            except OSError as e:
                os._exit(e.errno)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.wait()[1])
        if code:
            raise OSError(code, "")
    finally:
        os.unlink("/dev/shm/x")


if __name__ == "__main__":
    hostile.run(ROWS)
