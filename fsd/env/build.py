# SPDX-License-Identifier: Apache-2.0
"""fsd env build: resolve, fetch, install, warm, seal.

`fsd env build` starts this program and gives it the places in its environment:
FSD_PROGRAM (itself), FSD_IMAGE, FSD_ENVIRONMENTS_DIRS (those that are read,
separated by ":"), FSD_ENVIRONMENTS_DIR (where the new one goes).

  resolve   recipe -> lock: which files, with which hashes
  fetch     the files that sources/ lacks
  install   a job in the base makes the layer of them
  warm      a job in the new environment imports what is to be warm
  seal      the new set gets its name

The host reads no package. What apt, pip and npm say is read, and JSON.
"""
import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import debian                                             # noqa: E402
import jobs                                               # noqa: E402
import npm                                                # noqa: E402
import checks                                             # noqa: E402
import foreign                                            # noqa: E402
import recipe as recipes                                  # noqa: E402
import serve                                              # noqa: E402
import sources                                            # noqa: E402
import wheels                                             # noqa: E402
from problem import Problem, plain, run, sha256_of       # noqa: E402

# One time and one uuid for every layer: they say nothing.
EPOCH = 1735689600
UUID = "f5d00000-0000-4000-8000-000000000002"
STOCK = os.path.join(HERE, "stock")
MEMORY_MIN = 768
MANY = 40 << 20  # bytes of downloads
LAYERS_MAX = 64  # of parents; those of a set are fewer
SLACK = 384  # MB that a machine needs besides the files


def make_absolute(names):
    """The variables that have these names: programs that are started elsewhere read
    their paths."""
    for name in names:
        os.environ[name] = ":".join(map(os.path.abspath,
                                        os.environ[name].split(":")))


