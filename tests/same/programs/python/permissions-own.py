# Modes of the program's own files are heeded.
import os
import stat

with open("secret", "w") as f:
    f.write("x")
os.chmod("secret", 0)
for mode in "rwa":
    try:
        open("secret", mode)
    except PermissionError as e:
        print(mode, e)
os.chmod("secret", 0o600)
os.mkdir("shut", 0o500)
try:
    open("shut/file", "w")
except PermissionError as e:
    print(e)
os.chmod("shut", 0o700)
os.umask(0o027)
os.mkdir("made")
fd = os.open("made/file", os.O_CREAT | os.O_WRONLY, 0o666)
print(stat.filemode(os.stat("made").st_mode), oct(os.fstat(fd).st_mode))
os.write(fd, b"text")
try:
    os.execv("secret", ["secret"])
except PermissionError as e:
    print(e)
try:
    os.chown("secret", 0, 0)
except PermissionError as e:
    print(e)
