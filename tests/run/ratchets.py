#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what makes the code hard to change, and compares each number with the one
in ratchets.txt. Speaks TAP.

ratchets.py          fails when a number has grown, and when it has fallen and its line
                     was not lowered
ratchets.py --lower  lowers these lines; refuses while an object is older than its
                     source, since circles and statics are counted in objects
ratchets.py NAME     lists what the number NAME counts

A line of ratchets.txt is `NUMBER NAME`. A line may only be raised with a reason behind
it, `NUMBER NAME REASON`: the number is compared with that of the commit before.
"""
import collections
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import order  # noqa: E402

LIST = "tests/run/ratchets.txt"
FOLDER_MOST = 24  # .c files
FUNCTION_MOST = 60  # lines
STRUCTS = {"run": "fsd/run/run_int.h", "job": "fsd/jobs/job.h", "fsd": "fsd/fsd.h"}
# The parts of struct job that other rooms than fsd/jobs own.
JOB_OWNERS = {"run": "fsd/run", "gone": "fsd/run", "submit": "fsd/submit",
              "inotify": "fsd/mount", "readers": "fsd/mount", "late_run": "fsd/fuse",
              "rows": "fsd/handover"}
# Programs, each with the objects that are linked into it.
CIRCLES = {
    "fsd": "build/release/fsd/{base,users,handover,store,files,sched,jobs,builds,run,"
           "living,submit,mount,fuse,server}",
    "cli": "build/release/fsd/{cli,client}",
    "gateway": "build/release/fsd/gateway",
    "vm": "build/release/vm",
    "guest": "build/guest/guest",
    "layout": "build/release/layout",
}
# Comments that name no actor, or name one that is none. The reader has to look for it.
RIDDLES = {
    "a sentence that begins with Who or What":
        r"(?:^|[.:;] )(?:Who|What|Whose|Whoever|Whatever)\b(?! (?:is|are|was|were)\b[^.]*\?)",
    "nobody": r"\b[Nn]obody\b",
    "nothing as an actor": r"\b[Nn]othing (?:is|was|has|can|may|must|does|needs|waits|"
                           r"comes|goes|knows|tells|says|else)\b",
    "is told": r"\b(?:is|are|was|were|be) told\b",
    "is to be": r"\b(?:is|are|was|were) to be\b",
    "goes on": r"\b(?:goes?|going|went) on\b",
    "the one before": r"\bthe ones? (?:before|behind)\b",
}


def sources(*tops):
    for top in tops or ("layout", "guest", "vm", "fsd"):
        yield from sorted(glob.glob(top + "/**/*.[ch]", recursive=True))


def room(path):
    """The folder that a number is kept for."""
    words = path.split("/")[:-1]
    return "/".join(words[:2])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- circles

def braces(pattern):
    head, _, rest = pattern.partition("{")
    if not rest:
        return [head]
    return [head + part for part in rest.rstrip("}").split(",")]


def calls(folders):
    """{object: the objects that it uses}."""
    paths = [path for folder in folders for path in order.objects(folder)
             if not path.endswith(".fake.o") and
             (folder.endswith("gateway") or "/gateway/" not in path)]
    owner, uses = {}, collections.defaultdict(set)
    names = subprocess.check_output(["nm", "-P", "-A", *paths], text=True)
    for line in names.splitlines():
        path, _, rest = line.partition(": ")
        name, kind = (rest.split() + ["", ""])[:2]
        if kind == "U":
            uses[path].add(name)
        elif kind.isupper():
            owner[name] = path
    return {path: {owner[name] for name in uses[path] if name in owner} - {path}
            for path in paths}


def circles(graph):
    """The sets of files that all reach each other (Tarjan), without recursion."""
    number, low, stack, found = {}, {}, [], []
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in number else []
        for node, _ in work:
            number[node] = low[node] = len(number)
            stack.append(node)
        while work:
            node, edges = work[-1]
            for other in edges:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
    return found


def largest_circles():
    for name, pattern in CIRCLES.items():
        most = max(circles(calls(braces(pattern))), key=len)
        yield ("circle " + name, [] if len(most) == 1 else sorted(
            re.sub(r"(\.qemu)?\.o$", ".c", path.partition("/")[2].partition("/")[2])
            for path in most))


# --- structs

def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def fields(path, name):
    """[(type, field)] of a struct's own members; those of a struct inside it count as
    one."""
    text = without_comments(read(path))
    body = text[re.search(r"\bstruct %s \{" % name, text).end():]
    depth, members, now = 0, [], ""
    for letter in body:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            break
        if letter == ";" and not depth:
            members.append(" ".join(now.split()))
            now = ""
        elif not depth and letter != "}":
            now += letter
    for member in members:
        pointer = re.match(r"(.*)\(\*\s*(\w+)\)\s*\(", member)
        if pointer:
            yield pointer.groups()
            continue
        first, *rest = member.split(",")
        kind, field = re.match(r"(.*?)(\w+)(?:\[.*\])?(?:\s*:\s*\d+)?$",
                               first.strip()).groups()
        yield kind, field
        for other in rest:
            yield kind, re.search(r"\w+", other).group()


def structs():
    for name, path in STRUCTS.items():
        members = list(fields(path, name))
        yield "fields " + name, [field for _, field in members]
        yield "bools " + name, [field for kind, field in members
                                if re.search(r"\bbool\b", kind)]


def job_writers():
    """Writes of a part of struct job in another room than its owner's."""
    found = []
    write = re.compile(r"\bjob->(\w+)(?:\.\w+|\[[^]]*\])*\s*"
                       r"(?:[-+|&]?=(?!=)|\+\+|--)|(?:\+\+|--)job->(\w+)|"
                       r"\btake_(?:ptr|fd)\(&?job->(\w+)")
    known = {field for _, field in fields(STRUCTS["job"], "job")}
    for path in sources("fsd"):
        if room(path) in ("fsd/gateway", "fsd/cli", "fsd/client", "fsd/local",
                          "fsd/batch", "fsd/spool"):
            continue  # a job of theirs is another struct
        for groups in write.findall(without_comments(read(path))):
            field = next(filter(None, groups))
            if field in known and room(path) != JOB_OWNERS.get(field, "fsd/jobs"):
                found.append("%s: %s" % (path, field))
    yield "job fields written by another room", sorted(set(found))


