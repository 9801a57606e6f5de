# SPDX-License-Identifier: Apache-2.0
"""Leaves files that mean harm to whoever takes them out of the machine. What
comes out is expected in table.py."""
import os
import socket

HOME = os.getcwd()


def put(name, text=b"x", mode=0o644):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, text)
    os.fchmod(fd, mode)
    os.close(fd)


put("plain")
for name in ("-rf", "...", "..;", "back\\slash", "blank ", "$(reboot)",
             "quote'\"", "%s%n", "n" * 255, "CON", "exit_code", "result.json"):
    put(name)
for name in (b"new\nline", b"esc\x1b[2J", b"\xff\xfe", b"nul\x01", b"\xed\xa0\x80"):
    put(name)
put("set-uid", mode=0o4755)
put("set-gid", mode=0o2755)
put("unreadable", mode=0)
os.symlink("/etc/shadow", "shadow")
os.symlink("../../../../../../etc/shadow", "up")
os.symlink("/etc", "etc")
os.symlink("loop", "loop")
os.symlink("plain", "alias")
os.mkdir("turned")
put("turned/inside")
os.rename("turned", "was")
os.symlink("/etc", "turned")
os.mkfifo("fifo")
unix = socket.socket(socket.AF_UNIX)
unix.bind("socket")
os.link("plain", "twin")
with open("sparse", "wb") as f:
    f.truncate(1 << 40)
os.mkdir("locked")
put("locked/inside")
os.chmod("locked", 0)
try:
    os.mknod("device", 0o20666, os.makedev(1, 1))
except PermissionError:
    pass
for _ in range(100):
    os.mkdir("deep")
    os.chdir("deep")
put("bottom")
os.chdir(HOME)
