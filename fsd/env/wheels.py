# SPDX-License-Identifier: Apache-2.0
"""Wheels: pip says which, as if it ran in the guest, in a jail of its own.

pip never builds anything here, so no line of a package runs. It judges markers by
the Python that runs it, which is the host's: they are given the guest's answers.
"""
import glob
import os
import re
import shutil
import urllib.parse

import earlier
import foreign
import sdists
from debian import keep
from problem import Problem, jailed, need, run, sha256_of, versions_text
from recipe import normal

TARGET = ["--only-binary=:all:", "--implementation", "cp", "--python-version",
          "3.13", "--abi", "cp313", "--abi", "abi3", "--abi", "none",
          *(word for minor in (41, 40, 39, 38, 36, 35, 34, 31, 28, 27, 26, 24, 17,
                               12, 5)
            for word in ("--platform", "manylinux_2_%d_x86_64" % minor)),
          "--platform", "manylinux2014_x86_64", "--platform",
          "manylinux2010_x86_64", "--platform", "manylinux1_x86_64",
          "--platform", "linux_x86_64", "--platform", "any"]
MARKERS = {"implementation_name": "cpython", "implementation_version": "3.13.5",
           "os_name": "posix", "platform_machine": "x86_64",
           "platform_python_implementation": "CPython",
           "platform_release": "6.12", "platform_system": "Linux",
           "platform_version": "1", "python_full_version": "3.13.5",
           "python_version": "3.13", "sys_platform": "linux"}
PIP = """
import runpy, sys
import pip._vendor.packaging.markers as markers
markers.default_environment = lambda: dict(%r)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__")
""" % MARKERS
KEPT_ENV = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_TRUSTED_HOST",
            "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
            "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
            "NO_PROXY")


def of(lock):
    return [entry for entry in lock if entry["source"] == "pypi"]


def state(directory):
    if not directory:
        return []
    return ["%s %d %d" % (os.path.basename(path), os.stat(path).st_size,
                          os.stat(path).st_mtime_ns)
            for path in sorted(glob.glob(glob.escape(directory) + "/*"))]


