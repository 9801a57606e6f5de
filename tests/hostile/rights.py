# SPDX-License-Identifier: Apache-2.0
"""Rights that a program has not and tries to get, and processes that are not
its own."""
import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct

import hostile
from hostile import call, denied, in_child, on_others

PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_SET_SECUREBITS = 23, 27, 28
PR_SET_MM, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 35, 38, 47
PR_SET_SECCOMP = 22
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
INFINITY = resource.RLIM_INFINITY


def raises(limit):
    """Raises the hard limit by one."""
    def attack():
        _, hard = resource.getrlimit(limit)
        if hard == INFINITY:
            return "unlimited"
        resource.setrlimit(limit, (hard, hard + 1))
    return attack


def capset(bit):
    def attack():
        head = struct.pack("<Ii", 0x20080522, 0)
        data = struct.pack("<6I", 1 << bit, 1 << bit, 0, 0, 0, 0)
        call("capset", ctypes.create_string_buffer(head, len(head)),
             ctypes.create_string_buffer(data, len(data)))
    return attack


def status(field):
    def attack():
        with open("/proc/self/status") as f:
            for line in f:
                name, _, value = line.partition(":")
                if name == field:
                    return " ".join(value.split()) or "none"
        return "unknown"
    return attack


def peek(pid):
    local = ctypes.create_string_buffer(8)
    mine = struct.pack("<QQ", ctypes.addressof(local), 8)
    its = struct.pack("<QQ", 0x400000, 8)
    call("process_vm_readv", pid, ctypes.create_string_buffer(mine, 16), 1,
         ctypes.create_string_buffer(its, 16), 1, 0)


def poke(pid):
    local = ctypes.create_string_buffer(8)
    mine = struct.pack("<QQ", ctypes.addressof(local), 8)
    its = struct.pack("<QQ", 0x400000, 8)
    call("process_vm_writev", pid, ctypes.create_string_buffer(mine, 16), 1,
         ctypes.create_string_buffer(its, 16), 1, 0)


def steal(pid):
    """A descriptor of another process."""
    fd = call("pidfd_open", pid, 0)
    try:
        os.close(call("pidfd_getfd", fd, 1, 0))
    finally:
        os.close(fd)


def advise(pid):
    fd = call("pidfd_open", pid, 0)
    try:
        one = struct.pack("<QQ", 0x400000, 4096)
        call("process_madvise", fd, ctypes.create_string_buffer(one, 16), 1,
             21, 0)
    finally:
        os.close(fd)


def signal_by_pidfd():
    fd = call("pidfd_open", 1, 0)
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    finally:
        os.close(fd)


def every_signal_to_init():
    """All of them, by kill and by queue: each must be refused alike."""
    answers = set()
    for number in list(range(1, 65)):
        answers.add(hostile.outcome(lambda: os.kill(1, number)))
    return " ".join(sorted(answers))


def still_denied_after_exec():
    """A program that is started anew has the filter still."""
    code = ("import ctypes; l = ctypes.CDLL(None, use_errno=True);"
            "l.syscall(321, 0, 0, 0); print(ctypes.get_errno())")
    with os.popen("/usr/bin/python3 -S -c '%s'" % code) as f:
        return f.read().strip()


def low_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 80))


def ping():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).close()


def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()


def interface_down():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0))


def lock_memory():
    libc = hostile.libc
    size = 1 << 20
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, 0)
    if libc.mlock(ctypes.c_void_p(at), ctypes.c_size_t(size)):
        raise OSError(ctypes.get_errno(), "")


def bounding_set():
    """How many capabilities a set-id program could still give."""
    return sum(call("prctl", PR_CAPBSET_READ, bit) for bit in range(41))


def give_file_capability():
    open("/tmp/capable", "w").close()
    os.setxattr("/tmp/capable", "security.capability",
                struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))


def protect_from_oom():
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("-1000")


def weaken_filter():
    """A filter that allows everything, put above the one that is there."""
    allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(allow, 8)
    program = struct.pack("<HxxxxxxQ", 1, ctypes.addressof(code))
    call("seccomp", 1, 0, ctypes.create_string_buffer(program, 16))
    call("bpf", 0, 0, 0)


