# SPDX-License-Identifier: Apache-2.0
"""Debian packages: apt says which, as if the guest's base were installed.

The host's apt state stays as it is. apt gets a status file that lists the image's
packages as installed, and lists of its own for the guest's release. Excluded
packages are in the status file too, so that apt takes them as there.
"""
import fnmatch
import glob
import hashlib
import json
import os
import re
import shutil

import foreign
from problem import (Problem, jailed, need, plain, run, sha256_of,
                     versions_text)

SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LICENCES_MAX = 1 << 20  # characters
REMEMBERED = 4  # of resolve_again()
# The fields of a package of --debian-dir.
FIELDS = {"Package": re.compile(r"[a-z0-9][a-z0-9+.-]+\Z"),
          "Version": re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~:-]*\Z"),
          "Architecture": re.compile(r"[a-z0-9-]+\Z")}
TARGETS = "$(ORIGIN) $(CODENAME) $(REPO_URI)"
# apt takes a package for another one of the same version if these differ.
SHOWN = ("Package", "Version", "Architecture", "Multi-Arch", "Installed-Size",
         "Provides", "Pre-Depends", "Depends", "Recommends", "Suggests",
         "Breaks", "Conflicts", "Replaces")


def stanzas(text):
    """Each paragraph of Debian's control format as a dict; a value is one line."""
    for part in re.split(r"\n\s*\n", text):
        fields, key = {}, None
        for line in part.split("\n"):
            if line[:1] in (" ", "\t") and key:
                fields[key] += " " + line.strip()
            elif ":" in line:
                key, _, value = line.partition(":")
                fields[key] = value.strip()
        if "Package" in fields:
            yield fields


def installed_text(fields):
    return "".join("%s: %s\n" % (key, fields[key]) for key in SHOWN
                   if key in fields) + \
        "Status: install ok installed\nMaintainer: none\nDescription: none\n\n"


def bare(name, version):
    """A package of which only name and version are known."""
    return {"Package": name, "Version": version, "Architecture": "amd64",
            "Multi-Arch": "allowed"}


def dependencies(fields):
    for text in (fields.get("Depends", ""), fields.get("Pre-Depends", "")):
        for word in re.split(r"[,|]", text):
            name = re.match(r"\s*([a-z0-9][a-z0-9+.-]+)", word)
            if name:
                yield name.group(1)


def of(lock):
    return [entry for entry in lock if entry["source"] == "debian"]


def control_of(files, text):
    """(path, fields) of each; text: their control files, a NUL behind each. Who wrote
    them is not known."""
    parts = text.split("\0")
    if len(parts) != len(files) + 1:
        raise Problem("dpkg-deb says something else of the files of --debian-dir "
                      "than what they are")
    for path, part in zip(files, parts):
        found = list(stanzas(part))
        fields = found[0] if len(found) == 1 else {}
        if not all(FIELDS[key].match(fields.get(key, "")) for key in FIELDS):
            raise Problem("%s: its control file must have Package, Version and "
                          "Architecture in their forms, once" % path)
        yield path, fields


def number(text):
    return int(text) if re.match(r"[0-9]{1,12}\Z", text) else 0


def add_licences(lock, path):
    """What the machine found in the packages: text of others."""
    try:
        with open(path, encoding="utf-8") as f:
            found = foreign.loads(f.read(LICENCES_MAX))
    except (OSError, ValueError):
        found = None
    for entry in of(lock):
        licence = found.get(entry["name"]) if isinstance(found, dict) else None
        if isinstance(licence, str):
            entry["licence"] = plain(licence)[:100]


