#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""All attacks, and all that must keep working, as one table.

A group is a job, or a few; its rows are (name, sentence, the only good
outcome). The rows of Python's groups stand beside their attacks.

table.py groups           the names of the groups, a line each
table.py check GROUP GOT  compares what submit.py wrote to GOT with the rows of a
                          group: a line for each that is not so
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import calls  # noqa: E402
import crowd  # noqa: E402
import limits  # noqa: E402
import network  # noqa: E402
import paths  # noqa: E402
import rights  # noqa: E402
import works  # noqa: E402

# raw.c
RAW = [
    ("int80 getpid", "makes a call of i386", "SIGSYS"),
    ("int80 mount", "mounts by a call of i386", "SIGSYS"),
    ("x32 getpid", "makes a call of x32", "SIGSYS"),
    ("x32 bpf", "loads a program by a call of x32", "SIGSYS"),
    ("vsyscall", "calls into the old fixed page", "SIGSEGV"),
    ("call -1", "makes a call that there is not", "ENOSYS"),
    ("outb", "writes to a port", "SIGSEGV"),
    ("cli", "switches interrupts off", "SIGSEGV"),
    ("hlt", "halts the processor", "SIGSEGV"),
    ("rdmsr", "reads where the kernel is entered", "SIGSEGV"),
    ("cr0", "writes a control register", "SIGSEGV"),
    ("kernel address", "reads the kernel's memory", "SIGSEGV"),
    ("page zero", "maps the page at zero", "EPERM"),
    ("private page", "writes a file through its own copy", "ok"),
    ("shared page", "maps a program of the system for writing", "EACCES"),
    ("stack", "overflows its stack", "SIGSEGV"),
    ("traced bpf", "traces a call and makes it bpf", "EPERM"),
    ("traced unshare", "traces a call and makes it unshare", "EPERM"),
    ("traced mount", "traces a call and makes it mount", "EPERM"),
    ("allow above", "allows unshare by a filter above", "EPERM"),
    ("continue above", "has another process allow unshare", "EPERM"),
    ("strict mode", "changes its filter for the strict mode", "EINVAL"),
    ("clone user", "clones into a user namespace", "EPERM"),
    ("clone all", "clones into six namespaces", "EPERM"),
    ("library clone", "does so by the library", "EPERM"),
    ("chroot escape", "leaves by a chroot and dots", "EPERM"),
    ("mount over", "mounts over /usr/bin", "EPERM"),
    ("core pattern", "has a program run at each crash", "EACCES"),
    ("uid map", "maps itself to root", "EPERM"),
    ("set-uid copy", "runs a set-uid copy of itself as a user", "ok"),
    ("set-gid copy", "runs a set-gid copy of itself as a user", "ok"),
    ("set-uid root", "gives such a copy to root", "EPERM"),
    ("trace init", "attaches to PID 1", "EPERM"),
    ("init memory", "opens PID 1's memory", "ENOENT"),
    ("kill init", "kills PID 1", "EPERM"),
    ("queue to init", "queues a signal to PID 1", "EPERM"),
    ("core", "leaves no core file at an abort, though it has allowed itself one", "ok"),
    ("names in /tmp", "makes files in /tmp without end", "ENOSPC"),
]

NODE = [
    ("hot function", "compiles a hot function", "784002"),
    ("wasm", "runs WebAssembly", "42"),
    ("worker", "shares memory with a worker", "7"),
    ("server", "serves on the loopback", "hi"),
    ("local socket", "serves on a socket with a name", "hi"),
    ("localhost", "looks localhost up", "127.0.0.1"),
    ("interfaces", "lists the interfaces", "lo"),
    ("child process", "runs a process", "hi"),
    ("fork", "talks to a fork", "hello"),
    ("watch", "watches a directory", "seen"),
    ("crypto", "signs and verifies", "true"),
    ("processors", "counts processors and memory", "true"),
]

SHELL = [
    ("pipeline", "sorts in a pipeline", "100 99"),
    ("substitution", "reads from processes", "one two"),
    ("coproc", "talks to a coprocess", "through"),
    ("job", "ends a job of its own", "143"),
    ("trap", "traps a signal", "1"),
    ("ulimit", "raises its files within the limit", "2048"),
    ("here", "reads a here-string", "word"),
    ("descriptor", "opens a descriptor by number", "text"),
    ("fifo", "reads from a pipe with a name", "first"),
    ("tar", "copies by tar", "text"),
    ("timeout", "bounds a command's time", "124"),
    ("setsid", "runs a command in a session of its own", "apart"),
    ("taskset", "binds a command to a processor", "bound"),
    ("flock", "locks a file", "locked"),
    ("nice", "runs a command with less priority", "5"),
    ("awk", "calculates", "3.142"),
    ("ps", "lists its own process", "bash"),
    ("df", "asks what is mounted on /tmp", "/tmp"),
]