ROWS = [
    ("setuid", "becomes uid 0", "EPERM", lambda: os.setuid(0)),
    ("setresuid", "becomes uid 0 in all three", "EPERM",
     lambda: os.setresuid(0, 0, 0)),
    ("seteuid", "becomes uid 0 in effect", "EPERM", lambda: os.seteuid(0)),
    ("setgid", "becomes gid 0", "EPERM", lambda: os.setgid(0)),
    ("setgroups", "joins the group of disks", "EPERM",
     lambda: os.setgroups([6])),
    ("setuid raw", "becomes uid 0 without a library", "EPERM",
     denied("setuid", 0)),
    ("uids", "has another uid somewhere", "1000 1000 1000 1000",
     status("Uid")),
    ("gids", "has another gid somewhere", "1000 1000 1000 1000",
     status("Gid")),
    ("groups", "is in a further group", "none", status("Groups")),
    ("CapInh", "inherits a capability", "0000000000000000", status("CapInh")),
    ("CapPrm", "is permitted a capability", "0000000000000000",
     status("CapPrm")),
    ("CapEff", "has a capability", "0000000000000000", status("CapEff")),
    ("CapBnd", "could get a capability by exec", "0000000000000000",
     status("CapBnd")),
    ("CapAmb", "keeps a capability over exec", "0000000000000000",
     status("CapAmb")),
    ("NoNewPrivs", "could get privileges by exec", "1", status("NoNewPrivs")),
    ("Seccomp", "has no filter", "2", status("Seccomp")),
    ("bounding set", "has something in the bounding set", "0", bounding_set),
    ("securebits", "has a root that is more than a user", "239",
     lambda: call("prctl", PR_GET_SECUREBITS)),
    ("set securebits", "changes its securebits", "EPERM",
     denied("prctl", PR_SET_SECUREBITS, 0)),
    ("capset SYS_ADMIN", "takes CAP_SYS_ADMIN", "EPERM", capset(21)),
    ("capset SETUID", "takes CAP_SETUID", "EPERM", capset(7)),
    ("ambient", "raises an ambient capability", "EPERM",
     denied("prctl", PR_CAP_AMBIENT, 2, 21, 0, 0)),
    ("new privileges", "takes no_new_privs back", "EINVAL",
     denied("prctl", PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)),
    ("seccomp off", "switches its filter off", "EINVAL",
     denied("prctl", PR_SET_SECCOMP, 0)),
    ("seccomp above", "puts a filter that allows all above it", "EPERM",
     in_child(weaken_filter)),
    ("after exec", "runs another program for bpf", "1",
     still_denied_after_exec),
    ("PR_SET_MM", "moves its own program's bounds", "EPERM",
     denied("prctl", PR_SET_MM, 1, 0, 0, 0)),
    ("file capability", "gives a file a capability", "EPERM",
     give_file_capability),
    ("chown", "gives a file to root", "EPERM",
     lambda: os.chown("/home/user", 0, 0)),
    ("trusted xattr", "writes a trusted attribute", "EPERM",
     lambda: os.setxattr("/home/user", "trusted.x", b"")),
    ("RLIMIT_NPROC", "raises its number of processes", "ValueError",
     raises(resource.RLIMIT_NPROC)),
    ("RLIMIT_NOFILE", "raises its number of files", "ValueError",
     raises(resource.RLIMIT_NOFILE)),
    ("RLIMIT_MEMLOCK", "raises its locked memory", "ValueError",
     raises(resource.RLIMIT_MEMLOCK)),
    ("RLIMIT_NICE", "raises its niceness' limit", "ValueError",
     raises(resource.RLIMIT_NICE)),
    ("RLIMIT_RTPRIO", "raises its real-time priority's limit", "ValueError",
     raises(resource.RLIMIT_RTPRIO)),
    ("prlimit init", "changes PID 1's limits", "PermissionError",
     lambda: name_of(lambda: resource.prlimit(
         1, resource.RLIMIT_NOFILE, (1, 1)))),
    ("mlock", "locks a MiB of memory", "ENOMEM", lock_memory),
    ("nice", "takes a higher priority", "EACCES",
     lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)),
    ("renice init", "gives PID 1 a lower priority", "EPERM",
     lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)),
    ("SCHED_FIFO", "takes the processor for itself", "EPERM",
     lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
    ("init's affinity", "moves PID 1", "EPERM",
     lambda: os.sched_setaffinity(1, {0})),
    ("oom_score_adj", "is never to be killed for memory", "EACCES",
     protect_from_oom),
    ("kill init", "kills PID 1", "EPERM",
     lambda: os.kill(1, signal.SIGKILL)),
    ("signals to init", "sends PID 1 every signal", "EPERM",
     every_signal_to_init),
    ("pidfd init", "kills PID 1 by a descriptor", "EPERM", signal_by_pidfd),
    ("attach to init", "traces PID 1", "EPERM",
     denied("ptrace", PTRACE_ATTACH, 1, 0, 0)),
    ("seize init", "traces PID 1 without stopping it", "EPERM",
     denied("ptrace", PTRACE_SEIZE, 1, 0, 0)),
    ("read init", "reads PID 1's memory", "EPERM", lambda: peek(1)),
    ("write init", "writes PID 1's memory", "EPERM", lambda: poke(1)),
    ("init's descriptors", "takes a descriptor of PID 1's", "EPERM",
     lambda: steal(1)),
    ("kcmp init", "compares itself to PID 1", "EPERM",
     denied("kcmp", 1, os.getpid(), 1, 0, 0)),
    ("attach to others", "traces other runners", "EPERM",
     on_others(lambda pid: call("ptrace", PTRACE_SEIZE, pid, 0, 0))),
    ("read others", "reads other runners' memory", "EPERM", on_others(peek)),
    ("write others", "writes other runners' memory", "EPERM",
     on_others(poke)),
    ("others' descriptors", "takes other runners' descriptors", "EPERM",
     on_others(steal)),
    ("advise others", "has other runners' memory swapped out", "EPERM",
     on_others(advise)),
    ("low port", "serves port 80", "EACCES", low_port),
    ("raw socket", "makes a raw socket", "EPERM", raw_socket),
    ("ping socket", "makes a socket for pings", "EACCES", ping),
    ("lo down", "takes the loopback down", "EPERM", interface_down),
    ("network", "reaches another host", "ENETUNREACH",
     lambda: socket.create_connection(("192.0.2.1", 80), 5)),
]


def name_of(attack):
    """The exception itself: resource does not tell an errno."""
    try:
        attack()
    except Exception as e:
        return type(e).__name__


if __name__ == "__main__":
    hostile.run(ROWS)
