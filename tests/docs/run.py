#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of the documents and compares what it prints. Speaks TAP.

run.py [--engines] DOCUMENT...

A command is a line that begins with "$ " in a ```console block (.md) or between
.EX and .EE (manual pages); a here-document, a backslash or "> " goes on in the
next lines. What follows is all that it prints, on both streams; "..." stands for any
text, and alone on a line for any lines. Each block is a test. The blocks of a
document share a shell, so a later one finds what an earlier one has made. Their
standard input is empty. What fsd run says on a busy host is no part of the output; so
no example may count what stands in a file of its standard error.

A script DOCUMENT.sh beside this program is read before a document's examples; TOP and
ENGINES are set for it.

What begins with "make" is not run where no Makefile is: `make check` runs this.

A line .\\" engine: NAME before .EX: the block is only for --engines, which
tests/engines/run.sh gives in a root that has all engines.

Each document has a mount namespace of its own with an empty /mnt, /run/fsd and
home directory, so that a command stands in it as a user types it. The templates
are those of FSD_TEST_STATE; the image is FSD_IMAGE.
"""
import contextlib
import os
import re
import select
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(__file__ + "/../../..")
SLOW = int(os.environ.get("SLOW", "1"))
BOUND_S = 60 * SLOW     # of one command
# What fsd run says when it has waited for a second: on a busy host only.
PROGRESS = re.compile(r"(?m)^fsd run: the template machine is being made.*\n")
SETUP = r"""
mount -t tmpfs none /mnt &&
mount -t tmpfs none /var/lib &&
mkdir -p /var/lib/fsd/templates &&
mount --bind "$1/templates" /var/lib/fsd/templates &&
mkdir -p /run/fsd &&
mount -t tmpfs none /run/fsd &&
mkdir -p /mnt/jobs /run/fsd/jobs &&
cd "$2" || exit
exec 9<&0 </dev/null
while IFS= read -r -d "" -u 9 command; do
	eval "$command"
	printf '\n%s\n' "$3"
done
"""


class Command:
    """A command, what it is to print, and the line where it stands."""

    def __init__(self, line, text):
        self.line, self.text, self.expected = line, text, []


def blocks_of_markdown(lines):
    """(title, first line's number, lines, the engine that it is for) of each console
    block."""
    title, block, begin = "", None, 0
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if block is not None:
                yield title, begin, block, None
                block = None
            elif line.startswith("```console"):
                block, begin = [], number + 1
        elif block is not None:
            block.append(line)
        elif line.startswith("#"):
            title = line.strip("# ")


def blocks_of_manual(lines):
    title, block, begin, engine = "", None, 0, None
    for number, line in enumerate(lines, 1):
        if line.startswith('.\\" engine: '):
            engine = line.split()[-1]
        elif line.startswith(".SH") or line.startswith(".SS"):
            title = line[4:].strip('" ')
        elif line == ".EX":
            block, begin = [], number + 1
        elif line == ".EE" and block is not None:
            if any(text.startswith("$ ") for text in block):
                yield title, begin, block, engine
            block = engine = None
        elif block is not None:
            line = re.sub(r"^\\&", "", line)
            line = re.sub(r"\\f[BIRP]", "", line)
            line = line.replace(r"\(aq", "'").replace(r"\(ga", "`")
            line = line.replace(r"\(ha", "^").replace(r"\(ti", "~")
            block.append(line.replace(r"\-", "-").replace(r"\e", "\\")
                         .replace(r"\&", ""))


def commands(begin, block):
    found, delimiter, goes_on = [], None, False
    for number, line in enumerate(block, begin):
        if delimiter is not None or goes_on:
            found[-1].text += "\n" + line
            if delimiter is not None:
                if line == delimiter:
                    delimiter = None
                continue
        elif line.startswith("$ "):
            found.append(Command(number, line[2:]))
        elif line.startswith("> ") and found and not found[-1].expected:
            found[-1].text += "\n" + line[2:]
        elif found:
            found[-1].expected.append(line)
            continue
        else:
            raise SystemExit("line %d: output without a command" % number)
        goes_on = line.endswith("\\")
        here = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line)
        if here and not goes_on:
            delimiter = here.group(1)
    return found


