# SPDX-License-Identifier: Apache-2.0
"""What the attacks have in common; lies beside each program in its job.

An attack is a row: (name, sentence, the only good outcome, function). An
outcome is "ok", what the function returned, the name of its errno, the name of
another exception, or of the signal that ended it.
"""
import ctypes
import errno
import os
import signal
import socket
import sys

# x86-64, from the kernel's table: a name in a library may be a way around.
NUMBERS = {
    "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "ptrace": 101,
    "syslog": 103, "setuid": 105, "capset": 126, "personality": 135,
    "vhangup": 153, "modify_ldt": 154, "pivot_root": 155, "prctl": 157,
    "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
    "set_robust_list": 273, "vmsplice": 278, "perf_event_open": 298,
    "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "seccomp": 317, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323, "rseq": 334, "pidfd_send_signal": 424,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443,
}

HIGH = 1 << 32  # a bit that the kernel ignores where it takes an int
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """The raw system call; OSError, or what it returned."""
    raw = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    raw += [ctypes.c_long(0)] * (6 - len(raw))
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(NUMBERS[name]), *raw)
    if r < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return r


def denied(name, *args):
    """The call as an attack that is good for nothing else."""
    def attack():
        call(name, *args)
    return attack


def is_runner(pid):
    """One that waits for another language, and is not ending. What has this
    program's own memory is this program, by whatever number; what has lost
    its memory can be opened, and there is nothing."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            parent = int(f.read().rpartition(")")[2].split()[1])
        return parent != os.getpid() and os.readlink(
            "/proc/%d/exe" % pid) != os.readlink("/proc/self/exe")
    except OSError:
        return False


def runners():
    """Those of this user; two seconds after the program's start they end."""
    return sorted(int(name) for name in os.listdir("/proc")
                  if name.isdigit() and is_runner(int(name)))


def stranger():
    """A process like those, which stays: nobody's child but PID 1's."""
    ours, theirs = socket.socketpair()
    middle = os.fork()
    if not middle:
        if not os.fork():
            theirs.send(b"%d" % os.getpid())
            signal.pause()
        os._exit(0)
    os.waitpid(middle, 0)
    theirs.close()
    return int(ours.recv(20)), ours


def on_others(attack_on):
    """What comes of it on a stranger; if it comes off on a runner, that."""
    def attack():
        for pid in runners():
            got = outcome(lambda: attack_on(pid))
            if got not in errno.errorcode.values() and is_runner(pid):
                return "a runner: " + got
        pid, held = stranger()
        try:
            return outcome(lambda: attack_on(pid))
        finally:
            os.kill(pid, signal.SIGKILL)
            held.close()
    return attack


def outcome(attack):
    try:
        got = attack()
    except OSError as e:
        return errno.errorcode.get(e.errno, repr(e))
    except BaseException as e:
        return type(e).__name__
    return "ok" if got is None else str(got)


def in_child(attack, seconds=20):
    """The attack in a process of its own, so that its end is its own."""
    def guarded():
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(seconds)
            os.write(theirs, outcome(attack).encode())
            os._exit(0)
        os.close(theirs)
        said = b""
        while more := os.read(ours, 4096):
            said += more
        os.close(ours)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return signal.Signals(-code).name if code < 0 else said.decode()
    return guarded


def run(rows):
    for name, _, _, attack in rows:
        sys.stdout.write("%s\t%s\n" % (name, outcome(attack)))
        sys.stdout.flush()
