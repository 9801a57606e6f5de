# Links of both kinds, pipes, sockets, locks and files without a name.
import fcntl
import os
import socket
import stat
import threading

open("one", "w").close()
os.link("one", "twin")
print(os.stat("twin").st_nlink, os.path.samefile("twin", "one"))
os.mkdir("d")
os.symlink("d", "to-d")
os.symlink("../code.py", "d/up")
os.symlink("/etc/passwd", "out")
os.symlink("nowhere", "dangling")
os.symlink("loop", "loop")
print(os.readlink("to-d"), os.path.realpath("d/up"), os.path.exists("dangling"))
try:
    open("loop")
except OSError as e:
    print(e)
os.mkfifo("pipe")
t = threading.Thread(target=lambda: open("pipe", "w").write("through"))
t.start()
print(open("pipe").read())
t.join()
s = socket.socket(socket.AF_UNIX)
s.bind("socket")
print(stat.filemode(os.stat("socket").st_mode)[0])
fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(fd, b"nameless")
print(os.fstat(fd).st_nlink)
with open("locked", "w") as a, open("locked") as b:
    fcntl.flock(a, fcntl.LOCK_EX)
    try:
        fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as e:
        print(e)
    fcntl.lockf(a, fcntl.LOCK_EX | fcntl.LOCK_NB, 5)
for name in ("out", "dangling", "loop", "pipe", "socket", "locked"):
    os.unlink(name)