# --- files

def folders():
    count = collections.Counter(os.path.dirname(path) for path in sources()
                                if path.endswith(".c"))
    for folder, number in sorted(count.items()):
        if number > FOLDER_MOST:
            yield "folder " + folder, sorted(glob.glob(folder + "/*.c"))


def openings():
    """A .c file opens with what it does, below the licence and before any code."""
    yield "without opening", [
        path for path in sources() if path.endswith(".c") and
        not re.match(r"/\*[^\n]*\*/\n/\*", read(path))]


def functions():
    found = []
    for path in sources():
        start = None
        for number, line in enumerate(read(path).splitlines(), 1):
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start:
                if number - start - 1 > FUNCTION_MOST:
                    found.append("%s:%d: %d lines" % (path, start, number - start - 1))
                start = None
    yield "functions over %d" % FUNCTION_MOST, found


def statics():
    """Variables that a function or a file has for itself, in each program."""
    found = {"fsd": [], "gateway": []}
    for path in sorted(order.objects("build/release/fsd")):
        if "/cli/" in path or "/client/" in path:
            continue
        program = "gateway" if "/gateway/" in path else "fsd"
        table = subprocess.check_output(["objdump", "-t", path], text=True)
        for line in table.splitlines():
            words = line.split()
            if (len(words) > 4 and words[1] == "l" and words[2] == "O" and
                    re.match(r"\.(bss|data)(?!\.rel\.ro)", words[3])):
                found[program].append("%s: %s" % (
                    path.partition("release/")[2], words[-1].partition(".")[0]))
    for program, names in found.items():
        yield "statics " + program, names


# --- comments

def comments(text):
    """(line, text) of each, with its lines joined. A string may have a slash and a star."""
    for match in re.finditer(r"""/\*(.*?)\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""",
                             text, flags=re.DOTALL):
        if match[1] is None:
            continue
        yield (text.count("\n", 0, match.start()) + 1,
               " ".join(re.sub(r"^\s*\*", "", line).strip()
                        for line in match[1].splitlines()).strip())


