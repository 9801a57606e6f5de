# SPDX-License-Identifier: Apache-2.0
"""Makes the layer of an environment: a job in the base, without a network.

The host gives plan.json and the downloaded files by their hashes. This program
unpacks them below tree/, as uid 1000 and without running any of their
scripts, compiles the Python code and packs the tree as layer.erofs. layer.files
lists what is in it. The host looks into none of the files: who wrote one of
them can at worst spoil this machine and this layer.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

# In the working directory: /tmp has 480 MB at most.
TREE = os.path.abspath("tree")
TOOLS = "/tmp/tools"
TOOLS_LIB = TOOLS + "/usr/lib/x86_64-linux-gnu"
OWN = "usr/lib/fsd-environment"
WHEELS = "usr/local/lib/python3.13/dist-packages"
PYTHON = ("usr/lib/python3/dist-packages", "usr/lib/python3.13", WHEELS)
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# The links of Debian's alternatives system that no maintainer script makes here.
COMMANDS = (("cc", "gcc"), ("c++", "g++"))
ALTERNATIVES = (
    ("libopenblas.so.0", ("openblas-pthread", "openblas-openmp",
                          "openblas-serial")),
    ("libblas.so.3", ("openblas-pthread", "openblas-openmp", "openblas-serial",
                      "atlas", "blas")),
    ("liblapack.so.3", ("openblas-pthread", "openblas-openmp",
                        "openblas-serial", "atlas", "lapack")),
)
SLIM = ("usr/share/doc", "usr/share/doc-base", "usr/share/man", "usr/share/info",
        "usr/share/locale", "usr/share/lintian", "usr/share/bug",
        "usr/share/menu", "usr/share/groff", "usr/share/bash-completion",
        "usr/share/zsh", "usr/share/applications", "usr/share/icons",
        "usr/share/pixmaps", "usr/share/metainfo", "usr/share/gitweb",
        "usr/share/nodejs/@types", "usr/src", "usr/games",
        "usr/lib/systemd", "usr/lib/udev",
        "usr/lib/tmpfiles.d", "usr/lib/sysusers.d", "usr/lib/valgrind",
        "var", "run", "tmp", "dev", "proc", "sys",
        "etc/init.d", "etc/cron.daily", "etc/logrotate.d", "etc/systemd",
        # The image has its own, which say what the environment has.
        "usr/local/bin/pip", "usr/local/bin/pip3", "usr/local/bin/npm",
        "usr/local/bin/npx")
# Where a command of the machine may be that one of a package must not hide.
BINS = ("usr/local/bin", "usr/bin", "usr/sbin", "bin", "sbin")
# Only compilers need these, unless the recipe is for one.
DEVELOPMENT = ("usr/include", "usr/share/pkgconfig", LIBRARIES + "/pkgconfig")
# A library imports these of its own tests: numpy.testing does, and so scipy.sparse.
IMPORTED_TESTS = {"numpy/_core/tests": ("__init__.py", "_natype.py")}
STATIC = (LIBRARIES + "/*.a", LIBRARIES + "/*.la", "usr/lib/*.a", "usr/lib/*.la")


class Failed(Exception):
    pass


began = time.monotonic()


def say(text):
    print("%.1f %s" % (time.monotonic() - began, text), flush=True)


def command(words, **options):
    done = subprocess.run(words, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **options)
    if done.returncode:
        said = [line for line in done.stdout.split("\n") if line.strip()]
        raise Failed("%s: %s" % (os.path.basename(words[0]),
                                 "; ".join(said[-2:]) or
                                 "exit code %d" % done.returncode))


def side_by_side(function, items, cpus):
    """The longest first, so that they end together."""
    with ThreadPoolExecutor(cpus) as pool:
        for _ in pool.map(function, items):
            pass


# --- unpacking ------------------------------------------------------------------

class Files:
    """The downloaded files. One may be wanted for several places: the same package
    below two others, or a tool that the layer has as well. After the last of them it
    goes, for the machine's room is small."""

    def __init__(self):
        self.lock, self.uses = threading.Lock(), {}

    def expect(self, wanted):
        for has in wanted:
            self.uses[has["file"]] = self.uses.get(has["file"], 0) + 1

    def used(self, has):
        with self.lock:
            self.uses[has["file"]] -= 1
            last = not self.uses[has["file"]]
        if last:
            os.unlink(has["file"])


files = Files()


def unpack_debian(deb, to=TREE):
    """Data only: no maintainer script is looked at."""
    try:
        command(["dpkg-deb", "-x", deb["file"], to])
    except Failed as e:
        raise Failed("%s: it cannot be unpacked: %s" % (deb["name"], e)) from None
    files.used(deb)