class Archive:
    """apt for one build. base: {name: version} of the image."""

    def __init__(self, cache, base, work, directory=None, offline=False,
                 say=lambda text: None):
        self.directory = directory and os.path.abspath(directory)
        self.cache = os.path.join(work, "apt") if directory else cache
        self.base, self.work, self.offline = base, work, offline
        self.say = say
        self.sources = os.path.join(self.cache, "sources.list")
        self.lists = os.path.join(self.cache, "lists")
        self.local = {}  # of a directory: (name, version): (path, sha256)
        self.known, self.shown = None, {}
        os.makedirs(os.path.join(self.cache, "archives"), exist_ok=True)

    def apt(self, tool, *words, status="/dev/null", lists=None, cwd=None):
        program = need(tool, "apt")
        return run([program,
                    "-o", "Dir::Etc::SourceList=" + self.sources,
                    "-o", "Dir::Etc::SourceParts=/dev/null",
                    "-o", "Dir::Etc::Preferences=/dev/null",
                    "-o", "Dir::Etc::PreferencesParts=/dev/null",
                    "-o", "Dir::State::status=" + status,
                    "-o", "Dir::State::extended_states=/dev/null",
                    "-o", "Dir::State::lists=" + (lists or self.lists),
                    "-o", "Dir::Cache=" + self.cache,
                    # two files: apt makes one anew if the status is another
                    "-o", "Dir::Cache::pkgcache=%s.bin" %
                    ("bare" if status == "/dev/null" else "with-base"),
                    "-o", "Debug::NoLocking=1",
                    "-o", "APT::Sandbox::User=root",
                    "-o", "APT::Install-Recommends=false",
                    "-o", "APT::Architecture=amd64",
                    "-o", "APT::Architectures=amd64",
                    "-o", "Acquire::Languages=none", *words],
                   "apt says", cwd=cwd, env={**os.environ, "LC_ALL": "C"})

    # --- what the archives have -------------------------------------------------

    def find_sources(self):
        """The archives that this host's apt is configured for, by the names that
        they have there for the guest's release."""
        if self.directory:
            return self.index_directory()
        if not os.path.exists(KEYRING):
            raise Problem("%s is not on this host; run: apt-get install "
                          "debian-archive-keyring" % KEYRING)
        found = set()
        # the host's own cache may be off, and apt reads all lists then
        cache = os.path.join(self.cache, "host.bin")
        for line in run([need("apt-get", "apt"), "-o",
                         "Dir::Cache::pkgcache=" + cache, "indextargets",
                         "--format", TARGETS, "Created-By: Packages"],
                        "apt says").split("\n"):
            match = re.match(r"Debian [a-z]+(-updates|-security)? (\S+)$", line)
            if match:
                found.add("deb [signed-by=%s] %s %s%s main\n" %
                          (KEYRING, match.group(2), SUITE, match.group(1) or ""))
        if not found:
            raise Problem("apt knows no archive of Debian on this host; configure "
                          "one and run apt-get update, or give --debian-dir")
        return "".join(sorted(found))

    def index_directory(self):
        """An archive of the .deb files of one directory. dpkg-deb reads them in a
        jail: who wrote them is not known."""
        files = sorted(glob.glob(os.path.join(glob.escape(self.directory),
                                              "*.deb")))
        if not files:
            raise Problem("--debian-dir %s has no file that ends in .deb" %
                          self.directory)
        text = run(jailed(["sh", "-c", "for f; do dpkg-deb -f \"$f\" || exit 1; "
                           "printf '\\0'; done", "sh", *files],
                          readable=[self.directory]), "dpkg-deb says")
        place = os.path.join(self.work, "archive")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "Packages"), "w", encoding="utf-8") as f:
            for path, fields in control_of(files, text):
                total = sha256_of(path)
                self.local[fields["Package"], fields["Version"]] = path, total
                for key in SHOWN:
                    if key in fields:
                        f.write("%s: %s\n" % (key, fields[key]))
                f.write("Filename: ./%s\nSize: %d\nSHA256: %s\n\n" %
                        (os.path.basename(path), os.path.getsize(path), total))
        return "deb [trusted=yes] file:%s ./\n" % place

    def are_new(self, sources):
        """Have the archives to be asked again? The image's build does so when the
        host has since asked its own."""
        mark = os.path.join(self.lists, "of")
        try:
            with open(mark, encoding="utf-8") as f:
                if f.read() != sources:
                    return True
        except OSError:
            return True
        if self.offline:
            return False
        since = os.stat(mark).st_mtime
        return any(os.stat(path).st_mtime > since for path in
                   glob.glob("/var/lib/apt/lists/*Packages*"))

    def update(self):
        sources = self.find_sources()
        if not self.are_new(sources):
            return
        had = os.path.exists(os.path.join(self.lists, "of"))
        if self.offline and not self.directory:
            raise Problem("--offline: what the archives have was never read here; "
                          "build once without it, or give --debian-dir")
        with open(self.sources, "w", encoding="utf-8") as f:
            f.write(sources)
        new = self.lists + ".new"
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(os.path.join(new, "partial"))
        try:
            self.apt("apt-get", "-q", "-o", "Acquire::Retries=1", "-o",
                     "APT::Update::Error-Mode=any", "update", lists=new)
        except Problem:
            if not had:
                raise
            self.say("no archive answers: its packages are those known before")
            os.utime(os.path.join(self.lists, "of"))
            return
        with open(os.path.join(new, "of"), "w", encoding="utf-8") as f:
            f.write(sources)
        shutil.rmtree(self.lists, ignore_errors=True)
        os.rename(new, self.lists)

    def state(self):
        """Names, sizes and times of the lists: the same as long as they are."""
        if self.directory:
            return sorted("%s %s" % (path, total)
                          for path, total in self.local.values())
        return ["%s %d %d" % (os.path.basename(path), os.stat(path).st_size,
                              os.stat(path).st_mtime_ns)
                for path in sorted(glob.glob(self.lists + "/*_*"))]

    # --- which packages -----------------------------------------------------------

    def show(self, names):
        """{name: [its stanzas, newest first]}; a name that is not known has none.
        Each is asked for once: apt takes a second to begin."""
        if self.known is None:
            self.known = set(self.apt("apt-cache", "pkgnames").split())
        missing = sorted((set(names) & self.known) - set(self.shown))
        if missing:
            for fields in stanzas(self.apt("apt-cache", "show", *missing)):
                self.shown.setdefault(fields["Package"], []).append(fields)
        return {name: self.shown[name] for name in names if name in self.shown}

    def write_status(self, excluded, more):
        """more: {name: version} of a parent's packages."""
        path = os.path.join(self.work, "status")
        there = {**self.base, **more}
        shown = self.show(set(there) | excluded)
        with open(path, "w", encoding="utf-8") as f:
            for name, version in sorted(there.items()):
                some = shown.get(name, [])
                exact = [s for s in some if s["Version"] == version]
                fields = dict((exact or some or [bare(name, version)])[0])
                fields["Version"] = version
                f.write(installed_text(fields))
            for name in sorted(excluded - set(there)):
                version = shown.get(name, [{"Version": "9999"}])[0]["Version"]
                f.write(installed_text(bare(name, version)))
        return path

    def resolve(self, wanted, patterns=(), more=None):
        """Return: (lock entries, names of the base that they need). What a pattern
        names is left out: apt is asked again as if that were installed."""
        more, excluded = more or {}, set()
        while True:
            chosen = self.simulate(wanted, self.write_status(excluded, more))
            found = {name for name in chosen for pattern in patterns
                     if fnmatch.fnmatchcase(name, pattern)}
            if not found - excluded:
                break
            asked = {word.partition("=")[0] for word in wanted} & found
            if asked:
                raise Problem("--exclude names %s, and so does --debian" %
                              sorted(asked)[0])
            excluded |= found
        return self.entries(chosen, {**self.base, **more})

    def explained(self, problem):
        """apt's words on what it does not know, as ours."""
        match = re.search(r"Unable to locate package (\S+)", problem.said)
        if match:
            return Problem("there is no package %s in Debian's archives" %
                           match.group(1))
        match = re.search(r"Version '(\S+)' for '(\S+)' was not found", problem.said)
        if match:
            version, name = match.groups()
            return Problem("there is no %s %s in Debian's archives; there are %s" % (
                name, version, versions_text(
                    [s["Version"] for s in self.show({name}).get(name, ())])))
        return Problem("the Debian packages cannot be had together: %s" %
                       str(problem).replace("apt says: ", ""))

    def resolve_again(self, wanted, patterns=()):
        """The lock entries of resolve(). They are remembered as long as the lists,
        the image and this program stay the same: apt takes two seconds."""
        path = os.path.join(self.cache, "resolved")
        key = hashlib.sha256(json.dumps(
            [wanted, patterns, self.base, self.state(), sha256_of(__file__)],
            sort_keys=True).encode()).hexdigest()
        try:
            with open(path, encoding="utf-8") as f:
                known = json.load(f)
            return known[key]
        except (OSError, ValueError, TypeError):
            known = {}
        except KeyError:
            pass
        known[key], _ = self.resolve(wanted, patterns)
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(dict(list(known.items())[-REMEMBERED:]), f)
        os.rename(path + ".new", path)
        return known[key]

    def simulate(self, wanted, status):
        """{name: version} of what apt would install."""
        try:
            text = self.apt("apt-get", "-s", "install", "--", *sorted(wanted),
                            status=status)
        except Problem as e:
            raise self.explained(e) from None
        chosen = {}
        for line in text.split("\n"):
            match = re.match(r"(Inst|Remv) (\S+?)(?::\S+)? (?:\[([^]]*)\] )?"
                             r"(?:\((\S+) )?", line)
            if not match:
                continue
            kind, name, had, version = match.groups()
            if kind == "Remv":
                raise Problem("%s cannot be there together with what was asked; "
                              "the image has it" % name)
            if had and had != version:
                raise Problem("%s %s is needed, and the image has %s; build the "
                              "image anew: fsd image build" %
                              (name, version, had))
            if not had:
                chosen[name] = version
        return chosen

    def entries(self, chosen, there):
        lock, needs = [], set()
        shown = self.show(set(chosen))
        for name, version in sorted(chosen.items()):
            fields = next((s for s in shown.get(name, ())
                           if s["Version"] == version), None)
            if not fields:
                raise Problem("apt does not say what %s %s is" % (name, version))
            lock.append({
                "source": "debian", "name": name, "version": version,
                "file": "%s_%s_%s.deb" % (name, version.replace(":", "%3a"),
                                          fields["Architecture"]),
                "size": int(fields["Size"]), "sha256": fields["SHA256"],
                "unpacked": number(fields.get("Installed-Size", "")) << 10,
                "licence": ""})
            needs.update(name for name in dependencies(fields) if name in there)
        return lock, needs

    # --- their files --------------------------------------------------------------

    def fetch(self, lock, sources):
        """Puts each file that is not there yet into sources, by its hash."""
        missing = [e for e in lock
                   if not os.path.exists(os.path.join(sources, e["sha256"]))]
        if not missing:
            return 0
        if self.directory:
            for entry in missing:
                path, _ = self.local[entry["name"], entry["version"]]
                keep(path, entry, sources)
            return len(missing)
        if self.offline:
            raise Problem("--offline: %s %s is not in %s yet; build once without "
                          "it" % (missing[0]["name"], missing[0]["version"],
                                  sources))
        place = os.path.join(self.work, "debs")
        os.makedirs(place, exist_ok=True)
        self.apt("apt-get", "-q", "download",
                 *["%s=%s" % (e["name"], e["version"]) for e in missing],
                 cwd=place)
        for entry in missing:
            keep(os.path.join(place, entry["file"]), entry, sources)
        return len(missing)


def keep(path, entry, sources):
    """Moves a file to its hash's name. Its bytes are compared again: what lies in
    sources is trusted by the builds that follow."""
    if not foreign.SUM.match(entry["sha256"]):
        raise Problem("%s %s: its sha256 is said to be \"%s\"" %
                      (entry["name"], entry["version"], entry["sha256"]))
    target = os.path.join(sources, entry["sha256"])
    new = "%s.%d" % (target, os.getpid())
    try:
        shutil.copyfile(path, new)
    except OSError as e:
        raise Problem("%s: %s" % (path, e.strerror)) from None
    found = sha256_of(new)
    if found != entry["sha256"]:
        os.unlink(new)
        raise Problem("%s %s: its sha256 is %s and must be %s; build again" %
                      (entry["name"], entry["version"], found, entry["sha256"]))
    os.rename(new, target)
