#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd as PID 1 in namespaces of its own, over a root that it does not change. As root.

systemd.py boot DIR [--root ROOT] [--setup COMMAND] [--network] [--controllers]
        [--with PID]
    boots systemd over ROOT (default: this host's), and prints its process id when it
    has come up, or ends with what went wrong. What it writes over this host's root goes
    to memory, over another one to DIR, and is gone with it. COMMAND is a shell's, with
    the new root in $ROOT; it runs before systemd does. DIR is empty; it gets the log of
    the boot. Without --network there is only a loopback device. It ends
    with the process PID, which may be killed before it says stop.
systemd.py in DIR COMMAND ARGUMENT...
    runs a command there: beside its services, in no unit.
systemd.py stop DIR
    ends it, with all that it has started.
systemd.py state DIR
    prints what its process 1 does, and what runs there. That is for a systemd that does
    not answer: no call of this command waits for it.

It has a control group of version 2 of its own. A kernel without controllers of that
version counts processes there and limits nothing; with --controllers it has those of
version 1, too, as a host of both versions.
"""
import argparse
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

BOOT_S = 60 * int(os.environ.get("SLOW", "1"))
STOP_S = 20 * int(os.environ.get("SLOW", "1"))
# Of a booted host, and no use here.
MASKED = ("systemd-remount-fs.service", "systemd-random-seed.service",
          "systemd-update-utmp.service", "systemd-sysctl.service",
          "systemd-modules-load.service", "systemd-udevd.service",
          "systemd-udev-trigger.service", "systemd-udevd-control.socket",
          "systemd-udevd-kernel.socket", "systemd-timesyncd.service",
          "systemd-pstore.service", "systemd-binfmt.service",
          "systemd-hwdb-update.service", "systemd-journal-flush.service",
          "systemd-journal-catalog-update.service", "systemd-update-done.service",
          "systemd-firstboot.service", "dev-hugepages.mount", "dev-mqueue.mount",
          "proc-sys-fs-binfmt_misc.automount", "sys-fs-fuse-connections.mount",
          "sys-kernel-config.mount", "sys-kernel-debug.mount",
          "sys-kernel-tracing.mount", "systemd-ask-password-console.path",
          "keyboard-setup.service", "console-setup.service", "swap.target")
TARGET = """[Unit]
Description=what the tests boot to
Requires=sysinit.target dbus.socket
After=sysinit.target dbus.socket
AllowIsolate=yes
"""
# $1: the directory, $2: the root, $3: the command before, $4: units that do not start, $5:
# the target, $6: controllers of version 1.
INSIDE = r"""
set -e
dir=$1
# An upper directory cannot lie in the lower one.
[ "$2" != / ] || mount -t tmpfs -o mode=755,size=1G tmpfs "$dir/layers"
mkdir "$dir/layers/upper" "$dir/layers/work" "$dir/layers/root"
root=$dir/layers/root
mount -t overlay -o "lowerdir=$2,upperdir=$dir/layers/upper,workdir=$dir/layers/work" \
	overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
groups=$root/sys/fs/cgroup
if [ -n "$6" ]; then
	mount -t tmpfs -o mode=755 tmpfs "$groups"
	for controller in $6; do
		mkdir "$groups/${controller#name=}"
		mount -t cgroup -o "$controller" cgroup "$groups/${controller#name=}"
	done
	groups=$groups/unified
	mkdir "$groups"
fi
mount -t cgroup2 cgroup2 "$groups"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty fuse kvm; do
	[ ! -e "/dev/$node" ] || cp -a "/dev/$node" "$root/dev/"
done
chmod 666 "$root/dev/fuse" # as udev does
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root/run/host" "$root/run/lock"
touch "$root/run/host/notify"
mount --bind "$dir/notify" "$root/run/host/notify"
mkdir -p "$root/etc/systemd/system" "$root/var/log/journal"
for unit in $4; do
	ln -sfn /dev/null "$root/etc/systemd/system/$unit"
done
printf '%s' "$5" >"$root/etc/systemd/system/fsd-test.target"
: >"$root/etc/fstab"
rm -f "$root/etc/machine-id"
head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$root/etc/machine-id"
[ -z "$3" ] || ROOT=$root DIR=$dir sh -ec "$3"
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
mount --make-rshared / # as on a host; systemd leaves that to whom starts a container
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=fsd-test \
	NOTIFY_SOCKET=/run/host/notify LC_ALL=C.UTF-8 \
	/lib/systemd/systemd --system --unit=fsd-test.target --show-status=no
"""


def die(text):
    sys.exit("systemd.py: " + text)


# Of version 1. All but the last limit something; by it systemd tells a host of both.
CONTROLLERS = ("memory", "cpu", "cpuacct", "pids", "name=systemd")


def make_group(pid, controller=None):
    """Return: the directory of a new control group, of version 2 or of that controller."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split() for line in f]
    tops = [m[1] for m in mounts if (
        m[2] == "cgroup" and controller in m[3].split(",") if controller
        else m[2] == "cgroup2")]
    if not tops:
        die("no cgroup2 is mounted here" if not controller
            else "no control groups of %s are mounted here" % controller)
    with open("/proc/self/cgroup") as f:
        own = next(path.strip() for _, controllers, path in
                   (line.split(":", 2) for line in f)
                   if (controller or "") in controllers.split(","))
    path = "%s%s/fsd-systemd-%d" % (tops[0], own.rstrip("/"), pid)
    os.mkdir(path)
    return path


def remove_groups(paths):
    for path in paths:
        for directory, _, _ in os.walk(path, topdown=False):
            os.rmdir(directory)


def read(directory, name):
    with open(directory + "/" + name) as f:
        return f.read()


def write(directory, name, text):
    with open(directory + "/" + name, "w") as f:
        f.write(str(text))


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def await_ready(notify, unshare, log):
    """Until systemd says READY=1, which it does when its target is reached."""
    until = time.monotonic() + BOOT_S
    ended = os.pidfd_open(unshare.pid)
    while True:
        left = until - time.monotonic()
        ready = select.select([notify, ended], [], [], max(left, 0))[0]
        if notify in ready:
            if b"READY=1" in notify.recv(4096).split(b"\n"):
                return
        elif not ready or ended in ready:
            with open(log, errors="replace") as f:
                die("it did not come up %s:\n%s" % (
                    "and has ended" if ready else "in %d s" % BOOT_S,
                    "".join(f.readlines()[-60:])))


def end(unshare, groups):
    """Ends process 1 of it, with which the kernel ends all the others."""
    try:
        ended = os.pidfd_open(unshare)
        os.kill(child_of(unshare), signal.SIGKILL)
        if not select.select([ended], [], [], STOP_S)[0]:
            die("it did not end in %d s" % STOP_S)
    except (ProcessLookupError, FileNotFoundError, IndexError):
        pass  # it has ended
    remove_groups(groups)


def end_with(pid, unshare, groups, notify):
    """Starts a process that ends it when pid has ended."""
    owner, ended = os.pidfd_open(pid), os.pidfd_open(unshare)
    if os.fork():
        return
    # systemd tells how it gets on with a job that takes longer than 25 s, and waits for
    # ever for a reader of the eleventh time. Without the socket it does not wait.
    notify.close()
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    if ended not in select.select([owner, ended], [], [])[0]:
        end(unshare, groups)
    os._exit(0)


def boot(args):
    directory = os.path.realpath(args.dir)
    os.makedirs(directory + "/layers", exist_ok=True)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(directory + "/notify")
    controllers = CONTROLLERS if args.controllers else ()
    groups = [make_group(os.getpid(), c) for c in (None, *controllers)]
    write(directory, "groups", "\n".join(groups))
    argv = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--fork",
            "--propagation", "private", *(() if args.network else ("--net",)),
            "bash", "-c", INSIDE, "systemd", directory, os.path.realpath(args.root),
            args.setup or "", " ".join(MASKED), TARGET, " ".join(controllers)]
    with open(directory + "/log", "w") as log:
        unshare = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
            preexec_fn=lambda: [write(g, "cgroup.procs", os.getpid()) for g in groups])
    write(directory, "unshare", unshare.pid)
    if getattr(args, "with"):
        end_with(getattr(args, "with"), unshare.pid, groups, notify)
    await_ready(notify, unshare, directory + "/log")
    pid = child_of(unshare.pid)
    write(directory, "pid", pid)
    print(pid)


