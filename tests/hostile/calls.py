# SPDX-License-Identifier: Apache-2.0
"""System calls that the filter denies, made without a library in between."""
import ctypes
import os
import pty
import signal

import hostile
from hostile import HIGH, call, denied

CLONE_NEW = {
    "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000,
    "NEWIPC": 0x8000000, "NEWUSER": 0x10000000, "NEWPID": 0x20000000,
    "NEWNET": 0x40000000,
}
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
AF_UNIX, AF_INET, AF_NETLINK = 1, 2, 16
FAMILIES = {
    "AX25": 3, "IPX": 4, "APPLETALK": 5, "NETROM": 6, "X25": 9, "KEY": 15,
    "PACKET": 17, "RDS": 21, "LLC": 26, "CAN": 29, "TIPC": 30,
    "BLUETOOTH": 31, "RXRPC": 33, "PHONET": 35, "IEEE802154": 36,
    "CAIF": 37, "ALG": 38, "NFC": 39, "VSOCK": 40, "KCM": 41, "QIPCRTR": 42,
    "SMC": 43, "XDP": 44, "MCTP": 45,
}
NETLINKS = {"SOCK_DIAG": 4, "XFRM": 6, "AUDIT": 9, "NETFILTER": 12,
            "KOBJECT_UEVENT": 15, "GENERIC": 16, "CRYPTO": 21}


def path(text):
    return ctypes.c_char_p(text.encode())


def clone(flags):
    """As fork, with the flags."""
    def attack():
        pid = call("clone", flags | signal.SIGCHLD)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return attack


def clone3():
    args = (ctypes.c_uint64 * 11)(CLONE_NEW["NEWUSER"], 0, 0, 0,
                                  signal.SIGCHLD)
    if call("clone3", ctypes.byref(args), 88) == 0:
        os._exit(0)


def type_on_terminal(request):
    """On a terminal of one's own, where a kernel would allow it."""
    def attack():
        pid, fd = pty.fork()
        if pid == 0:
            key = ctypes.create_string_buffer(b"x")
            got = hostile.outcome(denied("ioctl", 0, request,
                                         ctypes.byref(key)))
            os.write(1, b"<%s>" % got.encode())
            os._exit(0)
        said = b""
        while b">" not in said:
            said += os.read(fd, 100)
        os.waitpid(pid, 0)
        return said.partition(b"<")[2].partition(b">")[0].decode()
    return attack


def handle():
    call("name_to_handle_at", -100, path("/etc/passwd"),
         ctypes.create_string_buffer(b"\x80\0\0\0" + bytes(200)),
         ctypes.byref(ctypes.c_int()), 0)


