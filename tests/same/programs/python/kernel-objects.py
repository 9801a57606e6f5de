# epoll, eventfd, timers, memory files, pipes and terminals of the kernel.
import os
import pty
import select
import signal
import sys
import termios

e = select.epoll()
fd = os.eventfd(0, os.EFD_NONBLOCK)
e.register(fd, select.EPOLLIN)
print(e.poll(0), os.eventfd_write(fd, 3), len(e.poll(5)), os.eventfd_read(fd),
      flush=True)
m = os.memfd_create("m")
os.write(m, b"memory")
print(os.pread(m, 10, 0), os.sendfile(1, m, 0, 6))
r, w = os.pipe()
print(os.get_inheritable(r), os.writev(w, [b"a", b"bc"]), os.readv(r, [bytearray(5)]))
t = os.timerfd_create(0)
os.timerfd_settime(t, initial=0.01)
print(int.from_bytes(os.read(t, 8), "little"))
p = os.pidfd_open(os.getpid())
signal.signal(signal.SIGUSR1, lambda *_: print("by pidfd"))
signal.pidfd_send_signal(p, signal.SIGUSR1)
master, slave = pty.openpty()
print(os.isatty(slave), os.ttyname(slave).startswith("/dev/pts/"))
termios.tcgetattr(slave)
os.write(slave, b"line\n")
echo = b""
while not echo.endswith(b"\n"):
    echo += os.read(master, 100)
print(echo)
sys.stdout.flush()
print(pty.spawn(["sh", "-c", "test -t 1 && echo on a terminal"]))