def below(path, what):
    """path, unless it leads out of the directory it is meant for."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path:
        raise Failed("%s: it has a file \"%s\", which leads out of its directory"
                     % (what, path))
    return os.path.join(*[part for part in parts if part not in ("", ".")] or
                        ["."])


def as_pip_does(name):
    """What opens a wheel, and where its files go. The library is stricter than pip: it
    wants RECORD in one form, and each path in one wheel only. The whole wheel has a
    hash, so RECORD is not read here. A directory NAME-VER.data may be spelled otherwise
    than the file. Of two wheels with the same file the later one wins."""
    from installer.destinations import SchemeDictionaryDestination
    from installer.sources import WheelFile

    class Wheel(WheelFile):
        @property
        def data_dir(self):
            tops = {path.partition("/")[0] for path in self._zipfile.namelist()}
            return next((top for top in sorted(tops) if top.endswith(".data")),
                        super().data_dir)

        def get_contents(self):
            for member in self._zipfile.infolist():
                if member.is_dir():
                    continue
                mode = member.external_attr >> 16
                with self._zipfile.open(member) as stream:
                    yield ((member.filename, "", ""), stream,
                           stat.S_ISREG(mode) and bool(mode & 0o111))

    class Destination(SchemeDictionaryDestination):
        def write_to_fs(self, scheme, path, stream, is_executable):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path_with_destdir(scheme, path))
            return super().write_to_fs(scheme, path, stream, is_executable)

    place = "/" + WHEELS
    schemes = {"purelib": place, "platlib": place, "scripts": "/usr/local/bin",
               "headers": "/usr/local/include/python3.13/" + name.partition("-")[0],
               "data": "/usr/local"}
    return Wheel.open, Destination(schemes, interpreter="/usr/bin/python3",
                                   script_kind="posix", destdir=TREE)


def unpack_wheel(wheel):
    from installer import install
    name = wheel["name"]
    # Its name says what it is.
    path = "/tmp/wheels/" + below(name, name)
    os.makedirs("/tmp/wheels", exist_ok=True)
    os.symlink(os.path.abspath(wheel["file"]), path)
    opened, destination = as_pip_does(name)
    try:
        with opened(path) as source:
            for member in source._zipfile.namelist():
                below(member.rstrip("/"), name)
            install(source, destination, {"INSTALLER": b"fsd\n"})
    except Failed:
        raise
    except Exception as e:
        raise Failed("%s: it cannot be installed: %s" %
                     (name, str(e) or type(e).__name__)) from None
    os.unlink(path)
    files.used(wheel)


def unpack_npm(package):
    """The tarball's one top directory, whatever its name, becomes the package. Its
    scripts are files like any other."""
    import tarfile
    name = package["name"]
    place = os.path.join(TREE, below(package["at"], name))
    try:
        with tarfile.open(package["file"]) as tar:
            for member in tar:
                path = below(member.name, name)
                if member.isdir():
                    continue
                if not member.isfile():
                    raise Failed("%s: \"%s\" is neither a file nor a directory"
                                 % (name, member.name))
                _, _, path = path.partition("/")
                if not path:
                    continue
                target = os.path.join(place, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if os.path.islink(target):
                    os.unlink(target)
                with open(target, "wb") as f:
                    shutil.copyfileobj(tar.extractfile(member), f)
                if member.mode & 0o100:
                    os.chmod(target, 0o755)
    except (tarfile.TarError, OSError, EOFError) as e:
        raise Failed("%s: it cannot be unpacked: %s" % (name, e)) from None
    files.used(package)
    npm_commands(package, place)


def npm_commands(package, place):
    """The commands in npm's node_modules/.bin, of the packages at the top."""
    if package["at"].count("node_modules/") != 1:
        return
    try:
        with open(os.path.join(place, "package.json"),
                  encoding="utf-8-sig") as f:
            has = json.load(f)
        commands = has.get("bin") or {}
    except (OSError, ValueError, AttributeError):
        return
    short = package["at"].rsplit("/", 1)[-1]
    if isinstance(commands, str):
        commands = {short: commands}
    for command_name, path in sorted(dict(commands).items()):
        if "/" in command_name or command_name in ("", ".", ".."):
            continue
        path = below(path, package["name"])
        if not os.path.isfile(os.path.join(place, path)):
            continue
        os.chmod(os.path.join(place, path), 0o755)
        bins = os.path.join(TREE, "node_modules/.bin")
        os.makedirs(bins, exist_ok=True)
        link = os.path.join(bins, command_name)
        if not os.path.lexists(link):
            os.symlink(os.path.join(
                "..", package["at"].partition("node_modules/")[2], path), link)


