#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Drives a guest over its wire, without the product's host side.

For the tests of the guest alone: it boots the image in QEMU, saves and
restores templates, speaks the frames of guest/wire/wire.h, and measures.
Nothing here is used by the product.
"""
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import time

MAGIC = 0xF50C
TYPES = {
    "HEAT": 1, "PING": 2, "JOB": 3, "RUN": 4, "STDIN": 5, "STDIN_END": 6,
    "KILL": 7, "OWN": 8, "FS": 9, "SHARE": 10, "CLOSE": 11, "FILE": 16, "FILE_DATA": 17, "FILE_END": 18, "HELLO": 32,
    "READY": 33, "HEATED": 34, "PONG": 35, "STARTED": 36, "STDIN_ACK": 37,
    "OUT": 38, "ERR": 39, "RESULT": 40, "EXIT": 41, "OUTPUT_END": 42,
    "FAILED": 43, "FS_REPLY": 44, "CLOSED": 45,
}
NAMES = {number: name for name, number in TYPES.items()}
PYTHON, NODE, TYPESCRIPT, BASH, EXEC = range(5)
SCRIPT, CALL, SESSION, CELL = range(4)
KILL_FIRST, KILL_ALL, KILL_GROUP, KILL_INTERRUPT = range(4)
LANE_MAX = 96
FS_OPS = {name: number for number, name in enumerate(
    "STAT LIST READ WRITE TRUNCATE CREATE MKDIR UNLINK RMDIR RENAME CHMOD "
    "TIMES HIDDEN PROCESSES".split())}
HOME, ROOT = range(2)
PAYLOAD_MAX = 64 << 10
STDIN_WINDOW = 64 << 10
EXIT_FIELDS = ("kind value lives unasked left begun wall_ns user_us system_us peak_memory_bytes "
               "peak_processes oom_kills stdout_bytes stdout_dropped "
               "stderr_bytes stderr_dropped result_dropped").split()


def frame(name, payload=b"", arg=0, lane=0):
    return struct.pack("<IHBB", len(payload) | lane << 24, MAGIC, TYPES[name],
                       arg) + payload


def on_lane(frames, lane):
    """The same frames on a lane."""
    out, at = bytearray(frames), 0
    while at < len(out):
        length = struct.unpack_from("<I", out, at)[0]
        out[at + 3] = lane
        at += 8 + length
    return bytes(out)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(data)) + data


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(map(text, values))


def file_frames(path, data, mode=0o644):
    """The frames that make one input; data None makes a directory."""
    size = 0 if data is None else len(data)
    head = struct.pack("<IQQ", mode, size, 0) + text(path)
    if data is None:
        return frame("FILE", head, 1)
    out = frame("FILE", head, 0)
    for at in range(0, size, PAYLOAD_MAX):
        out += frame("FILE_DATA", data[at:at + PAYLOAD_MAX])
    return out + frame("FILE_END")


def job_frame(runner, argv, env=None, mode=SCRIPT, call="", cpus=1,
              processes=256, memory=256 << 20, stdout_limit=64 << 20,
              stderr_limit=16 << 20, output_limit=0, output_files=10000,
              linger_ms=0, fresh=0, cwd="", now=None):
    env = env if env is not None else {"HOME": "/home/user",
                                       "LANG": "C.UTF-8",
                                       "PATH": "/usr/local/bin:/usr/bin:/bin",
                                       "USER": "user"}
    return frame("JOB", struct.pack(
        "<IIIIQQQQIIIQ", runner, mode, cpus, processes, memory, stdout_limit,
        stderr_limit, output_limit, output_files, linger_ms, fresh,
        now or time.time_ns())
        + text(call) + text(cwd) + texts(argv)
        + texts([f"{k}={v}" for k, v in env.items()]))


def share_frame(memory=512 << 20, processes=256, cpus=1, now=None):
    return frame("SHARE", struct.pack("<QIIQ", memory, processes, cpus,
                                      now or time.time_ns()))


def fs_frame(op, path="", offset=0, other=0, length=0, mode=0, flags=0,
             tree=HOME, to="", data=b"", number=0):
    return frame("FS", struct.pack("<II", number, FS_OPS[op]) + text(path)
                 + struct.pack("<QQIIII", offset, other, length, mode, flags,
                               tree) + text(to) + data)


def exit_fields(data):
    out = dict(zip(EXIT_FIELDS, struct.unpack_from("<IIIIII11Q", data)))
    out["begun_by"] = data[6 * 4 + 11 * 8 + 4:].decode()
    return out


class Result:
    def __init__(self):
        self.out, self.err, self.result = bytearray(), bytearray(), bytearray()
        self.exit = self.failed = None
        self.started = False
        self.pid = 0
        self.files = {}
        self.modes = {}
        self.output_end = None
        self.seconds = None

    @property
    def code(self):
        if self.exit is None:
            return None
        return self.exit["value"] + (128 if self.exit["kind"] else 0)


class GuestGone(Exception):
    pass


class Lane:
    """What a lane has said."""

    def __init__(self, shared, number):
        self.shared, self.number = shared, number
        self.result = Result()
        self.ended = self.closed = False
        self.output = -1

    def send(self, frames):
        self.shared.machine.send(on_lane(frames, self.number))

    def job(self, runner, argv, files=(), stdin=b"", **options):
        """Begins a job: files are (path, bytes or None[, mode])."""
        self.result, self.ended = Result(), False
        self.wants = options.get("output_limit", 0)
        data = job_frame(runner, argv, **options)
        for item in files:
            data += file_frames(*item)
        data += frame("RUN")
        if stdin:
            data += frame("STDIN", stdin)
        self.send(data + frame("STDIN_END"))
        return self

    def hear(self, name, arg, data):
        r = self.result
        if name == "STARTED":
            r.started, r.pid = True, struct.unpack("<I", data)[0]
        elif name in ("OUT", "ERR", "RESULT"):
            r.__dict__[name.lower()].extend(data)
        elif name == "EXIT":
            r.exit = exit_fields(data)
            self.ended = not self.wants
        elif name == "FAILED":
            r.failed = data[4:].decode()
            self.ended = True
        elif name == "FILE":
            length = struct.unpack_from("<I", data, 12)[0]
            self.path = data[16:16 + length].decode()
            r.files[self.path] = None if arg else bytearray()
        elif name == "FILE_DATA":
            r.files[self.path] += data
        elif name == "OUTPUT_END":
            r.output_end = struct.unpack("<II", data)
            self.ended = True
        elif name == "CLOSED":
            self.closed = True

    def wait(self, timeout=60):
        """Until the job is over. Return: its result."""
        self.shared.until(lambda: self.ended, timeout)
        return self.result

    def run(self, *args, timeout=60, **options):
        return self.job(*args, **options).wait(timeout)

    def close(self, how=0, timeout=60):
        self.send(frame("CLOSE", arg=how))
        self.shared.until(lambda: self.closed, timeout)
        del self.shared.lanes[self.number]


class Shared:
    """A machine that is shared: its lanes, by their numbers."""

    def __init__(self, machine):
        self.machine, self.lanes, self.asked = machine, {}, 0
        self.replies = {}

    def open(self):
        number = next(n for n in range(1, LANE_MAX + 1)
                      if n not in self.lanes)
        self.lanes[number] = Lane(self, number)
        return self.lanes[number]

    def until(self, condition, timeout):
        end = time.monotonic() + timeout
        while not condition():
            name, arg, data, lane = self.machine.receive_any(
                end - time.monotonic())
            if lane:
                self.lanes[lane].hear(name, arg, data)
            elif name == "FS_REPLY":
                number, error = struct.unpack_from("<II", data)
                self.replies[number] = error, data[8:]
            else:
                assert name == "PONG", name

    def fs(self, op, path="", timeout=60, **operands):
        """Return: errno and the data of the answer."""
        self.asked += 1
        number = self.asked
        self.machine.send(fs_frame(op, path, number=number, **operands))
        self.until(lambda: number in self.replies, timeout)
        return self.replies.pop(number)

    def processes(self):
        lines = self.fs("PROCESSES")[1].decode().splitlines()
        return [(int(p), int(lane), command) for p, lane, command in
                (line.split(" ", 2) for line in lines)]


class Machine:
    """One QEMU process with its wire and its QMP connection."""

    def __init__(self, image, work, memory="1G", cpus=1, debug=False,
                 extra=""):
        self.image, self.work, self.memory = image, work, memory
        self.cpus, self.debug, self.extra = cpus, debug, extra
        self.process = self.wire = self.qmp = None
        self.owned = False
        self.buffer = bytearray()
        self.qmp_buffer = b""

    def command(self, ram, share, incoming):
        with open("/proc/cpuinfo") as info:
            mhz = next(line.split(":")[1] for line in info
                       if line.startswith("cpu MHz"))
        append = ("quiet loglevel=0 reboot=t panic=-1 mitigations=off tsc=reliable nowatchdog "
                  f"cpuidle.off=1 tsc_early_khz={int(float(mhz) * 1000)} "
                  + self.extra)
        serial = "on" if self.debug else "off"
        if self.debug:
            append = append.replace("quiet loglevel=0",
                                    "console=ttyS0 loglevel=6")
        machine = ("microvm,x-option-roms=off,pit=on,pic=on,rtc=on,"
                   f"isa-serial={serial},memory-backend=ram")
        argv = ["qemu-system-x86_64", "-M", machine, "-accel", "tcg",
                "-cpu", os.environ.get("WD_CPU", "max,-erms,-fsrm"), "-m", self.memory, "-smp", str(self.cpus),
                "-object", f"memory-backend-file,id=ram,size={self.memory},"
                f"mem-path={ram},share={'on' if share else 'off'}",
                "-nodefaults", "-no-user-config", "-nographic", "-no-reboot",
                "-nic", "none", "-kernel", f"{self.image}/vmlinux",
                "-initrd", f"{self.image}/initramfs.cpio", "-append", append,
                "-drive", f"id=root,file={self.image}/rootfs.erofs,"
                "format=raw,if=none,readonly=on,file.locking=off",
                "-device", "virtio-blk-device,drive=root",
                "-device", "virtio-serial-device",
                "-chardev", f"socket,id=wire,path={self.work}/wire.sock,"
                "server=on,wait=off",
                "-device", "virtserialport,chardev=wire,name=fsd.wire",
                "-chardev", f"socket,id=qmp,path={self.work}/qmp.sock,"
                "server=on,wait=off",
                "-mon", "chardev=qmp,mode=control"]
        if self.debug:
            argv += ["-serial", f"file:{self.work}/console"]
        if incoming:
            argv += ["-incoming", "defer"]
        return argv + ["-S"]

    def connect(self, name):
        path = f"{self.work}/{name}.sock"
        end = time.monotonic() + 20
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(path)
                return sock
            except (FileNotFoundError, ConnectionRefusedError):
                sock.close()
                if self.process.poll() is not None:
                    raise GuestGone(open(f"{self.work}/qemu.log").read())
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)

    def start(self, ram, share, incoming=False):
        for name in ("wire", "qmp"):
            if os.path.exists(f"{self.work}/{name}.sock"):
                os.unlink(f"{self.work}/{name}.sock")
        with open(f"{self.work}/qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                self.command(ram, share, incoming), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        self.qmp = self.connect("qmp")
        self.qmp_read()
        self.execute("qmp_capabilities")
        # The host's end is there before the guest runs: what is sent to a
        # port that nobody has opened is lost.
        self.wire = self.connect("wire")
        self.wire.setblocking(False)

    def boot(self, timeout=120):
        os.makedirs(self.work, exist_ok=True)
        began = time.monotonic()
        self.start(f"{self.work}/ram", True)
        self.execute("cont")
        self.hello = self.expect("HELLO", timeout)[2]
        self.hello_seconds = time.monotonic() - began
        self.ready = struct.unpack_from(
            "<II", self.expect("READY", timeout)[2])[0]
        self.ready_seconds = time.monotonic() - began
        return self

    def save(self, directory):
        """Stops the machine and makes a template of it."""
        os.makedirs(directory, exist_ok=True)
        self.execute("stop")
        self.execute("migrate-set-capabilities", capabilities=[
            {"capability": "x-ignore-shared", "state": True}])
        self.execute("migrate", uri=f"exec:cat > {directory}/state")
        self.wait_migration()
        self.close()
        shutil.move(f"{self.work}/ram", f"{directory}/ram")

    def restore(self, directory):
        os.makedirs(self.work, exist_ok=True)
        began = time.monotonic()
        self.start(f"{directory}/ram", False, incoming=True)
        self.execute("migrate-set-capabilities", capabilities=[
            {"capability": "x-ignore-shared", "state": True}])
        self.execute("migrate-incoming", uri=f"exec:cat {directory}/state")
        self.wait_migration()
        self.execute("cont")
        self.restore_seconds = time.monotonic() - began
        return self

    def wait_migration(self):
        while True:
            status = self.execute("query-migrate").get("status")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise GuestGone(f"migration {status}")
            time.sleep(0.001)

    def qmp_read(self):
        while b"\n" not in self.qmp_buffer:
            data = self.qmp.recv(65536)
            if not data:
                raise GuestGone("QMP closed")
            self.qmp_buffer += data
        line, self.qmp_buffer = self.qmp_buffer.split(b"\n", 1)
        return json.loads(line)

    def execute(self, command, **arguments):
        request = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        self.qmp.sendall(json.dumps(request).encode())
        while True:
            answer = self.qmp_read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise RuntimeError(answer["error"])

    def send(self, data, timeout=60):
        """Sends all; what comes meanwhile is kept for receive()."""
        end = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select(
                [self.wire], [self.wire], [], end - time.monotonic())
            if readable:
                self.fill()
            if writable:
                view = view[self.wire.send(view):]

    def fill(self):
        data = self.wire.recv(1 << 16)
        if not data:
            raise GuestGone("the wire closed")
        self.buffer += data

    def receive(self, timeout):
        """The next frame: (name, arg, payload), of lane 0."""
        name, arg, payload, lane = self.receive_any(timeout)
        assert not lane, (lane, name)
        return name, arg, payload

    def receive_any(self, timeout):
        """The next frame: (name, arg, payload, lane)."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 8:
                length, magic, kind, arg = struct.unpack_from("<IHBB",
                                                              self.buffer)
                assert magic == MAGIC, self.buffer[:40]
                lane, length = length >> 24, length & 0xffffff
                if len(self.buffer) >= 8 + length:
                    payload = bytes(self.buffer[8:8 + length])
                    del self.buffer[:8 + length]
                    return NAMES[kind], arg, payload, lane
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.wire], [], [], left)[0]:
                raise TimeoutError("the guest is silent")
            self.fill()

    def expect(self, name, timeout):
        got = self.receive(timeout)
        assert got[0] == name, got
        return got

    def own(self, entropy=None):
        self.owned = True
        self.send(frame("OWN", entropy or os.urandom(64)))

    def heat(self, mask=31, rounds=1, timeout=120):
        self.send(frame("HEAT", struct.pack("<II", mask, rounds)))
        return struct.unpack("<I", self.expect("HEATED", timeout)[2])[0]

    def run(self, runner, argv, files=(), stdin=b"", timeout=60, kill=None,
            **options):
        """One job. files: (path, bytes or None[, mode]). kill: (seconds
        after STARTED, scope, signal)."""
        if not self.owned:
            self.own(options.pop("entropy", None))
        data = job_frame(runner, argv, **options)
        for item in files:
            data += file_frames(*item)
        data += frame("RUN")
        if not stdin:
            data += frame("STDIN_END")
        result = Result()
        began = time.monotonic()
        self.send(data)
        self.collect(result, began, stdin, timeout, kill,
                     options.get("output_limit"))
        return result

    def collect(self, r, began, stdin, timeout, kill, want_output):
        end = began + timeout
        credit, at, ended = STDIN_WINDOW, 0, not stdin
        path = None
        kill_at = None
        while True:
            while at < len(stdin) and credit:
                part = stdin[at:at + min(credit, PAYLOAD_MAX)]
                self.send(frame("STDIN", part))
                at += len(part)
                credit -= len(part)
            if not ended and at == len(stdin):
                self.send(frame("STDIN_END"))
                ended = True
            now = time.monotonic()
            if kill_at and now >= kill_at:
                self.send(frame("KILL", struct.pack("<I", kill[2]), kill[1]))
                kill_at = None
            try:
                name, arg, data = self.receive(
                    min(end, kill_at or end) - now)
            except TimeoutError:
                if kill_at and time.monotonic() < end:
                    continue
                raise
            if name == "STARTED":
                r.started = True
                r.pid = struct.unpack("<I", data)[0] if data else 0
                if kill:
                    kill_at = time.monotonic() + kill[0]
            elif name == "OUT":
                r.out += data
            elif name == "ERR":
                r.err += data
            elif name == "RESULT":
                r.result += data
            elif name == "STDIN_ACK":
                credit += struct.unpack("<I", data)[0]
            elif name == "EXIT":
                r.seconds = time.monotonic() - began
                r.exit = exit_fields(data)
                if not want_output:
                    return
            elif name == "FAILED":
                r.failed = data[4:].decode()
                return
            elif name == "FILE":
                mode, size = struct.unpack_from("<IQ", data)
                path = data[16:].decode("utf-8", "surrogateescape")
                r.modes[path] = mode
                r.files[path] = None if arg else bytearray()
            elif name == "FILE_DATA":
                r.files[path] += data
            elif name == "OUTPUT_END":
                r.output_end = struct.unpack("<II", data)
                return

    def share(self, **limits):
        if not self.owned:
            self.own()
        self.send(share_frame(**limits))
        return Shared(self)

    def cpu_seconds(self):
        """What QEMU has used of the host's processors."""
        total = 0
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat") as stat:
                total += int(stat.read().split()[0])
        return total / 1e9

    def close(self):
        for sock in (self.wire, self.qmp):
            if sock:
                sock.close()
        self.wire = self.qmp = None
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