# What each leaves is its exit code, status, value and standard output.
ENDS = [
    ("garbage", "writes garbage to every descriptor", "33 exited null -", """
import os, struct
frames = [b"\\x07" * 64, b'{"exit_code":0,"status":"exited"}\\n',
          struct.pack("<HBBI", 0xF505, 64, 0, 4) + bytes(4)]
for fd in range(3, 1000):
    for text in frames:
        try:
            os.set_blocking(fd, False)
            os.write(fd, text)
        except OSError:
            pass
os._exit(33)
""", {}),
    ("forged value", "tells a value by itself, and no more than that",
     "3 exited 7 -", """
import os
for fd in range(3, 1000):
    try:
        os.write(fd, b'{"value": 7, "exit_code": 0, "status": "timeout",'
                     b' "signal": "SIGKILL", "schema": 2}')
    except OSError:
        pass
os._exit(3)
""", {}),
    ("forged words", "prints what its runner would", "2 exited null R", """
import os
os.write(1, b"R")
for fd in range(3, 300):
    for word in (b"R", b"S", b"E\\0", b"H"):
        try:
            os.write(fd, word)
        except OSError:
            pass
os._exit(2)
""", {}),
    ("forged files", "writes files named like its results",
     "1 exited null -", """
for name in ("exit_code", "result.json", "state", "wait", "stdout"):
    open(name, "w").write("0")
raise SystemExit(1)
""", {}),
    ("others' pipes", "writes into other runners' pipes",
     "6 exited null done", """
import os
for pid in os.listdir("/proc"):
    if not pid.isdigit() or int(pid) == os.getpid():
        continue
    for fd in range(64):
        path = "/proc/%s/fd/%d" % (pid, fd)
        try:
            if os.readlink(path).startswith("pipe:"):
                end = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                os.write(end, b'{"value": 7}')
        except OSError:
            pass
os.write(1, b"done")
os._exit(6)
""", {}),
    ("close all", "closes every descriptor", "7 exited null -",
     "import os\nos.closerange(0, 70000)\nos._exit(7)\n", {}),
    ("kill all", "kills everybody it may", "5 exited null survived", """
import os
os.kill(-1, 9)
os.write(1, b"survived")
os._exit(5)
""", {}),
    ("term all", "sends everybody SIGTERM and SIGSTOP",
     "5 exited null survived", """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, signal.SIGTERM)
os.kill(-1, signal.SIGSTOP)
os.write(1, b"survived")
os._exit(5)
""", {}),
    ("stop", "stops itself", "124 timeout null up", """
import os
os.write(1, b"up")
os.kill(os.getpid(), 19)
""", {"timeout": 6}),
    ("daemon", "leaves a daemon that ignores every signal",
     "4 exited null -", """
import os, signal, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(1, 65):
            try:
                signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        os.write(w, b"x")
        while True:
            time.sleep(1)
    os._exit(0)
os.read(r, 1)
os._exit(4)
""", {}),
    ("init's child", "gives PID 1 a child with another exit code",
     "5 exited null reaped", """
import ctypes, os, sys, time
CLONE_PARENT = 0x8000
# The child has none of the interpreter's other threads: nobody may have asked for
# the lock that it keeps (PyDLL), or it waits for ever for that one to take it.
sys.setswitchinterval(1000)
libc = ctypes.PyDLL(None)
pid = libc.syscall(56, CLONE_PARENT | 17, 0, 0, 0, 0)
if pid == 0:
    libc._exit(77)
while os.path.exists("/proc/%d" % pid):
    time.sleep(0.01)
os.write(1, b"reaped")
os._exit(5)
""", {}),
    ("threads", "exits beside threads that spin", "8 exited null -", """
import os, threading
def spin():
    while True:
        pass
for _ in range(8):
    threading.Thread(target=spin, daemon=True).start()
os._exit(8)
""", {}),
    ("another program", "becomes another program", "9 exited null sh", """
import os
os.execv("/bin/sh", ["sh", "-c", "printf sh; exit 9"])
""", {}),
    ("another ABI", "makes a call of i386 in its first process",
     "159 signaled null before", """
import ctypes, mmap, os
os.write(1, b"before")
area = mmap.mmap(-1, 4096, prot=7)
area.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(
    ctypes.addressof(ctypes.c_char.from_buffer(area)))()
os.write(1, b"after")
""", {}),
    ("memory", "takes memory without end", "137 out_of_memory null before", """
import os
os.write(1, b"before")
x = []
while True:
    x.append(bytearray(1 << 20))
""", {"memory_mb": 64}),
    ("memory of children", "has its children take memory without end",
     "137 out_of_memory null -", """
import os, signal
for _ in range(4):
    if os.fork() == 0:
        x = []
        while True:
            x.append(bytearray(1 << 20))
while True:
    signal.pause()
""", {"memory_mb": 64}),
    ("memory of files", "fills its home beyond its memory",
     "137 out_of_memory null -", """
import os
fd = os.open("big", os.O_WRONLY | os.O_CREAT)
while True:
    os.write(fd, bytes(1 << 20))
""", {"output_limit": 0, "memory_mb": 64}),
    ("memory of shm", "fills /dev/shm beyond its memory",
     "137 out_of_memory null -", """
import os
fd = os.open("/dev/shm/big", os.O_WRONLY | os.O_CREAT)
while True:
    os.write(fd, bytes(1 << 20))
""", {}),
    ("memory of pipes", "fills pipes beyond its memory",
     "137 out_of_memory null -", """
import fcntl, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))
held = []
while True:
    r, w = os.pipe()
    os.set_blocking(w, False)
    held += [r, w]
    x = bytearray(1 << 20)
    held.append(x)
    try:
        os.write(w, x)
    except BlockingIOError:
        pass
""", {"memory_mb": 64}),
    ("shell's bomb", "is the fork bomb of the shell",
     "124 timeout null -", ":(){ :|:& };:\nexec sleep 600\n",
     {"timeout": 4, "processes": 32, "language": "bash"}),
    ("many files", "leaves seventy thousand files",
     "0 exited null 65536", """
import os
os.mkdir("many")
for i in range(70000):
    os.mknod("many/%d" % i)
os.write(1, b"65536")
""", {"timeout": 110}),
]

