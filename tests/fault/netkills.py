#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the server, the door, a relay, or the helper in a machine, at any time while a
program downloads twenty times. Every download is whole and result.json has its bytes; or
the job's log and its result say why not. Then each process has as many descriptors as
before, and no relay, mount or directory is left.

netkills.py [--kills N] [--seed S] [--program P] [--real] [PART...]
"""
import collections
import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import check
import jobs
import program
import service

LOADS, SIZE, LAST_MS = 20, 150000, 500  # downloads: how many, bytes, and how long each
PORT = 83  # of tests/network/world.py
JOB_S = 60 * service.SLOW
REAL_S = 900 * service.SLOW  # the template is made before the first job runs
PIDFD_GETFD = 438
RELAY_PORT = 4  # a relay's descriptor of the machine: vm/jail/jail_relay.c
BYTES = (bytes(i * 7 & 255 for i in range(256)) * (SIZE // 256 + 1))[:SIZE]
CONFIG = '{"network": ["example.test:%d"], "timeout": %d}'

REAL = """
import selectors, socket
got, loads = {}, selectors.DefaultSelector()
for i in range(%(loads)d):
    try:
        s = socket.create_connection(("example.test", %(port)d))
        s.sendall(b"%(size)d %(ms)d\\n")
        s.setblocking(False)
    except OSError as e:
        print("0 bytes,", type(e).__name__)
        continue
    loads.register(s, selectors.EVENT_READ)
    got[s] = bytearray()