ROWS = [
    ("bpf", "loads a program into the kernel", "EPERM",
     denied("bpf", 5, ctypes.create_string_buffer(128), 128)),
    ("bpf_map", "makes a map of bpf", "EPERM",
     denied("bpf", 0, ctypes.create_string_buffer(128), 128)),
    ("io_uring_setup", "makes an io_uring", "ENOSYS",
     denied("io_uring_setup", 8, ctypes.create_string_buffer(128))),
    ("io_uring_enter", "enters an io_uring", "ENOSYS",
     denied("io_uring_enter", 0, 1, 1)),
    ("io_uring_register", "registers with an io_uring", "ENOSYS",
     denied("io_uring_register", 0)),
    ("userfaultfd", "holds the kernel up in page faults", "ENOSYS",
     denied("userfaultfd", 0)),
    ("userfaultfd_user", "does so in user mode only", "ENOSYS",
     denied("userfaultfd", 1)),
    ("perf_event_open", "counts the kernel's events", "EPERM",
     denied("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1,
            0)),
    ("lookup_dcookie", "asks for a profiler's path", "EPERM",
     denied("lookup_dcookie", 1, ctypes.create_string_buffer(64), 64)),
    ("init_module", "loads a module", "EPERM",
     denied("init_module", path("x"), 1, path(""))),
    ("finit_module", "loads a module from a file", "EPERM",
     denied("finit_module", 0, path(""), 0)),
    ("delete_module", "unloads a module", "EPERM",
     denied("delete_module", path("erofs"), 0)),
    ("kexec_load", "boots another kernel", "EPERM",
     denied("kexec_load", 0, 0, 0, 0)),
    ("kexec_file_load", "boots another kernel from a file", "EPERM",
     denied("kexec_file_load", -1, -1, 0, 0, 0)),
    ("add_key", "adds a key", "ENOSYS",
     denied("add_key", path("user"), path("k"), path("v"), 1, -3)),
    ("request_key", "requests a key", "ENOSYS",
     denied("request_key", path("user"), path("k"), 0, -3)),
    ("keyctl", "joins a session's keyring", "ENOSYS", denied("keyctl", 1, 0)),
    ("mount", "mounts a tmpfs", "EPERM",
     denied("mount", path("x"), path("/mnt"), path("tmpfs"), 0, 0)),
    ("mount_bind", "binds /etc over /tmp", "EPERM",
     denied("mount", path("/etc"), path("/tmp"), 0, 4096, 0)),
    ("mount_proc", "mounts a second /proc", "EPERM",
     denied("mount", path("proc"), path("/mnt"), path("proc"), 0, 0)),
    ("mount_cgroup", "mounts the control groups", "EPERM",
     denied("mount", path("c"), path("/mnt"), path("cgroup2"), 0, 0)),
    ("remount_root", "makes / writable", "EPERM",
     denied("mount", 0, path("/"), 0, 32, 0)),
    ("remount_proc_sys", "makes /proc/sys writable", "EPERM",
     denied("mount", 0, path("/proc/sys"), 0, 32 | 4096, 0)),
    ("umount2", "takes a cover off /proc/kcore", "EPERM",
     denied("umount2", path("/proc/kcore"), 2)),
    ("umount2_home", "takes its home off", "EPERM",
     denied("umount2", path("/home/user"), 2)),
    ("pivot_root", "changes the root", "EPERM",
     denied("pivot_root", path("/tmp"), path("/tmp"))),
    ("chroot", "changes its own root", "EPERM",
     denied("chroot", path("/tmp"))),
    ("open_tree", "copies a tree of mounts", "EPERM",
     denied("open_tree", -100, path("/"), 1)),
    ("move_mount", "moves a mount", "EPERM",
     denied("move_mount", -100, path("/tmp"), -100, path("/mnt"), 0)),
    ("fsopen", "opens a file system's settings", "EPERM",
     denied("fsopen", path("tmpfs"), 0)),
    ("fsconfig", "sets a file system's setting", "EPERM",
     denied("fsconfig", -1, 0, 0, 0, 0)),
    ("fsmount", "makes a mount", "EPERM", denied("fsmount", -1, 0, 0)),
    ("fspick", "picks a mount", "EPERM", denied("fspick", -100, path("/"), 0)),
    ("mount_setattr", "changes a mount's flags", "EPERM",
     denied("mount_setattr", -100, path("/"), 0,
            ctypes.create_string_buffer(32), 32)),
    ("open_by_handle_at", "opens a file by its number", "EPERM",
     denied("open_by_handle_at", -100, ctypes.create_string_buffer(64), 0)),
    ("name_to_handle_at", "learns a file's number", "EPERM", handle),
    ("fanotify_init", "watches the whole file system", "EPERM",
     denied("fanotify_init", 0x200, 0)),
    ("fanotify_mark", "marks a mount to be watched", "EPERM",
     denied("fanotify_mark", -1, 0, 0, 0, 0)),
    ("quotactl", "changes a quota", "EPERM", denied("quotactl", 0, 0, 0, 0)),
    ("quotactl_fd", "changes a quota by descriptor", "EPERM",
     denied("quotactl_fd", 0, 0, 0, 0)),
    ("swapon", "swaps to a file", "EPERM", denied("swapon", path("/tmp"), 0)),
    ("swapoff", "ends swapping", "EPERM", denied("swapoff", path("/tmp"))),
    ("setns", "enters PID 1's namespace", "EPERM", denied("setns", 0, 0)),
    ("clone3", "makes a user namespace by clone3", "ENOSYS", clone3),
    ("reboot", "reboots the machine", "EPERM",
     denied("reboot", 0xFEE1DEAD - (1 << 32), 672274793, 0x1234567)),
    ("iopl", "takes all ports", "EPERM", denied("iopl", 3)),
    ("ioperm", "takes a port", "EPERM", denied("ioperm", 0x80, 1, 1)),
    ("modify_ldt", "makes a 16-bit segment", "ENOSYS",
     denied("modify_ldt", 0, ctypes.create_string_buffer(64), 64)),
    ("syslog", "reads the kernel's words", "EPERM",
     denied("syslog", 3, ctypes.create_string_buffer(64), 64)),
    ("acct", "has the kernel write a file", "EPERM",
     denied("acct", path("/tmp/acct"))),
    ("vhangup", "hangs the terminal up", "EPERM", denied("vhangup")),
    ("sethostname", "renames the machine", "EPERM",
     denied("sethostname", path("x"), 1)),
    ("setdomainname", "renames its domain", "EPERM",
     denied("setdomainname", path("x"), 1)),
    ("settimeofday", "sets the clock", "EPERM",
     denied("settimeofday", ctypes.create_string_buffer(16), 0)),
    ("clock_settime", "sets the clock another way", "EPERM",
     denied("clock_settime", 0, ctypes.create_string_buffer(16))),
    ("clock_adjtime", "slews the clock", "EPERM",
     denied("clock_adjtime", 0, ctypes.create_string_buffer(208))),
    ("adjtimex", "slews the clock another way", "EPERM",
     denied("adjtimex", ctypes.create_string_buffer(208))),
] + [
    ("clone_" + name, "is cloned with CLONE_" + name, "EPERM", clone(flag))
    for name, flag in CLONE_NEW.items()
] + [
    ("unshare_" + name, "unshares with CLONE_" + name, "EPERM",
     denied("unshare", flag)) for name, flag in CLONE_NEW.items()
] + [
    ("unshare_NEWTIME", "unshares with CLONE_NEWTIME", "EPERM",
     denied("unshare", 0x80)),
    ("unshare_mixed", "hides CLONE_NEWUSER among harmless flags", "EPERM",
     denied("unshare", CLONE_NEW["NEWUSER"] | 0x600)),
    ("tiocsti", "types on its own terminal", "EPERM",
     type_on_terminal(TIOCSTI)),
    ("tiocsti_high", "does so past the int", "EPERM",
     type_on_terminal(TIOCSTI | HIGH)),
    ("tioclinux", "pastes on a console", "EPERM",
     type_on_terminal(TIOCLINUX)),
] + [
    ("socket_" + name, "makes a socket of AF_" + name, "EAFNOSUPPORT",
     denied("socket", number, 3, 0)) for name, number in FAMILIES.items()
] + [
    ("socket_high", "makes a packet socket past the int", "EAFNOSUPPORT",
     denied("socket", FAMILIES["PACKET"] | HIGH, 3, 0)),
    ("socketpair_VSOCK", "makes a pair of AF_VSOCK", "EAFNOSUPPORT",
     denied("socketpair", FAMILIES["VSOCK"], 1, 0,
            ctypes.create_string_buffer(8))),
] + [
    ("netlink_" + name, "talks NETLINK_" + name + " to the kernel",
     "EPROTONOSUPPORT", denied("socket", AF_NETLINK, 3, number))
    for name, number in NETLINKS.items()
] + [
    ("netlink_high", "talks NETLINK_NETFILTER past the int",
     "EPROTONOSUPPORT",
     denied("socket", AF_NETLINK, 3, NETLINKS["NETFILTER"] | HIGH)),
    ("mptcp", "makes a socket of multipath TCP", "ENOPROTOOPT",
     denied("socket", AF_INET, 1, 262)),
]

if __name__ == "__main__":
    hostile.run(ROWS)
