# SPDX-License-Identifier: Apache-2.0
"""A session's runner on the host, driven as the guest's init drives it.

session_test.py LANGUAGE RUNNERS <STEPS — starts the runner of python, node or
bash below RUNNERS in an empty directory and gives it the steps, each of which
begins with a line

    ### session|cell [stdin=TEXT] [args=WORDS] [env=WORDS] [file=NAME]
        [int=TEXT] [later=TEXT] [open] [pause=SECONDS] [shown]

where TEXT may hold \\n and WORDS are parted by commas. int: interrupt the runner,
and its foreground, when its output says so; later: wait for that in the output after the end; open:
stdin has no end; pause: before the step; shown: what was told when it was shown is a line `shown:
JSON`. Of each step it prints the lines `out: ...`, `err: ...`,
`result: JSON` and `exit: N`, with HOME for the directory. The last line is
`ended` if the runner ended when it was told to, else `died: STATUS`.
"""
import json
import os
import select
import signal
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SLOW = int(os.environ.get("SLOW", "1"))
BOUND = 20 * SLOW
NODE = "/usr/bin/node"
COMMANDS = {
    "python": (["/usr/bin/python3", "-s"], "session.py", "py"),
    "node": ([NODE if os.path.exists(NODE) else "node", "--no-sparkplug"],
             "session.js", "js"),
    "bash": (["/bin/bash"], "session.sh", "sh"),
}


def split(result):
    """Return: the lines of what was shown, then the value."""
    *lines, value = result.split(b"\n") if result[:1] == b"\x1e" else [result]
    for at, line in enumerate(lines):
        if line[:1] != b"\x1e":
            sys.exit("this is no line of what was shown: %r" % line)
        lines[at] = line[1:]
    return *lines, value


class Died(Exception):
    pass


class Step:
    """The FIFOs of one step, and what has come out of them."""

    def __init__(self, place, options):
        self.place = place
        self.said = {"out": b"", "err": b"", "result": b""}
        self.ends = {}
        os.mkdir(place)
        for name in ("in", *self.said):
            os.mkfifo(f"{place}/{name}")
        for name in ("args", "env"):
            if name in options:
                with open(f"{place}/{name}", "w") as file:
                    file.write("".join(
                        t + "\0" for t in options[name].split(",")))
        for name in self.said:
            fd = os.open(f"{place}/{name}", os.O_RDONLY | os.O_NONBLOCK)
            self.ends[name] = fd
        self.input = os.open(f"{place}/in", os.O_RDWR)
        os.write(self.input, options.get("stdin", "").replace(
            "\\n", "\n").encode())

    def take(self, name):
        """Takes what is there. Return: is there more to come?"""
        while True:
            try:
                data = os.read(self.ends[name], 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.said[name] += data


class Session:
    def __init__(self, language, runners, home):
        command, name, self.extension = COMMANDS[language]
        self.home, self.steps = home, 0
        self.control, theirs = socket.socketpair()
        shell = 'exec 3<&%d %d>&-; exec "$@"' % (2 * (theirs.fileno(),))
        self.child = subprocess.Popen(
            ["/bin/bash", "-c", shell, "bash", *command,
             os.path.join(os.path.abspath(runners), language, name)],
            env={"LC_ALL": "C.UTF-8", "HOME": "/", "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL, cwd=home, pass_fds=[theirs.fileno()],
            start_new_session=True)
        theirs.close()
        if self.said(None, 1) != b"R":
            sys.exit("the runner is not ready")

    def said(self, step, count, options=()):
        """What the runner says next, while the step's output is taken."""
        said, until = b"", time.monotonic() + BOUND
        names = {} if not step else {fd: n for n, fd in step.ends.items()}
        watched = [self.control, *names]
        interrupt = "int" in options
        while len(said) < count:
            ready = select.select(watched, [], [], until - time.monotonic())[0]
            if not ready:
                raise TimeoutError(f"the runner says nothing more: {said!r}")
            for fd in ready:
                if fd is self.control:
                    data = self.control.recv(count - len(said))
                    if not data:
                        raise Died
                    said += data
                elif not step.take(names[fd]):
                    watched.remove(fd)
            if interrupt and options["int"].encode() in step.said["out"]:
                interrupt = False
                os.killpg(self.child.pid, signal.SIGINT)
        return said

    def finish(self, step, options):
        later = options.get("later", "").encode()
        until = time.monotonic() + BOUND
        while step.take("result") or later not in step.said["out"]:
            fds = [step.ends["result"], step.ends["out"]]
            if later in step.said["out"]:
                fds.pop()
            if not select.select(fds, [], [], until - time.monotonic())[0]:
                raise TimeoutError("the result has no end, or no %r" % later)
            step.take("out")
        step.take("out")
        step.take("err")

    def run(self, mode, options, code):
        self.steps += 1
        time.sleep(float(options.get("pause", 0)))
        file = f"{self.home}/{options.get('file', 'step.' + self.extension)}"
        with open(file, "w") as f:
            f.write(code)
        step = Step(f"{self.home}/.step{self.steps}", options)
        line = f"step {mode} {file} {step.place}\n".encode()
        try:
            self.control.sendall(line)
            if self.said(None, 1) != b"S":
                sys.exit("the runner does not begin the step")
            if "open" not in options:
                os.close(step.input)
            end = self.said(step, 2, options)
            if end[:1] != b"E":
                sys.exit("the runner says %r" % end)
            self.finish(step, options)
            self.show(step, options)
            print("exit:", end[1])
        except (Died, ConnectionError):
            self.finish(step, {})
            self.show(step)
            raise Died from None
        except TimeoutError:
            self.show(step)
            raise
        shutil.rmtree(step.place)

    def show(self, step, options=()):
        for name in ("out", "err"):
            text = step.said[name].decode("utf-8", "backslashreplace")
            for line in text.replace(self.home, "HOME").splitlines():
                print(f"{name}: {line}")
        *shown, value = split(step.said["result"])
        if "shown" in options:
            for line in shown:
                print("shown:", json.dumps(json.loads(line)).replace(
                    self.home, "HOME"))
        if value:
            result = json.loads(value)
            print("result:", json.dumps(result).replace(self.home, "HOME"))


def parse(text):
    steps = []
    for line in text.splitlines(keepends=True):
        if line.startswith("### "):
            words = line.split()
            options = dict((w + "=").split("=", 1) for w in words[2:])
            options = {k: v[:-1] for k, v in options.items()}
            steps.append((words[1], options, []))
        else:
            steps[-1][2].append(line)
    return steps


def main():
    steps = parse(sys.stdin.read())
    with tempfile.TemporaryDirectory() as home:
        session = Session(sys.argv[1], sys.argv[2], os.path.realpath(home))
        try:
            for mode, options, lines in steps:
                session.run(mode, options, "".join(lines))
            session.control.close()
            session.child.wait(BOUND)
            print("ended")
        except Died:
            session.child.wait(BOUND)
            print("died:", session.child.returncode)
        finally:
            session.child.kill()
            session.child.wait(BOUND)


main()