# litter.py: what of it is in output/; see OUTPUTS in submit.py
OUTPUT = [
    ("end", "ends as any other program", "0 exited null -"),
    ("kinds", "is nothing but files, directories and links that stay in it",
     "only those"),
    ("plain", "has its harmless file", "x"),
    ("twin", "has a hard link as a file of its own", "x"),
    ("odd names", "has odd but harmless names as they are",
     "$(reboot) %s%n -rf ... ..; CON back\\slash blank_ quote'\""),
    ("long name", "has a name of 255 bytes", "there"),
    ("bad names", "has names of any bytes as they are", "5"),
    ("shadow", "has no link to /etc/shadow", "absent"),
    ("up", "has no link up the tree", "absent"),
    ("etc", "has no link to a directory", "absent"),
    ("turned", "has no link in a directory's place", "absent"),
    ("was", "has the directory where it went", "x"),
    ("loop", "has a link to itself as one", "loop"),
    ("alias", "has a link to its neighbour as one", "x"),
    ("fifo", "has no pipe", "absent"),
    ("socket", "has no socket", "absent"),
    ("device", "has no device", "absent"),
    ("sparse", "has no file of a TiB", "absent"),
    ("set-uid", "has no set-uid bit", "755"),
    ("set-gid", "has no set-gid bit", "755"),
    ("unreadable", "has what the program could not read itself", "600"),
    ("locked", "has a directory that is open to its owner", "700"),
    ("depth", "has no path deeper than 64", "64"),
    ("exit_code", "has a file like a result's, apart from it", "x 0"),
    ("dropped", "counts what is left out", "8"),
]

AFTER = [
    ("many", "of seventy thousand files and their directory 65536 are kept",
     "65535"),
    ("many dropped", "the others are counted", "4465"),
    ("leased", "no machine has a job when all have ended", "0"),
    ("health", "the appliance is well", "ok"),
]

MODULES = {"calls": calls, "paths": paths, "rights": rights,
           "limits": limits, "works": works, "network": network, "crowd": crowd}
GROUPS = {name: [row[:3] for row in module.ROWS]
          for name, module in MODULES.items()}
GROUPS.update(raw=RAW, node=NODE, shell=SHELL, output=OUTPUT, after=AFTER,
              ends=[row[:3] for row in ENDS])


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def check(group, folder):
    """Return: how many rows are not as they should be; says which."""
    told = read(os.path.join(folder, group)).split("\n")
    bad = 0
    for name, sentence, good in GROUPS[group]:
        if "%s\t%s" % (name, good) in told:
            continue
        bad += 1
        print("%s: %s (%s)\n  wanted: %s\n  got: %s" % (
            group, sentence, name, good, "; ".join(
                line for line in told if line.startswith(name + "\t")) or
            "no line"))
    if bad:
        print(read(os.path.join(folder, group + ".failed")))
    print("%d of %d rows are as they should be" % (
        len(GROUPS[group]) - bad, len(GROUPS[group])))
    return bad


def main(words):
    for group, rows in GROUPS.items():
        names = [row[0] for row in rows]
        assert names and len(set(names)) == len(names), group
    if words == ["groups"]:
        print("\n".join(GROUPS))
    elif len(words) == 3 and words[0] == "check":
        return 1 if check(*words[1:]) else 0
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
