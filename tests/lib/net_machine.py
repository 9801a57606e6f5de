# SPDX-License-Identifier: Apache-2.0
"""A machine of the image, booted by QEMU without a daemon, and the host's end of its two
ports: frames of the wire (guest/wire/wire.h) and of the second port (wire_net.h). Tests of
the guest's side of a network need no relay and no door so."""
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time

ROOT = os.path.abspath(__file__ + "/../../..")
IMAGE = os.environ.get("FSD_IMAGE", ROOT + "/build/image")
SLOW = int(os.environ.get("SLOW", "1"))
HOSTS = 0x80000000


def numbers(header, prefix):
    """The values of `#define PREFIXNAME` and of `PREFIXNAME = 3` in a header."""
    with open(os.path.join(ROOT, "guest/wire", header)) as f:
        text = f.read()
    return {m[1]: int(m[2]) for m in re.finditer(
        r"^(?:#define)?\s*%s(\w+)(?:\s*=)?\s+(\d+)u?\b" % prefix, text, re.M)}


WIRE = numbers("wire.h", "WIRE_")
# An enum without values: they count.
NET = {name: i for i, name in enumerate(
    ("NONE START ANSWER CONNECT FINISH RESOLVE OPEN FINISHED OPENED DATA WINDOW END"
     " RESET").split())}
NAMES = {i: name for name, i in NET.items()}
OK, NONE, AGAIN = range(3)
PEER, REFUSED, FAILED, LIMIT = range(4)


def text(s):
    data = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<I", len(data)) + data


def block(address, bits, ip6=False):
    """A route of NET: 16 bytes of address."""
    raw = socket.inet_pton(socket.AF_INET6, address if ip6 else "::ffff:" + address)
    return struct.pack("<I", bits + (256 if ip6 else 96)) + raw


def clock_khz():
    """The rate of the host's counter: on a busy host a kernel does not find it."""
    with open("/proc/cpuinfo") as f:
        return round(float(re.search(r"^cpu MHz\s*: (.*)", f.read(), re.M)[1]) * 1000)


class Stream:
    """A socket of which whole messages are read."""

    def __init__(self, sock):
        self.sock, self.data = sock, b""

    def wait(self, seconds):
        return bool(select.select([self.sock], [], [], seconds)[0])

    def exactly(self, size, end):
        while len(self.data) < size:
            if not self.wait(max(0, end - time.monotonic())):
                raise TimeoutError("nothing came")
            more = self.sock.recv(1 << 20)
            if not more:
                raise EOFError("the machine has closed its port")
            self.data += more
        out, self.data = self.data[:size], self.data[size:]
        return out


class Port(Stream):
    """The host's end of the second port. Frames are (name, id, rest of the payload, arg)."""

    def send(self, name, *numbers32, tail=b"", arg=0):
        data = struct.pack("<%dI" % len(numbers32), *numbers32) + tail
        self.sock.sendall(struct.pack("<IHBB", len(data), 0xfe01, NET[name], arg) + data)

    def start(self, window=128 << 10, streams=64, names=4096):
        self.send("START", window, streams, names)

    def next(self, seconds=60):
        end = time.monotonic() + seconds * SLOW
        size, magic, kind, arg = struct.unpack("<IHBB", self.exactly(8, end))
        assert magic == 0xfe01, hex(magic)
        data = self.exactly(size, end)
        number = struct.unpack_from("<I", data)[0] if data else 0
        return NAMES[kind], number, data[4:], arg

    def allow(self, query, *ranges):
        self.send("ANSWER", query, *(low | high << 16 for low, high in ranges))