def riddles():
    found = collections.defaultdict(list)
    for path in sources():
        found[room(path)]  # a room without any has its 0
        for line, text in comments(read(path)):
            for what, pattern in RIDDLES.items():
                for match in re.finditer(pattern, text):
                    found[room(path)].append("%s:%d: %s: ...%s..." % (
                        path, line, what,
                        text[max(0, match.start() - 20):match.end() + 30]))
    for where, lines in sorted(found.items()):
        yield "riddles " + where, lines


COUNTS = (largest_circles, structs, job_writers, folders, openings, functions, statics,
          riddles)


# --- the list

Line = collections.namedtuple("Line", "number reason")


def parse(text, names):
    """{name: Line}, and what is no line."""
    lines, wrong = {}, []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        number, _, rest = line.partition(" ")
        name = max((n for n in names if (rest + " ").startswith(n + " ")), key=len,
                   default=None)
        if not number.isdigit() or not name:
            wrong.append("%s: %r counts nothing" % (LIST, line))
        else:
            lines[name] = Line(int(number), rest[len(name):].strip())
    return lines, wrong


def before(names):
    """The list of the commit before the last one that has changed it; {}: none."""
    commits = subprocess.run(
        ["git", "log", "-2", "--format=%H", "--", LIST], text=True,
        capture_output=True, check=False).stdout.split()
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", LIST],
                             check=False).returncode
    commits = commits[:1] if changed else commits[1:]
    if not commits:
        return {}
    shown = subprocess.run(["git", "show", commits[0] + ":" + LIST], text=True,
                           capture_output=True, check=False)
    return parse(shown.stdout, names)[0]


def raised(lines, old):
    for name, line in sorted(lines.items()):
        if name in old and line.number > old[name].number and not line.reason:
            yield "%s: raised from %d to %d without a reason behind it" % (
                name, old[name].number, line.number)


def objects_are_new(*options):
    """Make says whether each object is newer than its source and its headers. An older one
    may lack a call that closes a circle, so a number would fall that has not."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(["make", "-q", *options, "all"], env=env, check=False,
                          stdout=subprocess.DEVNULL).returncode == 0


def lower(lines, found):
    text = ""
    for line in read(LIST).splitlines():
        name = next((n for n in lines if line.startswith(
            "%d %s" % (lines[n].number, n))), None)
        if name and name in found and len(found[name]) < lines[name].number:
            line = "%d %s" % (len(found[name]), name)
        text += line + "\n"
    with open(LIST, "w", encoding="utf-8") as file:
        file.write(text)


def verdict(number, sentence, findings):
    print("%s %d - %s" % ("not ok" if findings else "ok", number, sentence))
    for line in findings[:40]:
        print("#   " + line)
    return bool(findings)


def main():
    os.chdir(order.TOP)
    found = {name: what for count in COUNTS for name, what in count()}
    lines, wrong = parse(read(LIST), found)
    if sys.argv[1:] == ["--lower"]:
        if not objects_are_new():
            print("ratchets.py: the objects in build/ are older than their sources, so "
                  "what they count is not what the sources have; run `make all` first",
                  file=sys.stderr)
            return 1
        lower(lines, found)
        return 0
    if len(sys.argv) > 1:
        print("\n".join(found[" ".join(sys.argv[1:])]))
        return 0
    old = before(found)
    for name, line in sorted(lines.items()):
        if name in old and line.number > old[name].number and line.reason:
            print("# %s: raised from %d to %d: %s" % (name, old[name].number,
                                                      line.number, line.reason))
    wrong += ["%s is not in the list: %d" % (name, len(what))
              for name, what in found.items() if name not in lines]
    grown = ["%s: %d, not %d (`%s %s` lists them)" % (
        name, len(found[name]), line.number, sys.argv[0], name)
        for name, line in lines.items() if len(found[name]) > line.number]
    fallen = ["%s: %d, not %d (`%s --lower`)" % (
        name, len(found[name]), line.number, sys.argv[0])
        for name, line in lines.items() if len(found[name]) < line.number]
    checks = (("each number has its line", wrong),
              ("no number has grown", grown),
              ("each number that has fallen is lowered", fallen),
              ("no line is raised without a reason", list(raised(lines, old))),
              ("an object that is older than a header is found",
               ["it is not"] if objects_are_new("-W", "layout/lang.h") else []))
    failed = [verdict(n, *check) for n, check in enumerate(checks, 1)]
    print("1..%d" % len(checks))
    return any(failed)


if __name__ == "__main__":
    sys.exit(main())