class Build:
    """One build from its command line to its set."""

    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.image = os.environ["FSD_IMAGE"]
        self.places = os.environ["FSD_ENVIRONMENTS_DIRS"].split(":")
        self.dir = os.environ["FSD_ENVIRONMENTS_DIR"]
        self.sources = os.path.join(self.dir, "sources")
        self.recipe, self.work, self.parent = {}, None, None
        self.needs, self.heap = set(), 0
        self.arguments = arguments(options)

    def say(self, step, text, **more):
        seconds = time.monotonic() - self.began
        if self.options.plan:  # standard output is for the plan
            print("env: %7.3f s  %s" % (seconds, plain(text)), file=sys.stderr)
        elif self.options.json:
            print(json.dumps({"step": step, "seconds": round(seconds, 3),
                              "text": text, **more}), flush=True)
        else:
            print("env: %7.3f s  %s" % (seconds, plain(text)), flush=True)

    # --- what is asked for ---------------------------------------------------------

    def read_recipe(self):
        o = self.options
        if o.stock:
            path = os.path.join(STOCK, o.stock + ".json")
            if not os.path.exists(path) or "/" in o.stock:
                raise Problem("--stock is \"%s\"; it must be one of %s" %
                              (o.stock, ", ".join(sorted(
                                  name[:-5] for name in os.listdir(STOCK)
                                  if name.endswith(".json")))))
            r = checks.stock(recipes.read(path, "--stock"), o.stock)
            self.name = o.name or o.stock
        else:
            if not o.name:
                raise Problem("build needs a NAME, or --stock and one of data, web, "
                              "builder")
            r, self.name = {}, o.name
            if not self.arguments:
                r = self.recipe_again(o.name)
        recipes.environment_name(self.name)
        r["format"] = 1
        for key, more in (("debian", o.debian), ("exclude", o.exclude),
                          ("pypi", o.pypi)):
            r[key] = [*r.get(key, []), *more]
        lines = list(r.get("requirements", []))
        for path in o.requirements:
            lines += recipes.requirements(recipes.read(path, "--requirements"),
                                          os.path.basename(path))
        r["requirements"] = lines
        projects = [t for t in o.npm if t.endswith(".json")]
        if len(projects) > 1:
            raise Problem("--npm names two package.json; one is allowed")
        r["npm"] = [*r.get("npm", []), *(t for t in o.npm if t not in projects)]
        if projects:
            r["npm_project"] = checks.package_json(projects[0])
        r["sdist"] = o.sdist or r.get("sdist", False)
        r["keep_tests"] = o.keep_tests or r.get("keep_tests", False)
        for text in o.warm:
            r["warm"] = list(dict.fromkeys([*r.get("warm", []),
                                            *recipes.warm_list(text)]))
        if o.warm_program:
            r["warm_program"] = recipes.read(o.warm_program, "--warm-program")
        r["env"] = {**r.get("env", {}), **dict(map(recipes.variable, o.env))}
        self.recipe = checks.checked(r, "", o.plan)
        self.project = self.recipe.get("npm_project")
        if not any(self.recipe.get(key) for key in
                   ("debian", "pypi", "requirements", "npm", "npm_project")):
            raise Problem("there is no package in it; give --debian, --pypi, "
                          "--requirements, --npm or --stock")

    def find(self, name):
        """The directory of the set that has this name, or None."""
        for place in self.places:
            path = os.path.realpath(os.path.join(place, "names", name))
            if os.path.exists(os.path.join(path, "manifest")):
                return path
        return None

    def recipe_again(self, name):
        """Of one that is there: for a new image, or newer packages."""
        path = self.find(recipes.environment_name(name))
        if not path:
            raise Problem("there is no environment \"%s\" to make again, and no "
                          "package is asked for; give --debian, --pypi, "
                          "--requirements, --npm or --stock" % name)
        r, self.arguments = checks.of_set(
            recipes.read(os.path.join(path, "recipe.json"), "the recipe"), name)
        self.options.parent = r.pop("from", "").partition("@")[0] or None
        return r

    def take_parent(self):
        """Under the lock: the build that this one waited for may have made it."""
        spec = self.options.parent
        if spec and spec != "base":
            self.parent = self.find_parent(spec)
            self.recipe["from"] = "%s@%s" % (spec.partition("@")[0],
                                             self.parent["id"])

    def find_parent(self, spec):
        """{id, lock, warm, dir} of the newest set of that name."""
        name, _, digits = spec.partition("@")
        path = self.find(recipes.environment_name(name))
        if path:
            ident = os.path.basename(path)
            if digits and not ident.startswith(digits):
                raise Problem("--from is \"%s\"; \"%s\" is %s now" %
                              (spec, name, ident[:12]))
            try:
                return {"id": ident, "dir": path, **parts_of(path)}
            except (OSError, ValueError) as e:
                raise Problem("--from is \"%s\", which is damaged: %s; fsd env "
                              "verify tells" % (spec, e)) from None
        raise Problem("--from is \"%s\"; there is no such environment; fsd env list "
                      "shows those that there are" % spec)

    def base(self):
        try:
            with open(os.path.join(self.image, "packages.list"),
                      encoding="utf-8") as f:
                return dict(line.split() for line in f)
        except (OSError, ValueError) as e:
            raise Problem("%s/packages.list: %s; build the image: fsd image build"
                          % (self.image, e)) from None

    def image_abi(self):
        """What environments for this image have to fit, as its manifest says."""
        path = os.path.join(self.image, "manifest")
        for line in recipes.read(path, "the image").split("\n"):
            if line.startswith("abi "):
                return line[4:].strip()
        raise Problem("%s has no line \"abi\"; build the image anew: fsd image "
                      "build" % path)

    # --- nothing changed -------------------------------------------------------------

    def key(self):
        """Of everything that the result depends on."""
        total = hashlib.sha256()
        for name in sorted(os.listdir(HERE)) + sorted(os.listdir(jobs.PROGRAMS)):
            for place in (HERE, jobs.PROGRAMS):
                path = os.path.join(place, name)
                if name.endswith(".py") and os.path.isfile(path):
                    total.update(sha256_of(path).encode())
        o = self.options
        total.update(json.dumps([
            self.recipe, self.base(), self.abi, self.archive.state(),
            wheels.state(o.wheelhouse), npm.state(o.npm_dir),
            self.parent and self.parent["id"]], sort_keys=True).encode())
        return total.hexdigest()

    def built(self):
        """The id of the set that the same inputs gave, if the name still has it."""
        try:
            with open(os.path.join(self.sources, "built"),
                      encoding="utf-8") as f:
                known = dict(line.split() for line in f)
        except (OSError, ValueError):
            return None
        path = os.path.realpath(os.path.join(self.dir, "names", self.name))
        ident = known.get(self.build_key)
        there = os.path.basename(path) == ident and \
            os.path.exists(os.path.join(path, "manifest"))
        return ident if there else None

    def note(self, ident):
        path = os.path.join(self.sources, "built")
        try:
            with open(path, encoding="utf-8") as f:
                lines = [line for line in f
                         if not line.startswith(self.build_key)][-99:]
        except OSError:
            lines = []
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.writelines(lines + ["%s %s\n" % (self.build_key, ident)])
        os.rename(path + ".new", path)

    # --- the steps ---------------------------------------------------------------------

    def resolve(self):
        self.base_packages = self.base()
        r, lock = self.recipe, []
        inherited = self.parent["lock"] if self.parent else []
        if r.get("debian"):
            more = {e["name"]: e["version"] for e in inherited
                    if e["source"] == "debian"}
            self.say("resolve", "apt chooses Debian packages")
            found, needs = self.archive.resolve(r["debian"],
                                                r.get("exclude", ()), more)
            lock += found
            self.needs = {name for name in needs if name in self.base_packages}
            self.say("resolve", "resolved %d Debian packages" % len(found))
        if r.get("pypi") or r.get("requirements"):
            self.say("resolve", "pip chooses wheels")
            lock += wheels.resolve(self, inherited)
        if r.get("npm") or self.project:
            self.say("resolve", "npm chooses its packages")
            lock += npm.resolve(self, inherited)
        if wheels.of(lock):
            self.needs.add("python3")
        if npm.of(lock):
            self.needs.add("nodejs")
        self.lock = {"format": 1, "packages": lock,
                     "tools": self.find_tools(bool(wheels.of(lock)))}
        if not lock:
            raise Problem("its parent has all of it already; use \"%s\"" %
                          self.options.parent)

    def find_tools(self, with_wheels):
        """mkfs.erofs and what installs wheels, for the job that makes the layer:
        files of the base's release, which are not part of the layer."""
        wanted = ["erofs-utils"] + (["python3-installer"] if with_wheels else [])
        return self.tool_archive.resolve_again(wanted, ("python3*-minimal",))

    def fetch(self):
        lock = self.lock["packages"]
        self.check_most(sum(e.get("size") or 0 for e in lock))
        self.say("fetch", "fetching what is not in %s yet" % self.sources)
        count = self.archive.fetch(debian.of(lock), self.sources) \
            if debian.of(lock) else 0
        count += self.tool_archive.fetch(self.lock["tools"], self.sources)
        count += wheels.fetch(self, wheels.of(lock))
        count += npm.fetch(self, npm.of(lock))
        self.say("fetch", "fetched %s; %s: %s" % (
            counted(count, "file"), counted(len(lock), "package"),
            size_text(sum(e["size"] for e in lock))))

    def warm_json(self):
        r, warm = self.recipe, {}
        above = self.parent["warm"] if self.parent else {}
        for kind, prefix in (("python", False), ("node", True)):
            own = [m[4:] if prefix else m for m in r.get("warm", [])
                   if m.startswith("npm:") == prefix]
            names = list(dict.fromkeys([*above.get(kind, []), *own]))
            if names:
                warm[kind] = names
        program = above.get("program", "") + r.get("warm_program", "")
        if program:
            warm["program"] = program
        env = {**above.get("env", {}), **r.get("env", {})}
        if env:
            warm["env"] = env
        start = sorted({*above.get("env_at_start", []),
                        *r.get("env_at_start", [])})
        if start:
            warm["env_at_start"] = start
        self.warm = warm
        return recipes.as_text(warm)

    def memory(self):
        """Files in the machine: downloads, the tree, the layer."""
        unpacked = sum(e.get("unpacked") or 4 * e["size"]
                       for e in self.lock["packages"])
        return max(MEMORY_MIN, min(jobs.half_of_host(),
                                   SLACK + int(2.5 * unpacked) // (1 << 20)))

    def cpus(self):
        """More than one has a template of its own, which takes longer to make than
        a second processor saves for a few packages."""
        size = sum(e["size"] for e in self.lock["packages"])
        return jobs.processors() if size > MANY else 1

    def check_most(self, size):
        """What a build for a user may come to."""
        most = self.options.most
        if most is not None and size > most:
            raise Problem("it takes %d MB, and at most %d MB are left for it "
                          "(--most, --quota-bytes)" % (-(-size >> 20), most >> 20))

    def install(self):
        def files(entries):
            return [{"file": e["sha256"], "name": e["file"], "at": e.get("at")}
                    for e in sorted(entries, key=lambda e: -e["size"])]

        lock = self.lock["packages"]
        plan = {"cpus": self.cpus(), "epoch": EPOCH, "uuid": UUID,
                "tools": files(self.lock["tools"]),
                "debs": files(debian.of(lock)), "wheels": files(wheels.of(lock)),
                "npm": sorted(files(npm.of(lock)), key=lambda e: e["at"]),
                "source_only": self.recipe.get("source_only", []),
                "keep_tests": self.recipe.get("keep_tests", False),
                "development": self.recipe.get("development", False),
                "warm": self.warm_json()}
        path = os.path.join(self.work, "plan.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(plan, f)
        inputs = {e["sha256"]: os.path.join(self.sources, e["sha256"])
                  for e in lock + self.lock["tools"]}
        inputs["plan.json"] = path
        self.say("install", "a machine starts, to install them")
        out = jobs.run(os.path.join(self.work, "install"),
                       os.path.join(jobs.PROGRAMS, "install.py"), inputs,
                       self.memory(), self.cpus(),
                       lambda line: self.say("install",
                                             line.partition(" ")[2]))
        self.layer = os.path.join(out, "layer.erofs")
        self.layer_files = os.path.join(out, "layer.files")
        if not os.path.isfile(self.layer):
            raise Problem("the job that makes the layer made none")
        self.check_most(os.path.getsize(self.layer))
        debian.add_licences(lock, os.path.join(out, "licences.json"))
        self.say("install", "took the layer out: %s" %
                 size_text(os.path.getsize(self.layer)))

    def put_parts(self, name):
        """A directory with the parts of a new set."""
        place = os.path.join(self.work, name)
        os.makedirs(place)
        link_or_copy(self.layer, os.path.join(place, "layer.erofs"))
        for part, text in (("lock.json", recipes.as_text(self.lock)),
                           ("warm.json", recipes.as_text(self.warm)),
                           ("recipe.json", recipes.as_text(
                               {**self.recipe, "arguments": self.arguments}))):
            with open(os.path.join(place, part), "w", encoding="utf-8") as f:
                f.write(text)
        return place

    def seal(self, place, top, name):
        """`fsd env seal` moves the parts to their place. Return: the id."""
        facts = [("abi", self.abi), ("parent", self.parent["id"] if self.parent else "base"),
                 ("heap", "%d" % self.heap),
                 *(("needs", word) for word in sorted(self.needs))]
        with open(os.path.join(place, "facts"), "w", encoding="utf-8") as f:
            f.writelines("%s %s\n" % fact for fact in facts)
        return run([jobs.FSD, "env", "seal", top, place, name],
                   "the new environment").strip()

    def warm_up(self):
        """Tries the warm list in a machine that has the new layer. What is left in
        the cache directory makes a second pass of the layer."""
        if not self.warm.get("python") and not self.warm.get("node") and \
                not self.warm.get("program"):
            return
        top = os.path.join(self.work, "first")
        self.seal(self.put_parts("parts.first"), top, "new")
        if self.parent:
            link_sets(self.parent["dir"], os.path.join(top, "sets"))
        inputs = {e["sha256"]: os.path.join(self.sources, e["sha256"])
                  for e in self.lock["tools"]}
        inputs["plan.json"] = os.path.join(self.work, "plan.json")
        inputs["layer.files"] = self.layer_files
        size = os.path.getsize(self.layer) >> 20
        self.say("warm", "a machine starts, to import what shall wait imported")
        out = jobs.run(os.path.join(self.work, "warm"),
                       os.path.join(jobs.PROGRAMS, "warm.py"), inputs,
                       max(MEMORY_MIN, min(jobs.half_of_host(),
                                           SLACK * 2 + size * 5 // 2)),
                       1, self.take_warm, "new", top)
        again = os.path.join(out, "layer.erofs")
        if os.path.isfile(again):
            self.layer = again
            self.check_most(os.path.getsize(again))
            self.say("warm", "took the layer out with its cache: %s" %
                     size_text(os.path.getsize(again)))

    def take_warm(self, line):
        """A line of the job. Packages run in it, so that they may print any."""
        try:
            found = warm_line(line)
        except ValueError:
            return
        if "import_" in found:
            self.say("warm", "imported %(import_)s in %(seconds).1f s" % found,
                     **found)
        else:
            self.heap = found["heap"]
            self.say("warm", "all at once: %.1f s, %d modules, %d MB" %
                     (found["seconds"], found["modules"], self.heap >> 20),
                     **found)

    def make(self):
        self.install()
        self.warm_up()
        ident = self.seal(self.put_parts("parts"), self.dir, self.name)
        self.note(ident)
        self.finish(ident, "")

    def finish(self, ident, how):
        size = os.path.getsize(os.path.join(self.dir, "sets", ident,
                                            "layer.erofs"))
        self.say("seal", "%s%s is %s: %s" % (how, self.name, ident[:12],
                                             size_text(size)),
                 environment=ident, name=self.name)

    # --- together ------------------------------------------------------------------------

    def prepare(self):
        o = self.options
        sources.remove_left(self.sources)
        self.work = sources.new_work(self.sources)
        base, self.abi = self.base(), self.image_abi()
        cache = os.path.join(self.sources, "apt")
        say = lambda text: self.say("lists", text)
        self.tool_archive = debian.Archive(cache, base, self.work, None,
                                           o.offline, say)
        self.archive = self.tool_archive
        if o.debian_dir:
            self.archive = debian.Archive(cache, base, self.work, o.debian_dir,
                                          o.offline, say)
            self.archive.update()
        self.tool_archive.update()
        self.build_key = self.key()

    def run(self):
        self.read_recipe()
        self.lock_file = sources.hold(self.sources, lambda: self.say(
            "wait", "another build runs in %s; this one waits for its end" % self.dir))
        self.take_parent()
        self.prepare()
        known = None if self.options.plan else self.built()
        if known:
            self.finish(known, "up to date: ")
            return
        self.resolve()
        if self.options.plan:
            print(recipes.as_text(self.lock) if self.options.json else
                  plan_text(self.lock["packages"]), end="")
            return
        self.fetch()
        self.make()

    def close(self):
        if self.work:
            sources.remove_work(self.work)


def size_text(size):
    return "%d MB" % (size >> 20) if size >= 1 << 20 else "%d kB" % -(-size >> 10)


def counted(number, word):
    return "%d %s%s" % (number, word, "" if number == 1 else "s")


def plan_text(packages):
    """A line for each package, as the options have it. apt alone tells sizes."""
    joint = {"debian": "=", "pypi": "==", "npm": "@"}
    return "".join("%-6s  %s%s%s%s\n" % (
        e["source"], e["name"], joint[e["source"]], e["version"],
        "  " + size_text(e["size"]) if e["size"] else "") for e in packages)


# The members of a line of guest/environment/warm.py: of a module, and of all.
IMPORTED = {"import_": str, "seconds": float, "threads": int, "heap": int}
ALL = {"all": bool, "seconds": float, "threads": int, "heap": int, "modules": int}


def warm_line(line):
    """Such a line, with these members only. ValueError: it is none."""
    has = foreign.expect(foreign.loads(line), dict, "the line")
    found = {}
    for key, kind in (IMPORTED if "import_" in has else ALL).items():
        value = has.get(key)
        if kind is float and not isinstance(value, float):
            value = float(foreign.expect(value, int, key))
        found[key] = foreign.expect(value, kind, key)
        if kind in (int, float) and not 0 <= found[key] < 1 << 62:
            raise ValueError("%s is %s" % (key, found[key]))
    return found


def parts_of(path):
    """{warm, lock} of a set; lock: with the packages of its parents."""
    warm = foreign.expect(foreign.load(os.path.join(path, "warm.json")), dict,
                          "warm.json")
    for key in ("python", "node", "env_at_start"):
        foreign.strings(foreign.member(warm, key, list, []), "\"%s\"" % key)
    foreign.member(warm, "program", str, "")
    for key, value in foreign.member(warm, "env", dict, {}).items():
        foreign.expect(value, str, "\"%s\" of \"env\"" % key)
    lock, at = [], path
    for _ in range(LAYERS_MAX):
        lock += foreign.lock_entries(recipes.read(os.path.join(at, "lock.json"),
                                                  "the lock"))
        above = parent_of(at)
        if not above:
            return {"warm": warm, "lock": lock}
        at = os.path.join(os.path.dirname(at), above)
    raise ValueError("it has more than %d parents" % LAYERS_MAX)


def link_or_copy(source, target):
    """The same bytes under another name, without a copy where that goes."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def link_sets(path, sets):
    """A set and its parents, beside a set that is tried in a place of its own."""
    while path:
        target = os.path.join(sets, os.path.basename(path))
        os.makedirs(target)
        for name in os.listdir(path):
            link_or_copy(os.path.join(path, name), os.path.join(target, name))
        above = parent_of(path)
        path = above and os.path.join(os.path.dirname(path), above)


def arguments(options):
    """The command line again, without what changes no byte of the result."""
    words = ["--stock", options.stock] if options.stock else []
    if options.parent:
        words += ["--from", options.parent]
    for name in ("debian", "exclude", "requirements", "pypi", "npm", "warm",
                 "env"):
        for value in getattr(options, name):
            path = name in ("requirements", "npm") and "@" not in value
            words += ["--" + name, os.path.basename(value) if path else value]
    if options.warm_program:
        words += ["--warm-program", os.path.basename(options.warm_program)]
    words += ["--" + name.replace("_", "-") for name in ("keep_tests", "sdist")
              if getattr(options, name)]
    return words


def parent_of(path):
    """The id of a set's parent, None: it is the base."""
    with open(os.path.join(path, "manifest"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("parent "):
                found = line[7:].strip()
                if found != "base" and not foreign.SUM.match(found):
                    raise ValueError("its parent is \"%s\"" % found)
                return None if found == "base" else found
    return None


def parse(words):
    p = argparse.ArgumentParser(prog="fsd env build", add_help=False,
                                allow_abbrev=False)
    p.add_argument("name", nargs="?")
    p.add_argument("--stock")
    p.add_argument("--from", dest="parent")
    for name in ("debian", "exclude", "requirements", "pypi", "npm", "warm",
                 "env"):
        p.add_argument("--" + name, action="append", default=[])
    for name in ("environments", "image"):  # found by who starts us
        p.add_argument("--" + name)
    for name in ("debian-dir", "wheelhouse", "npm-dir", "warm-program"):
        p.add_argument("--" + name)
    p.add_argument("--most", type=int)
    for name in ("offline", "plan", "json", "keep-tests", "sdist"):
        p.add_argument("--" + name, action="store_true")
    return p.parse_args(words)


class Ended(BaseException):
    """SIGTERM has come. What the build has started ends first, and its work goes."""


def end(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Ended


def main():
    os.umask(0o022)
    if sys.argv[1:2] == ["--serve"]:
        return serve.main(sys.argv[2:])
    signal.signal(signal.SIGTERM, end)
    make_absolute(("FSD_IMAGE", "FSD_ENVIRONMENTS_DIRS", "FSD_ENVIRONMENTS_DIR"))
    build = Build(parse(sys.argv[1:]))
    try:
        build.run()
        return 0
    except Problem as e:
        print("fsd env: %s" % plain(str(e)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Ended:
        return 143
    except BrokenPipeError:  # nobody reads the steps
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        build.close()


if __name__ == "__main__":
    sys.exit(main())
