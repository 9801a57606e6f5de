# What belongs to the system answers as to any user: EACCES, ENOENT, EPERM.
import os
import pathlib
import shutil


def attempt(sentence, call, *args, **names):
    try:
        print(sentence, "->", call(*args, **names))
    except OSError as e:
        print(sentence, "->", type(e).__name__, e)


P = "/etc/passwd"
attempt("open to append", open, "/var/log/app.log", "a")
attempt("open to write", open, P, "r+")
attempt("create", open, "/usr/bin/new", "x")
attempt("create what is there", open, P, "x")
attempt("mkdir", os.mkdir, "/opt/app")
attempt("mkdir what is there", os.mkdir, "/usr")
attempt("makedirs", os.makedirs, "/usr/local/share/a/b", exist_ok=True)
attempt("unlink", os.unlink, P)
attempt("unlink nothing", os.unlink, "/etc/nothing")
attempt("unlink in nothing", os.unlink, "/nothing/at/all")
attempt("pathlib unlink", pathlib.Path("/etc/none").unlink, missing_ok=True)
attempt("rmdir", os.rmdir, "/srv")
attempt("rmdir nothing", os.rmdir, "/etc/nothing")
attempt("rename away", os.rename, P, "mine")
attempt("rename over", os.rename, __file__, P)
attempt("rename in /usr", os.rename, "/usr/bin/env", "/usr/bin/env2")
attempt("rename nothing", os.rename, "/etc/nothing", "/etc/else")
attempt("link to", os.link, P, "mine")
attempt("link in", os.link, __file__, "/etc/mine")
attempt("symlink", os.symlink, "x", "/etc/link")
attempt("chmod", os.chmod, P, 0o777)
attempt("chmod nothing", os.chmod, "/etc/nothing", 0o777)
attempt("chown", os.chown, P, 1000, 1000)
attempt("utime", os.utime, P)
attempt("utime at", os.utime, P, (0, 0))
attempt("truncate", os.truncate, P, 0)
attempt("mkfifo", os.mkfifo, "/etc/fifo")
attempt("setxattr", os.setxattr, P, "user.x", b"1")
attempt("read shadow", open, "/etc/shadow")
attempt("list root's", os.listdir, "/root")
attempt("rmtree", shutil.rmtree, "/opt")
attempt("copy over", shutil.copy, __file__, "/usr/bin/env")
attempt("touch", pathlib.Path("/usr/share/doc-none").touch)
attempt("touch there", pathlib.Path("/etc/hosts").touch)
attempt("write in /proc", open, "/proc/sys/kernel/hostname", "w")
for path in ("/", "/etc", P, "/usr/bin/env", "/tmp", ".", "/etc/shadow",
             "/nothing", "/var/tmp", "/run", "/home", "/dev", "/dev/shm"):
    print(path, [os.access(path, m) for m in
                 (os.F_OK, os.R_OK, os.W_OK, os.X_OK)])
