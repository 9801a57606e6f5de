# A program's ids are those of user, with no other group and no right.
import grp
import os
import pwd
import resource

print(os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups())
print(os.getresuid(), pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid()))
for call in (lambda: os.setuid(0), lambda: os.setgid(0),
             lambda: os.setgroups([0]), lambda: os.chroot("."),
             lambda: os.nice(-5), lambda: os.getlogin(), lambda: os.ttyname(0),
             lambda: os.tcgetpgrp(0), lambda: os.ctermid(),
             lambda: os.sched_setscheduler(0, os.SCHED_FIFO,
                                           os.sched_param(1)),
             lambda: os.kill(1, 9), lambda: os.kill(99999999, 0),
             lambda: os.mknod("device", 0o20666, os.makedev(1, 3)),
             lambda: os.get_terminal_size(), lambda: os.getsid(1 << 22),
             lambda: open("/dev/tty"), lambda: os.umask(0o22)):
    try:
        print(call())
    except OSError as e:
        print(type(e).__name__, e)
with open("/proc/self/status") as f:
    for line in f:
        if line.startswith(("Cap", "NoNewPrivs", "Umask", "SigBlk", "SigIgn")):
            print(line, end="")