class Machine:
    """With what PID 1 says until READY, and jobs on lanes after share()."""

    def __init__(self, memory="768M"):
        ours, theirs = zip(*(socket.socketpair() for _ in "ab"))
        wire, net = (s.fileno() for s in theirs)
        self.log = open(os.environ.get("NET_MACHINE_LOG", os.devnull), "w")
        qemu = os.environ.get("FSD_QEMU", "/usr/bin/qemu-system-x86_64")
        self.process = subprocess.Popen(
            [qemu, "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-nic",
             "none", "-machine", "microvm,pit=on,pic=on,rtc=on,isa-serial=off,"
             "x-option-roms=off", "-accel", "tcg", "-cpu", "max,-erms,-fsrm", "-m", memory,
             "-blockdev", "driver=file,node-name=root,read-only=on,locking=off,filename="
             + IMAGE + "/rootfs.erofs", "-device", "virtio-blk-device,drive=root",
             "-device", "virtio-serial-device,max_ports=3",
             "-chardev", "socket,id=wire,fd=%d" % wire,
             "-device", "virtserialport,chardev=wire,name=fsd.wire",
             "-chardev", "socket,id=net,fd=%d" % net,
             "-device", "virtserialport,chardev=net,name=fsd.net",
             "-kernel", IMAGE + "/vmlinux", "-initrd", IMAGE + "/initramfs.cpio",
             "-append", "quiet loglevel=0 reboot=t panic=-1 cpuidle.off=1 tsc=reliable nowatchdog "
             "mitigations=off fsd_plain=1 tsc_early_khz=%d" % clock_khz()],
            pass_fds=(wire, net), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)
        for s in theirs:
            s.close()
        self.wire, self.port = Stream(ours[0]), Port(ours[1])
        self.lane = 0
        self.aside = []  # frames of lane 0
        self.magic = 0xf500 | WIRE["VERSION"]

    def put(self, kind, data=b"", arg=0, lane=0):
        self.wire.sock.sendall(struct.pack("<IHBB", len(data) | lane << 24, self.magic,
                                           WIRE[kind], arg) + data)

    def get(self, seconds=60):
        """(type, lane, payload) of the next frame."""
        end = time.monotonic() + seconds * SLOW
        size, magic, kind, _ = struct.unpack("<IHBB", self.wire.exactly(8, end))
        assert magic == self.magic, hex(magic)
        return kind, size >> 24, self.wire.exactly(size & 0xffffff, end)

    def until(self, kind, seconds=60):
        while True:
            got, _, data = self.get(seconds)
            if got == WIRE[kind]:
                return data
            if got == WIRE["FAILED"]:
                raise RuntimeError(data[4:].decode())

    def ready(self):
        """The walls that PID 1 sees."""
        self.until("HELLO", 120)
        return struct.unpack_from("<II", self.until("READY", 300))[1]

    def own(self):
        self.put("OWN", os.urandom(64))

    def network(self, flags=1, routes=(), ca=""):
        self.put("NETWORK", struct.pack("<II", flags, len(routes)) + b"".join(routes) +
                 text(ca))

    def share(self):
        self.put("SHARE", struct.pack("<QIIQ", 512 << 20, 256, 1, time.time_ns()))

    def begin(self, argv, env=()):
        """Starts a program on a lane of its own; its number."""
        self.lane += 1
        env = ["HOME=/home/user", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
               *env]
        job = struct.pack("<IIIIQQQQIIIQ", 4, 0, 1, 128, 256 << 20, 1 << 30, 1 << 20, 0,
                          0, 0, 0, time.time_ns())
        for strings in (argv, env):
            job += b"" if strings is not argv else text("") + text("")
            job += struct.pack("<I", len(strings)) + b"".join(map(text, strings))
        self.put("JOB", job, lane=self.lane)
        self.put("RUN", lane=self.lane)
        self.put("STDIN_END", lane=self.lane)
        return self.lane

    def end(self, lane, seconds=120):
        """(exit code, stdout, stderr) of a program."""
        out = {WIRE["OUT"]: b"", WIRE["ERR"]: b""}
        while True:
            kind, of, data = self.get(seconds)
            if of == 0:
                self.aside.append(kind)
            elif of == lane and kind in out:
                out[kind] += data
            elif of == lane and kind == WIRE["FAILED"]:
                raise RuntimeError(data[4:].decode())
            elif of == lane and kind == WIRE["EXIT"]:
                how, value = struct.unpack_from("<II", data)
                return (value if how == 0 else -value, *(d.decode() for d in
                                                         out.values()))

    def run(self, argv, env=(), seconds=120):
        return self.end(self.begin(argv, env), seconds)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def main():
    """Boots one and says which walls stand: a try by hand."""
    machine = Machine()
    began = time.monotonic()
    try:
        print("walls %#x after %.1f s" % (machine.ready(), time.monotonic() - began))
    finally:
        machine.close()


if __name__ == "__main__":
    sys.exit(main())