print("begun", flush=True)
want = bytes(i * 7 & 255 for i in range(256)) * (%(size)d // 256 + 1)
while loads.get_map():
    for key, _ in loads.select():
        s, end = key.fileobj, None
        try:
            piece = s.recv(65536)
            end = None if piece else "end"
            got[s] += piece
        except OSError as e:
            end = type(e).__name__
        if end:
            loads.unregister(s)
            s.close()
            print("%%d bytes, %%s, %%s" %% (len(got[s]),
                  "right" if want.startswith(got[s]) else "wrong", end))
"""


class World:
    """The two namespaces, and a file system that both see."""

    def __init__(self, top):
        self.dir = top + "/world"
        os.mkdir(self.dir)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "world", self.dir],
                       check=True)
        subprocess.run(["mount", "--make-shared", self.dir], check=True)
        self.popen = subprocess.Popen(
            [sys.executable, "-I", "-S", service.TOP + "/tests/network/world.py", self.dir],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(self.dir + "/log", "w"))
        self.pid = int(self.popen.stdout.readline())
        with open(self.dir + "/policy.json", "w") as f:
            f.write('{"allow": ["*:*"]}\n')

    def close(self):
        self.popen.stdin.close()
        self.popen.wait(service.START_S)
        subprocess.run(["umount", self.dir], check=True)


class Service(service.Service):
    """A service in the namespace of the program under test."""

    def __init__(self, args, world, base):
        options = ["--network", world.dir + "/policy.json", *args.option]
        if args.real:
            options += ["--pool", "0", "--fork", "no"]
        super().__init__(args.program, base, options, state=args.state)
        door = os.path.join(os.path.dirname(os.path.realpath(args.program)), "fsd-door")
        shutil.copy2(door, self.base)
        self.prefix = ("nsenter", "-t", str(world.pid), "-n", "-m", "--")

    def spawn(self, prefix=()):
        super().spawn((*self.prefix, *prefix))

    def named(self, name):
        return [p for p in self.processes() if service.name_of(p) == name]

    def descriptors(self):
        """How many each process has, by name; a server's are none of the next one's."""
        found = collections.Counter()
        for pid in self.processes():
            try:
                found[service.name_of(pid)] += len(os.listdir("/proc/%d/fd" % pid))
            except OSError:
                continue
        return found


class Record:
    """What a test comes to."""

    def __init__(self):
        self.findings = []
        self.kills = collections.Counter()
        self.loads = collections.Counter()
        self.ended = collections.Counter()
        self.usual = {}  # descriptors of each process while no job runs

    def text(self):
        return "%d kills (%s); downloads: %s; jobs: %s" % (
            sum(self.kills.values()), show(self.kills), show(self.loads), show(self.ended))


def show(counts):
    return ", ".join("%d %s" % (n, k) for k, n in sorted(counts.items()))


# --- one job ---------------------------------------------------------------------

def fake_script(victim, rng):
    ask = ["net use %d\nnet send %d %d" % (i, SIZE, rng.uniform(0, LAST_MS))
           for i in range(1, LOADS + 1)]
    kill = ["sleep %d" % rng.uniform(0, LAST_MS), "net helper"] if victim == "helper" else []
    take = ["net use %d\nnet sum" % i for i in range(1, LOADS + 1)]
    return "\n".join(["net many %d example.test %d" % (LOADS, PORT), *ask, "out begun", *kill,
                      *take, ""])


def begin(svc, args, name, victim):
    text = REAL % {"loads": LOADS, "port": PORT, "size": SIZE, "ms": 4 * LAST_MS} \
        if args.real else fake_script(victim, args.rng)
    path = "%s/%s" % (svc.tree, name)
    os.mkdir(path)
    jobs.put(path + "/code.py", text.encode())
    jobs.put(path + "/config.json", (CONFIG % (PORT, JOB_S)).encode())
    return path


def follow(svc, path):
    """Until its downloads have begun, or it has ended."""
    with svc.watched(REAL_S), open(path + "/stdout.follow", "rb") as f:
        for line in f:
            if line == b"begun\n":
                return


# --- a kill ------------------------------------------------------------------------

def kill_all(pids, record, victim):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    record.kills[victim] += bool(pids)


def break_helper(svc, record):
    """Bytes that are no frame, by the socket of its relay: the helper ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in svc.named("fsd-relay"):
        pidfd = os.pidfd_open(pid)
        fd = libc.syscall(PIDFD_GETFD, pidfd, RELAY_PORT, 0)
        os.close(pidfd)
        if fd >= 0:
            os.write(fd, b"\xff" * 64)
            os.close(fd)
            record.kills["helper"] += 1


def strike(svc, args, victim, record):
    if victim == "server":
        kill_all([svc.server()], record, victim)
    elif victim in ("door", "relay"):
        kill_all(svc.named("fsd-" + victim), record, victim)
    elif args.real:
        break_helper(svc, record)
    else:
        record.kills["helper"] += 1  # the script does it


# --- what came of it -----------------------------------------------------------------

def outcomes(stdout):
    """Of each download: its bytes, and whether they came whole."""
    found = []
    for line in stdout.decode().splitlines():
        m = re.match(r"(\d+) bytes, (\S+), (.*)", line + ", , ")
        if m:
            found.append((int(m[1]), m[2], m[3].rstrip(", ")))
    return found


def sum_of(data):
    """As `net sum` of a fake machine's program says it."""
    n = 2166136261
    for byte in data:
        n = (n ^ byte) * 16777619 & 0xffffffff
    return "%08x" % n


SUM = sum_of(BYTES)


def right(load, args):
    size, what, end = load
    return size == SIZE and end == "end" and what == ("right" if args.real else SUM)


def judge(path, args, victim, record):
    """Return: findings about a job that has ended."""
    result = check.read(path + "/result.json")
    res = check.json.loads(result)
    log = check.read(path + "/log").decode()
    loads = outcomes(check.read(path + "/stdout"))
    record.ended[res["status"]] += 1
    good = [x for x in loads if right(x, args)]
    record.loads["whole"] += len(good)
    record.loads["not"] += LOADS - len(good)
    if res["status"] != "exited":
        if res["status"] == "interrupted" and res["message"] and victim == "server" and \
                not args.real:
            return []  # a fake machine ends with its server
        return ["its status is %s: %s" % (res["status"], res["message"])]
    found = ["a download has other bytes: %r" % (x,) for x in loads
             if x[0] == SIZE and x[2] == "end" and not right(x, args)]
    if len(loads) != LOADS:
        found.append("it tells of %d downloads: %r" % (len(loads), loads))
    if args.real and victim == "server" and len(good) < LOADS:
        found.append("%d downloads are not whole: %r" % (LOADS - len(good), loads))
    network = res["network"]
    listed = network["connections"] if network else []
    whole = [c for c in listed if c["received"] == SIZE and c["verdict"] == "ok"]
    told = [c for c in listed if c["verdict"] != "ok"]
    # a relay that is killed has not told all ends; the server tells of each that is lost
    lost = sum(c["verdict"] == "lost" for c in listed)
    if len(whole) > len(good) + lost or len(whole) + lost < len(good):
        found.append("%d downloads are whole, result.json has %d, and %d are lost" % (
            len(good), len(whole), lost))
    if len(good) < LOADS and not told and "network: lost" not in log:
        found.append("untold: %d are not whole; %r; %r" % (
            LOADS - len(good), loads, network))
    if len(good) < LOADS and "network: " not in log:
        found.append("untold: its log has no word of it: %r" % log)
    if any(c["received"] is None and c["verdict"] == "ok" for c in listed):
        found.append("a connection is open for ever: %r" % listed)
    return found


def look_for_rest(svc, record):
    """Return: findings about what is left when no job runs."""
    def rest():
        usual, now = record.usual, svc.descriptors()
        found = ["%s has %d descriptors, not %d" % (n, now[n], usual.get(n, now[n]))
                 for n in now if now[n] > usual.get(n, now[n])]
        if svc.named("fsd-relay"):
            found.append("a relay is left")
        if len(svc.named("fsd-door")) != 1:
            found.append("there are %d doors" % len(svc.named("fsd-door")))
        if os.listdir(svc.state + "/jobs"):
            found.append("a directory of a job is left")
        return found
    service.until(20 * service.SLOW, lambda: not rest())
    return rest()


def one(svc, args, n, victim, record):
    path = begin(svc, args, "j%d" % n, victim)
    if args.real or args.rng.random() < 0.7:
        follow(svc, path)
    time.sleep(args.rng.uniform(0, LAST_MS * (4 if args.real else 1)) / 1000)
    strike(svc, args, victim, record)
    if victim == "server":
        svc.revive()
        path = "%s/j%d" % (svc.tree, n)
    with svc.watched(REAL_S, "wait"):
        check.read(path + "/wait")
    where = "kill %d, %s: " % (n, victim)
    found = judge(path, args, victim, record)
    if found:
        record.findings.append(where + "the log: " + check.read(path + "/log").decode())
    jobs.remove_tree(path)
    if victim == "door":  # one that dies often comes back later each time
        with contextlib.suppress(OSError):
            jobs.put(svc.tree + "/.fsd/ctl", b"reload-network\n")
    found += look_for_rest(svc, record)
    record.findings += [where + f for f in found]


def settle(svc, args, record):
    """A job that no kill disturbs, first under this server, then under the next: the usual
    descriptors."""
    for n in (1, 2):
        path = begin(svc, args, "first%d" % n, None)
        with svc.watched(REAL_S, "wait"):
            check.read(path + "/wait")
        record.findings += judge(path, args, None, record)
        if record.loads["not"]:
            record.findings.append("undisturbed: %r" % check.read(path + "/stdout"))
        jobs.remove_tree(path)
        if n == 1:
            os.kill(svc.server(), signal.SIGKILL)
            svc.revive()
    record.findings += look_for_rest(svc, record)
    record.usual = dict(svc.descriptors())
    record.loads.clear()
    record.ended.clear()


def victims(svc, args, names, budget, record):
    settle(svc, args, record)
    for n in range(budget):
        one(svc, args, n, args.rng.choice(names), record)


# --- the whole --------------------------------------------------------------------------

PARTS = {
    # name: sentence, its share of the kills
    "server": ("whenever the server is killed, downloads are whole or their end is told", 0.3),
    "door": ("whenever the door is killed, downloads are whole or their end is told", 0.2),
    "relay": ("whenever a relay is killed, its downloads are whole or their end is told", 0.2),
    "helper": ("whenever the helper in a machine ends, downloads are whole or their end is "
               "told", 0.2),
    "any": ("whichever of them is killed, downloads are whole or their end is told", 0.1),
}


def test(args):
    if os.geteuid() != 0 or not shutil.which("ip"):
        args.tap.skip("kills of the network's processes", "root and ip(8) make namespaces")
        return
    world = World(args.top)
    try:
        for name in args.parts or PARTS:
            sentence, share = PARTS[name]
            names = [name] if name != "any" else [n for n in PARTS if n != "any"]
            record = Record()
            svc = Service(args, world, "%s/%s" % (world.dir, name))
            budget = max(1, round(args.kills * share))
            program.serve(args, sentence, svc,
                          lambda: victims(svc, args, names, budget, record), record)
    finally:
        world.close()


def main():
    p = program.kill_options(__doc__, PARTS)
    p.add_argument("--state", help="a state directory whose template is used")
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
