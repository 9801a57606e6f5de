#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""Tries the warm list of an environment: a job in the new environment.

Each module is imported alone in a fresh interpreter, and all in one, where the
warm program runs as well. It prints one JSON object a module. What the modules
leave in the cache directory goes into a second pass of the layer, for which the
first one's files are copied out of the machine's root.
"""
import json
import os
import re
import subprocess
import sys

CACHE = "/var/cache/user"
OWN = "/usr/lib/fsd-environment"
TOOLS = "/tmp/tools"
TOOLS_LIB = TOOLS + "/usr/lib/x86_64-linux-gnu"

PYTHON = r"""
import json, os, sys, time
def figures():
    with open("/proc/self/status") as f:
        has = dict(line.split(":", 1) for line in f)
    return int(has["RssAnon"].split()[0]) << 10, int(has["Threads"])
names, program, out = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.path[0:1] = []
before, _ = figures()
began = time.monotonic()
import importlib
for name in names:
    importlib.import_module(name)
if program:
    sys.stdout = open(os.devnull, "w")
    exec(compile(program, "<warm program>", "exec"), {"__name__": "__main__"})
seconds = time.monotonic() - began
after, threads = figures()
os.write(out, json.dumps({"seconds": round(seconds, 3), "threads": threads,
    "heap": max(after - before, 0), "modules": len(sys.modules)}).encode())
"""

NODE = r"""
const began = process.hrtime.bigint();
const names = JSON.parse(process.argv[1]);
const require_ = require('module').createRequire('/home/user/');
(async () => {
  for (const name of names) {
    try { require_(name); }
    catch (e) {
      if (e.code !== 'ERR_REQUIRE_ESM') throw e;
      await import(require_.resolve(name));
    }
  }
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  require('fs').writeSync(+process.argv[2], JSON.stringify(
    {seconds: +seconds.toFixed(3), threads: 1, heap: process.memoryUsage().rss}));
})().catch((e) => { console.error(e.name + ': ' + e.message); process.exit(1); });
"""


class Failed(Exception):
    pass


def settings(warm):
    """The recipe's variables, with a cache directory of this job's."""
    cache = os.path.abspath("cache")
    os.makedirs(cache, exist_ok=True)
    env = dict(os.environ, PYTHONHASHSEED="0")
    for name, value in (warm.get("env") or {}).items():
        env[name] = value.replace(CACHE, cache)
    return env


def cause(text):
    """Return: the line of the first exception of a chain, which has caused the
    others; else the last line."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    for line in lines:
        if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)(: .|$)", line):
            return line[:300]
    return lines[-1][:300] if lines else "it said nothing"


def attempt(words, env):
    """Runs an interpreter that writes its answer to a descriptor. Return: the answer;
    without one, the end of its error output."""
    read, write = os.pipe()
    with subprocess.Popen([*words, str(write)], env=env, cwd="/tmp",
                          pass_fds=[write], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True,
                          errors="replace") as child:
        os.close(write)
        said = child.stderr.read()
    with open(read, "rb") as f:
        answer = f.read()
    if child.returncode == 0 and answer:
        return json.loads(answer), None
    if child.returncode < 0:
        return None, "it ended by signal %d" % -child.returncode
    return None, cause(said)


def python(names, program, env):
    return attempt(["/usr/bin/python3", "-c", PYTHON, json.dumps(names), program],
                   env)


def node(names, env):
    words = ["/usr/bin/node", "-e", NODE, json.dumps(names)]
    return attempt(words, env)


def tell(**what):
    print(json.dumps(what), flush=True)


def try_all(warm, env):
    modules = warm.get("python") or []
    program = warm.get("program") or ""
    for name in modules:
        answer, why = python([name], "", env)
        if why:
            raise Failed("import %s failed in the machine: %s; add it or take %s "
                         "off --warm" % (name, why, name.partition(".")[0]))
        tell(import_=name, **answer)
    if modules or program:
        answer, why = python(modules, program, env)
        if why:
            raise Failed("the warm program failed in the machine: %s; mend "
                         "--warm-program" % why if program else
                         "importing all of %s in one interpreter failed: %s" %
                         (", ".join(modules), why))
        if answer["threads"] > 1:
            raise Failed("%d threads live after the imports of %s; a warm "
                         "interpreter may have one: set what starts them by "
                         "--env, as OPENBLAS_NUM_THREADS=1" %
                         (answer["threads"], ", ".join(modules)))
        tell(all=True, **answer)
    for name in warm.get("node") or []:
        answer, why = node([name], env)
        if why:
            raise Failed("import npm:%s failed in the machine: %s; add it or take "
                         "npm:%s off --warm" % (name, why, name))
        tell(import_="npm:" + name, **answer)


# --- the second pass ----------------------------------------------------------------

def copy_layer(tree):
    """Copies the files of the first pass's layer out of the root to tree. Where the
    base and the layer both have a name, the copy is the base's file; the layer's
    is hidden in any case."""
    with open("layer.files", "rb") as f:
        text = f.read()
    os.makedirs(tree)
    packer = subprocess.Popen(
        ["tar", "-C", "/", "--null", "--no-recursion", "--ignore-failed-read",
         "-T", "-", "-cf", "-"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    unpacker = subprocess.Popen(["tar", "-C", tree, "-xpf", "-"],
                                stdin=packer.stdout)
    packer.stdout.close()
    packer.stdin.write(text)
    packer.stdin.close()
    if unpacker.wait() or packer.wait():
        raise Failed("the layer's files cannot be copied for the second pass")


def second_pass(plan):
    tree = os.path.abspath("tree")
    os.unlink("layer.erofs") if os.path.exists("layer.erofs") else None
    copy_layer(tree)
    place = tree + OWN
    os.makedirs(place, exist_ok=True)
    os.rename("cache", place + "/cache")
    for at, directories, files in os.walk(place + "/cache"):
        os.chmod(at, 0o755)
        for name in files:
            os.chmod(os.path.join(at, name), 0o644)
    for tool in plan["tools"]:
        subprocess.run(["dpkg-deb", "-x", tool["file"], TOOLS], check=True)
        os.unlink(tool["file"])
    subprocess.run([TOOLS + "/usr/bin/mkfs.erofs", "--quiet",
                    "-T%d" % plan["epoch"], "-U" + plan["uuid"], "-x-1",
                    "--all-root", "layer.erofs", tree], check=True,
                   stdout=subprocess.DEVNULL,
                   env={**os.environ, "LD_LIBRARY_PATH": TOOLS_LIB})
    subprocess.run(["rm", "-rf", tree], check=True)


def useful(path):
    """Removes what is no use in a cache: locks, links and empty directories."""
    for at, _, files in os.walk(path):
        for name in files:
            full = os.path.join(at, name)
            if name.endswith(".lock") or ".matplotlib-lock" in name or \
                    os.path.islink(full) or not os.path.isfile(full):
                os.unlink(full)
    return any(files for _, _, files in os.walk(path))


def main():
    os.umask(0o022)
    with open("plan.json", encoding="utf-8") as f:
        plan = json.load(f)
    warm = json.loads(plan["warm"])
    try:
        try_all(warm, settings(warm))
        if useful("cache"):
            second_pass(plan)
            tell(second_pass=True)
    except (Failed, OSError, subprocess.CalledProcessError) as e:
        print("failed: %s" % e, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