def pip(build, words, wheelhouse, program=PIP, first=()):
    """Runs pip in its jail, which can write the build's directory for it. program:
    what runs it, which gets the words `first` before pip's own."""
    if not glob.glob("/usr/lib/python3*/dist-packages/pip/__main__.py"):
        raise Problem("pip is not on this host; run: apt-get install python3-pip")
    place = os.path.join(build.work, "pip")
    os.makedirs(place, exist_ok=True)
    general = ["--isolated"] if wheelhouse else []
    general += ["--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    readable = [os.path.abspath(wheelhouse)] if wheelhouse else []
    if sdists.is_asked(build):
        readable.append(sdists.house(build))
    kept = [] if wheelhouse else [
        "env", *("%s=%s" % (name, os.environ[name]) for name in KEPT_ENV
                 if name in os.environ)]
    readable += [path for path in (os.path.expanduser("~/.config/pip"),
                                   "/run/systemd/resolve")
                 if not wheelhouse and os.path.isdir(path)]
    if wheelhouse:
        words = [*words, "--no-index", "--find-links",
                 os.path.abspath(wheelhouse)]
    return run(jailed([*kept, need("python3", "python3"), "-I", "-c", program,
                       *first, *words[:1], *general, *words[1:]],
                      readable=readable, writable=[place],
                      network=not wheelhouse), "pip says")


def resolve(build, inherited):
    """The wheels of the recipe and of what they need. A list with hashes is
    whole: nothing is added to it."""
    r, house = build.recipe, build.options.wheelhouse
    lines = [line.replace(" --hash", " \\\n    --hash") for line in
             r.get("requirements", [])]
    specs = r.get("pypi", [])
    if house and not os.path.isdir(house):
        raise Problem("--wheelhouse %s is no directory" % house)
    if not house and build.options.offline:
        return resolve_offline(build)
    place = os.path.join(build.work, "pip")
    os.makedirs(place, exist_ok=True)
    wanted = os.path.join(place, "wanted.txt")
    with open(wanted, "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in [*lines, *specs]))
    items, made = choose(build, wanted, house)
    found = [entry_of(item) for item in items]
    for entry in found:
        if entry["file"] in made:
            entry["made_of"] = {key: made[entry["file"]][key]
                                for key in ("file", "sha256")}
    found = [e for e in found if not is_inherited(e, inherited)]
    check_hashes(r.get("requirements", []), found)
    build.say("resolve", "resolved %d wheels" % len(found))
    return sorted(found, key=lambda e: e["name"])


def resolve_offline(build):
    found = earlier.lock(build, "pypi", ("pypi", "requirements"))
    if found is None:
        raise Problem("--offline: no environment here was made of these wheels; "
                      "build once without it, or give --wheelhouse DIR")
    build.say("resolve", "took %d wheels from an earlier lock" % len(found))
    return found


def choose(build, wanted, house):
    """What pip would install, as its report has it, and the wheels that were made
    for it, by their names."""
    place = os.path.join(build.work, "pip")
    report = os.path.join(place, "report.json")
    made, more = {}, []
    if sdists.is_asked(build):
        more = ["--find-links", sdists.house(build)]
    while True:
        try:
            pip(build, ["install", "--dry-run", "--ignore-installed", "--quiet",
                        "--target", os.path.join(place, "none"), *TARGET, *more,
                        "--report", report, "-r", wanted], house)
            break
        except Problem as e:
            if not more or not sdists.stand_in(
                    build, str(e), made, lambda *words: pip(
                        build, *words[:1], house, *words[1:])):
                raise explained(str(e), house, lambda name: known(
                    build, name)) from None
    try:
        items = foreign.expect(foreign.load(report), dict, "it").get("install")
        return foreign.expect(items, list, "\"install\""), made
    except (OSError, ValueError) as e:
        raise Problem("pip's report: %s" % e) from None


def check_item(item):
    """One of pip's report. What an index and a package say is in it."""
    foreign.expect(item, dict, "an entry")
    info = foreign.expect(item.get("download_info"), dict, "\"download_info\"")
    foreign.expect(info.get("url"), str, "\"url\"")
    archive = foreign.member(info, "archive_info", dict, {})
    foreign.member(archive, "hash", str, "")
    hashes = foreign.member(archive, "hashes", dict, {})
    foreign.member(hashes, "sha256", str, "")
    metadata = foreign.expect(item.get("metadata"), dict, "\"metadata\"")
    for key in ("name", "version"):
        foreign.expect(metadata.get(key), str, "\"%s\"" % key)
    for key in ("license_expression", "license"):
        foreign.member(metadata, key, str, "")
    foreign.strings(foreign.member(metadata, "classifier", list, []),
                    "\"classifier\"")
    return info, metadata


def entry_of(item):
    try:
        info, metadata = check_item(item)
    except ValueError as e:
        raise Problem("pip's report: %s" % e) from None
    archive = info.get("archive_info") or {}
    total = (archive.get("hashes") or {}).get("sha256") or \
        (archive.get("hash") or "").partition("sha256=")[2]
    path = urllib.parse.unquote(urllib.parse.urlparse(info["url"]).path)
    if not path.endswith(".whl"):
        raise Problem("%s %s: %s is no wheel" %
                      (metadata["name"], metadata["version"],
                       os.path.basename(path)))
    if not total and info["url"].startswith("file:"):
        total = sha256_of(path)
    if not total:
        raise Problem("%s: the index gives no sha256 of it" %
                      os.path.basename(path))
    return {"source": "pypi", "name": normal(metadata["name"]),
            "version": metadata["version"], "file": os.path.basename(path),
            "sha256": total, "size": 0,
            "licence": licence_of(metadata)[:100]}


def licence_of(metadata):
    """The field of a wheel may have a name, or the whole text of a licence."""
    text = metadata.get("license_expression") or metadata.get("license") or ""
    lines = text.strip().split("\n")
    names = [word.rpartition("::")[2].strip() for word in
             metadata.get("classifier") or [] if word.startswith("License ::")]
    return lines[0] if len(lines) == 1 and lines[0] or not names else \
        ", ".join(names)


def is_inherited(entry, inherited):
    for has in inherited:
        if has["source"] != entry["source"] or has["name"] != entry["name"]:
            continue
        if has["version"] != entry["version"]:
            raise Problem("%s %s is needed, and its parent has %s; ask for that, "
                          "or build without --from" %
                          (entry["name"], entry["version"], has["version"]))
        return True
    return False


def check_hashes(lines, found):
    allowed = {}
    for line in lines:
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
        if hashes:
            name = normal(re.split(r"[=\[]", line)[0])
            allowed.setdefault(name, set()).update(hashes)
    for entry in found:
        if allowed and entry["sha256"] not in allowed.get(entry["name"], ()):
            raise Problem("%s: its sha256 is not what the requirements say" %
                          entry["file"])


def known(build, name):
    """All versions that the index has of a package, as wheels or sources, newest first.
    None: it did not answer."""
    try:
        said = pip(build, ["index", "versions", "--no-color", name], None)
    except Problem as e:
        return [] if "No matching distribution" in e.said else None
    found = re.search(r"^Available versions: (.*)$", said, re.M)
    return found.group(1).split(", ") if found else None


def explained_index(name, version, said, versions):
    """What an index lacks. versions: known() of it."""
    what = ("%s %s" % (name, version)).strip()
    if versions == []:
        return Problem("there is no package %s in the index" % name)
    fitting = re.search(r"\(from versions: ([^)]*)\)", said)
    fitting = fitting.group(1).split(", ")[::-1] if fitting else []
    fitting = [] if fitting == ["none"] else fitting
    if versions and version and version not in versions:
        return Problem("there is no %s in the index; there are %s" %
                       (what, versions_text(fitting or versions)))
    return Problem("%s: no wheel for python 3.13 on linux x86-64 in the index; %s" % (
        what, "there are wheels of " + versions_text(fitting) if fitting else
        "nor one of another version; --sdist makes one of the sources"))


def explained(said, house, ask=lambda name: None):
    """pip's words on what it did not find, as ours. ask: known() of a name."""
    match = re.search(r"No matching distribution found for ([^\s;(]+)", said)
    if match and not house:
        name, _, version = match.group(1).partition("==")
        name = normal(re.match(r"[\w.-]*", name).group())
        return explained_index(name, version, said, ask(name))
    if match:
        name, _, version = match.group(1).partition("==")
        name = normal(name.partition("[")[0])
        others, versions = [], set()
        for path in sorted(glob.glob(glob.escape(house) + "/*.whl")):
            words = os.path.basename(path)[:-4].split("-")
            if len(words) > 4 and normal(words[0]) == name:
                versions.add(words[1])
                if version in ("", words[1]):
                    others.append("-".join(words[-3:]))
        if versions and not others:
            return Problem("there is no %s %s in %s; there are %s" %
                           (name, version, house, versions_text(sorted(versions))))
        what = ("%s %s" % (name, version)).strip()
        return Problem("%s: no wheel for python 3.13 on linux x86-64 in %s; %s" % (
            what, house, "%d other%s there: %s" %
            (len(others), "s are" if len(others) > 1 else " is",
             ", ".join(others[:6])) if others else
            "no other is there"))
    if "Expected sha256" in said:
        name = re.search(r"[^/\s]+\.whl", said)
        return Problem("%s: its sha256 is not what the requirements say" %
                       (name.group() if name else "a wheel"))
    return Problem(said)


def fetch(build, lock):
    missing = [e for e in lock if not os.path.exists(
        os.path.join(build.sources, e["sha256"]))]
    house = build.options.wheelhouse
    place = os.path.join(build.work, "pip", "wheels")
    if missing and not house and build.options.offline:
        raise Problem(earlier.missing(build, missing[0]))
    if missing and house:
        place = house
    elif missing:
        os.makedirs(place, exist_ok=True)
        wanted = os.path.join(build.work, "pip", "exact.txt")
        with open(wanted, "w", encoding="utf-8") as f:
            f.write("".join("%s==%s --hash=sha256:%s\n" %
                            (e["name"], e["version"], e["sha256"])
                            for e in missing))
        pip(build, ["download", "--no-deps", "--quiet", "--require-hashes",
                    *TARGET, "-d", place, "-r", wanted], None)
    for entry in missing:
        keep(os.path.join(place, entry["file"]), entry, build.sources)
    for entry in lock:
        entry["size"] = os.path.getsize(os.path.join(build.sources,
                                                     entry["sha256"]))
    shutil.rmtree(os.path.join(build.work, "pip"), ignore_errors=True)
    return len(missing)