def put_npm_commands(base="/"):
    """What npm's packages bring as commands is on PATH, as those of wheels are. A
    command that is there already stays what it is."""
    bins = os.path.join(TREE, "node_modules/.bin")
    for name in sorted(os.listdir(bins)) if os.path.isdir(bins) else ():
        if any(os.path.lexists(os.path.join(root, place, name))
               for root in (TREE, base) for place in BINS):
            continue
        place = os.path.join(TREE, BINS[0])
        os.makedirs(place, exist_ok=True)
        os.symlink("../../../node_modules/.bin/" + name,
                   os.path.join(place, name))


# --- licences ---------------------------------------------------------------------

def licence_of(text):
    """The short names that a machine-readable copyright file has, else the texts of
    Debian's common licences that it names."""
    if re.match(r"\s*Format:", text):
        found = re.findall(r"^License:[ \t]*(\S[^\n]*)$", text, re.M)
    else:
        found = re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]+)", text)
    return ", ".join(dict.fromkeys(name.strip().rstrip(".") for name in found))


def licences(plan):
    """{package: licence} of Debian's, which only their files say, and those are
    left out of the layer."""
    found = {}
    for deb in plan["debs"]:
        name = deb["name"].partition("_")[0]
        path = os.path.join(TREE, "usr/share/doc", name, "copyright")
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                found[name] = licence_of(f.read(1 << 20))[:100]
        except OSError:
            continue
    with open("licences.json", "w", encoding="utf-8") as f:
        json.dump(found, f)


# --- what is left out, and what maintainer scripts would have made -----------------

def remove(path):
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def merge_usr():
    """A few packages still name /lib, which is a link in the base."""
    for name in ("bin", "sbin", "lib", "lib64"):
        old = os.path.join(TREE, name)
        if os.path.isdir(old) and not os.path.islink(old):
            command(["cp", "-a", old + "/.", os.path.join(TREE, "usr", name)])
        remove(old)


def remove_tests(path):
    """Removes a directory of tests, but for what its library imports."""
    kept = next((names for end, names in IMPORTED_TESTS.items()
                 if path.endswith("/" + end)), ())
    for name in os.listdir(path):
        if name not in kept:
            remove(os.path.join(path, name))
    if not os.listdir(path):
        os.rmdir(path)


def slim(keep_tests, development):
    for path in SLIM if development else SLIM + DEVELOPMENT:
        remove(os.path.join(TREE, path))
    for place in PYTHON:
        for at, directories, _ in os.walk(os.path.join(TREE, place)):
            for name in list(directories):
                if name == "__pycache__":
                    shutil.rmtree(os.path.join(at, name))
                elif name == "tests" and not keep_tests:
                    remove_tests(os.path.join(at, name))
                else:
                    continue
                directories.remove(name)
    for pattern in () if development else STATIC:
        for path in glob.glob(os.path.join(TREE, pattern)):
            os.unlink(path)


def configure():
    for name, places in ALTERNATIVES:
        link = os.path.join(TREE, LIBRARIES, name)
        for place in places:
            if os.path.lexists(link):
                break
            if os.path.exists(os.path.join(TREE, LIBRARIES, place, name)):
                os.symlink("%s/%s" % (place, name), link)
    for name, program in COMMANDS:
        link = os.path.join(TREE, "usr/bin", name)
        if os.path.exists(os.path.join(TREE, "usr/bin", program)) and \
                not os.path.lexists(link):
            os.symlink(program, link)
    certificates = sorted(glob.glob(
        TREE + "/usr/share/ca-certificates/**/*.crt", recursive=True))
    if certificates:
        os.makedirs(TREE + "/etc/ssl/certs", exist_ok=True)
        with open(TREE + "/etc/ssl/certs/ca-certificates.crt", "wb") as out:
            for path in certificates:
                with open(path, "rb") as f:
                    out.write(f.read().rstrip(b"\n") + b"\n")


def own_files(plan):
    place = os.path.join(TREE, OWN)
    remove(place)
    os.makedirs(place + "/cache")
    with open(os.path.join(place, "warm.json"), "w", encoding="utf-8") as f:
        f.write(plan["warm"])
    env = json.loads(plan["warm"]).get("env") or {}
    with open(os.path.join(place, "env"), "w", encoding="utf-8") as f:
        f.writelines("%s=%s\n" % item for item in sorted(env.items()))