# What a run that waits for 2 s says, and a batch each 10 s: on a busy host each may.
WAITS = re.compile(r"^fsd (run: the job waits|batch: \d+/\d+ ) .*\n", re.MULTILINE)


def pattern(expected):
    """What the output has to match as a whole."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(
                re.escape(piece) for piece in line.split("...")) + "\n")
    return "".join(parts)


class Shell:
    """A bash in a mount namespace of its own."""

    def __init__(self, state, home):
        env = {"PATH": TOP + "/build:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": home, "LC_ALL": "C.UTF-8", "TERM": "dumb",
               "TMPDIR": home + "/tmp",
               "FSD_IMAGE": os.environ.get("FSD_IMAGE", TOP + "/build/image")}
        os.mkdir(env["TMPDIR"])
        self.mark = "end-of-%d" % os.getpid()
        self.child = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c",
             SETUP, "bash", state, home, self.mark], env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, text):
        """What it prints; raises TimeoutError."""
        self.child.stdin.write(text.encode() + b"\0")
        self.child.stdin.flush()
        end = ("\n" + self.mark + "\n").encode()
        out, until = b"", time.monotonic() + BOUND_S
        while not out.endswith(end):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [],
                                              left)[0]:
                raise TimeoutError(out.decode(errors="replace"))
            piece = os.read(self.child.stdout.fileno(), 65536)
            if not piece:
                raise TimeoutError("the shell has ended: " +
                                   out.decode(errors="replace"))
            out += piece
        out = PROGRESS.sub("", out[:-len(end)].decode(errors="replace"))
        return out if out == "" or out.endswith("\n") else out + "\n"

    def close(self):
        """Ends it, and the mounts that it has left."""
        try:
            self.run("for m in /mnt/jobs /run/fsd/jobs; do "
                     "! mountpoint -q $m || fsd umount --now $m; done")
        except (TimeoutError, BrokenPipeError):
            pass
        self.child.stdin.close()
        self.child.terminate()
        self.child.wait()


def try_block(shell, block, home):
    """None, or what went wrong first; the rest is run for the blocks behind."""
    wrong = None
    for command in block:
        if command.text.startswith("make") and not os.path.exists(home + "/Makefile"):
            continue
        try:
            out = shell.run(command.text)
        except (TimeoutError, BrokenPipeError) as e:
            return "line %d: $ %s\ndid not end in %d s: %s" % (
                command.line, command.text, BOUND_S, e)
        out = WAITS.sub("", out)
        if not wrong and not re.fullmatch(pattern(command.expected), out):
            wrong = "line %d: $ %s\nexpected:\n%s\ngot:\n%s" % (
                command.line, command.text, "\n".join(command.expected), out)
    return wrong


def main():
    state = os.path.abspath(os.environ.get("FSD_TEST_STATE",
                                           TOP + "/build/test-state"))
    engines = sys.argv[1:2] == ["--engines"]
    number = failed = 0
    for path in sys.argv[1 + engines:]:
        with open(path) as f:
            lines = f.read().split("\n")
        reader = blocks_of_markdown if path.endswith(".md") else \
            blocks_of_manual
        with tempfile.TemporaryDirectory(prefix="fsd-docs-") as home, \
                contextlib.closing(Shell(state, home)) as shell:
            before = os.path.join(TOP, "tests/docs",
                                  os.path.basename(path) + ".sh")
            if os.path.exists(before):
                shell.run("TOP=%s ENGINES=%s; . %s" % (
                    TOP, "1" if engines else "", before))
            for title, begin, block, engine in reader(lines):
                if engine and not engines:
                    continue
                number += 1
                why = try_block(shell, commands(begin, block), home)
                failed += why is not None
                print("%sok %d - %s, line %d (%s): each command prints what "
                      "is said" % ("not " if why else "", number,
                                   os.path.relpath(path, TOP), begin, title))
                if why:
                    print("\n".join("# " + line for line in why.split("\n")))
                sys.stdout.flush()
    print("1..%d" % number)
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