def enter(args):
    pid = read(args.dir, "pid")
    os.execvp("nsenter", ["nsenter", "--target", pid, "--mount", "--uts", "--ipc", "--net",
                          "--pid", "--cgroup", "--root", "--wd", "env", "-i",
                          "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                          "LC_ALL=C.UTF-8", *args.command])


def stop(args):
    end(int(read(args.dir, "unshare")), read(args.dir, "groups").split("\n"))
    shutil.rmtree(args.dir + "/layers")
    for name in ("notify", "pid", "unshare", "groups"):
        if os.path.exists(args.dir + "/" + name):
            os.unlink(args.dir + "/" + name)


def ticks(pid):
    """Return: (name, state, ticks of processor time, pages in memory) of a process."""
    line = read("/proc/%d" % pid, "stat")
    name, fields = line[line.index("(") + 1:line.rindex(")")], line[line.rindex(")") + 2:].split()
    return name, fields[0], int(fields[11]) + int(fields[12]), int(fields[21])


def inside(pid):
    """Return: the processes in the same namespace of processes as pid."""
    space = os.readlink("/proc/%d/ns/pid" % pid)
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/ns/pid" % name) == space:
                found.append(int(name))
        except OSError:
            pass  # it has ended
    return sorted(found)


def told(*command):
    """The first lines of what a command says in so many seconds, if there is such a one."""
    if not shutil.which(command[1]):
        return
    print("--- " + " ".join(command), flush=True)
    with subprocess.Popen(("timeout", "-k", "1", *command), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace") as process:
        number = -1
        for number, line in enumerate(process.stdout):
            if number < 60:
                print(line, end="")
        print("%d lines" % (number + 1))


def state(args):
    pid = int(read(args.dir, "pid"))
    before = {p: ticks(p)[2] for p in inside(pid)}
    for task in os.listdir("/proc/%d/task" % pid):
        print("--- process 1, thread " + task)
        for name in ("stat", "wchan", "syscall", "stack"):
            try:
                print(name + ": " + read("/proc/%d/task/%s" % (pid, task), name).strip())
            except OSError as e:
                print("%s: %s" % (name, e.strerror))
    sys.stdout.flush()
    time.sleep(1)
    print("--- processes there: state, ticks of the processor in this second, MB, name")
    for p in inside(pid):
        try:
            name, how, now, pages = ticks(p)
            print("%7d %s %4d %6d %s" % (p, how, now - before.get(p, 0), pages >> 8, name))
        except OSError:
            pass  # it has ended
    # That the kernel never comes to the end of this file is one thing to find out.
    told("5", "head", "-n", "2000", "/proc/%d/mountinfo" % pid)
    told("1", "strace", "-f", "-p", str(pid))
    told("20", "gdb", "-q", "-batch", "-p", str(pid), "-ex", "thread apply all bt 30")


def main():
    options = argparse.ArgumentParser()
    commands = options.add_subparsers(required=True)
    for name, fn in (("boot", boot), ("in", enter), ("stop", stop), ("state", state)):
        command = commands.add_parser(name)
        command.add_argument("dir")
        command.set_defaults(fn=fn)
        if fn is boot:
            command.add_argument("--root", default="/")
            command.add_argument("--setup")
            command.add_argument("--network", action="store_true")
            command.add_argument("--controllers", action="store_true")
            command.add_argument("--with", type=int)
        if fn is enter:
            command.add_argument("command", nargs=argparse.REMAINDER)
    args = options.parse_args()
    args.fn(args)


if __name__ == "__main__":
    main()
