# The files of the system that programs look at are there.
import os

for path in ("/etc/services", "/etc/protocols", "/etc/hosts", "/etc/passwd",
             "/etc/resolv.conf", "/etc/os-release", "/etc/timezone",
             "/etc/localtime", "/etc/nsswitch.conf",
             "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/fd",
             "/dev/urandom", "/dev/stdin", "/dev/ptmx", "/dev/pts", "/dev/shm",
             "/proc/self/maps", "/proc/meminfo", "/proc/cpuinfo",
             "/proc/self/exe", "/proc/mounts",
             "/proc/sys/kernel/random/uuid", "/proc/sys/vm/overcommit_memory",
             "/proc/uptime", "/proc/loadavg", "/bin/sh",
             "/usr/share/zoneinfo/Europe/Berlin", "/usr/lib/os-release",
             "/var/tmp", "/var/run", "/var/log", "/var/cache", "/home/user",
             "/mnt", "/media", "/opt", "/srv", "/run/lock", "/run/user/1000"):
    kind = "nothing" if not os.path.exists(path) else \
        "directory" if os.path.isdir(path) else "file" \
        if os.path.isfile(path) else "device"
    print(path, kind, os.readlink(path) if os.path.islink(path) and
          not path.startswith("/proc") else "")
for path in ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
             "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/shells"):
    with open(path) as f:
        print(path, repr(f.read()))
with open("/dev/full", "w") as f:
    try:
        f.write("x")
        f.flush()
    except OSError as e:
        print(e)