def settle_modes():
    """Everybody may read all of it, nobody gains anything by it."""
    for at, directories, files in os.walk(TREE):
        os.chmod(at, 0o755)
        for name in directories + files:
            path = os.path.join(at, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(path, 0o755 if mode & 0o100 else 0o644)
            elif stat.S_ISDIR(mode):
                os.chmod(path, 0o755)
            elif not stat.S_ISLNK(mode):
                os.unlink(path)


# --- compiling --------------------------------------------------------------------

def sources(plan):
    left = tuple(os.path.join(TREE, path) + "/"
                 for path in plan["source_only"])
    for place in PYTHON:
        for at, _, files in os.walk(os.path.join(TREE, place)):
            if (at + "/").startswith(left):
                continue
            for name in files:
                path = os.path.join(at, name)
                if name.endswith(".py") and os.path.isfile(path) and \
                        not os.path.islink(path):
                    yield os.stat(path).st_size, path


def compile_all(plan):
    """One process for each processor, each with as many bytes of source."""
    found = sorted(sources(plan), reverse=True)
    parts = [[0, []] for _ in range(plan["cpus"])]
    for size, path in found:
        part = min(parts, key=lambda p: p[0])
        part[0] += size + 1000
        part[1].append(path)
    running = []
    for number, (_, paths) in enumerate(parts):
        name = "/tmp/compile.%d" % number
        with open(name, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write("\0".join(paths))
        running.append(subprocess.Popen([sys.executable, "-I", "-S", __file__,
                                         "--compile", name]))
    for process in running:
        if process.wait():
            raise Failed("a process that compiles Python code ended with %d" %
                         process.returncode)
    return len(found)


def compile_some(name):
    """As compileall does it, unchecked: Python never looks at the source again.
    A file that is no Python 3 stays source."""
    import gc
    import importlib.util
    from importlib import _bootstrap_external as writer
    gc.disable()
    with open(name, encoding="utf-8", errors="surrogateescape") as f:
        paths = [path for path in f.read().split("\0") if path]
    made = set()
    for path in paths:
        with open(path, "rb") as f:
            text = f.read()
        try:
            code = compile(text, path[len(TREE):], "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        at, _, file = path.rpartition("/")
        if at not in made:
            os.makedirs(at + "/__pycache__", exist_ok=True)
            made.add(at)
        data = writer._code_to_hash_pyc(code, importlib.util.source_hash(text),
                                        False)
        with open("%s/__pycache__/%s.cpython-%d%d.pyc" % (
                (at, file[:-3]) + sys.version_info[:2]), "wb") as f:
            f.write(data)


# --- packing ----------------------------------------------------------------------

def names():
    """All that the layer has, sorted, for a second pass."""
    for at, directories, files in os.walk(TREE):
        directories.sort()
        for name in sorted(directories + files):
            yield os.path.join(at, name)[len(TREE) + 1:]


def pack(plan):
    with open("layer.files", "w", encoding="utf-8",
              errors="surrogateescape") as f:
        f.write("".join(name + "\0" for name in names()))
    command([TOOLS + "/usr/bin/mkfs.erofs", "--quiet", "-T%d" % plan["epoch"],
             "-U" + plan["uuid"], "-x-1", "--all-root", "layer.erofs", TREE],
            env={**os.environ, "LD_LIBRARY_PATH": TOOLS_LIB})


def make(plan):
    cpus = plan["cpus"]
    os.makedirs(TREE)
    for key in ("tools", "debs", "wheels", "npm"):
        files.expect(plan[key])
    for deb in plan["tools"]:
        unpack_debian(deb, TOOLS)
    if plan["debs"]:
        say("unpacking %d Debian packages" % len(plan["debs"]))
    side_by_side(unpack_debian, plan["debs"], cpus)
    merge_usr()
    licences(plan)
    if plan["debs"]:
        say("unpacked %d Debian packages" % len(plan["debs"]))
    if plan["wheels"]:
        sys.path.append(TOOLS + "/usr/lib/python3/dist-packages")
        side_by_side(unpack_wheel, plan["wheels"], 1)
        say("installed %d wheels" % len(plan["wheels"]))
    if plan["npm"]:
        side_by_side(unpack_npm, plan["npm"], 1)
        put_npm_commands()
        say("unpacked %d npm packages" % len(plan["npm"]))
    slim(plan["keep_tests"], plan["development"])
    configure()
    settle_modes()
    say("compiling what there is of Python")
    say("compiled %d files of Python" % compile_all(plan))
    own_files(plan)
    say("packing")
    pack(plan)
    command(["rm", "-rf", TREE])  # it would be output
    say("packed %d bytes" % os.path.getsize("layer.erofs"))


def main():
    os.umask(0o022)
    if sys.argv[1:2] == ["--compile"]:
        return compile_some(sys.argv[2])
    with open("plan.json", encoding="utf-8") as f:
        plan = json.load(f)
    try:
        make(plan)
    except Failed as e:
        print("failed: %s" % e, flush=True)
        return 1
    except OSError as e:
        print("failed: the machine has no room: %s" % e if e.errno == 28 else
              "failed: %s" % e, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
