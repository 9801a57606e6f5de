# SPDX-License-Identifier: Apache-2.0
"""npm packages: npm says which and fetches them, in a jail of its own.

It gets --ignore-scripts always. A package is compared with the integrity of the
lock before it has a place in sources/.
"""
import base64
import hashlib
import json
import os
import re

import earlier
import foreign
from debian import keep
from problem import (Problem, jailed, last_words, need, run, sha256_of,
                     versions_text)
from recipe import NPM
from wheels import is_inherited, state

FLAGS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
         "--omit=dev", "--loglevel=error",
         # what a package needs from a repository is not fetched
         "--git=/bin/false"]
KEPT_ENV = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "http_proxy", "https_proxy",
            "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

__all__ = ["of", "state", "resolve", "fetch"]


def of(lock):
    return [entry for entry in lock if entry["source"] == "npm"]


def npm(build, words, place):
    program = need("npm", "npm")
    home = os.path.expanduser("~")
    readable = [path for path in (home + "/.npmrc", "/run/systemd/resolve")
                if os.path.exists(path)]
    return run(jailed(
        ["env", "npm_config_userconfig=%s/.npmrc" % home,
         "npm_config_cache=/tmp/npm",
         *("%s=%s" % (name, os.environ[name]) for name in KEPT_ENV
           if name in os.environ), "sh", "-c", "cd \"$0\" && exec \"$@\"",
         place, program, *words, *FLAGS],
        readable=readable, writable=[place], network=True), "npm says")


def file_name(name, version):
    return "%s-%s.tgz" % (name.lstrip("@").replace("/", "-"), version)


def exact(wanted):
    """What is asked for, if a directory of tarballs is all that there is."""
    for name, version in sorted(wanted.items()):
        if not NPM.match("%s@%s" % (name, version)):
            raise Problem("--npm-dir: \"%s\" is \"%s\"; without a lock it must be "
                          "an exact version" % (name, version))
        yield "node_modules/" + name, {"version": version}


def resolve(build, inherited):
    project = build.project or {"dependencies": {}}
    wanted = dict(project["dependencies"])
    for spec in build.recipe.get("npm", []):
        name, version = NPM.match(spec).groups()
        if wanted.get(name, version) != version:
            raise Problem("--npm asks for %s %s, and package.json for %s" %
                          (name, version, wanted[name]))
        wanted[name] = version
    directory, lock = build.options.npm_dir, project.get("lock")
    if directory and not os.path.isdir(directory):
        raise Problem("--npm-dir %s is no directory" % directory)
    if directory and not lock:
        packages = dict(exact(wanted))
    elif directory:
        packages = lock.get("packages") or {}
    elif build.options.offline:
        return resolve_offline(build)
    else:
        packages = ask_npm(build, wanted, lock)
    found = [entry for at, has in sorted(packages.items())
             for entry in entries(at, has)]
    found = [e for e in found if not is_inherited(e, inherited)]
    if directory:
        for entry in found:
            add_sum(entry, os.path.join(directory, entry["file"]))
    build.say("resolve", "resolved %d npm packages" % len(found))
    return found


def resolve_offline(build):
    found = earlier.lock(build, "npm", ("npm", "npm_project"))
    if found is None:
        raise Problem("--offline: no environment here was made of these packages "
                      "of npm; build once without it, or give --npm-dir DIR")
    build.say("resolve", "took %d npm packages from an earlier lock" % len(found))
    return found


def ask_npm(build, wanted, lock):
    place = os.path.join(build.work, "npm")
    os.makedirs(place, exist_ok=True)
    with open(place + "/package.json", "w", encoding="utf-8") as f:
        json.dump({"name": "environment", "version": "1.0.0",
                   "dependencies": wanted}, f)
    if lock:
        with open(place + "/package-lock.json", "w", encoding="utf-8") as f:
            json.dump(foreign.lock_for_npm(lock, wanted), f)
    try:
        npm(build, ["install", "--package-lock-only"], place)
    except Problem as e:
        raise explained(e, lambda name: known(build, name, place)) from None
    try:
        lock = foreign.expect(foreign.load(place + "/package-lock.json"), dict,
                              "it")
        return foreign.member(lock, "packages", dict, {})
    except (OSError, ValueError) as e:
        raise Problem("npm's package-lock.json: %s" % e) from None


def known(build, name, place):
    """All versions that the registry has of a package, newest first."""
    try:
        found = foreign.loads(npm(build, ["view", name, "versions", "--json"], place))
        return foreign.strings([found] if isinstance(found, str) else found,
                               "the versions")[::-1]
    except (Problem, ValueError):
        return []


def explained(problem, ask):
    """npm's words as ours. The log that it names is in its jail, which is gone."""
    said = problem.said
    match = re.search(r"No matching version found for (@?[^\s@]+)@(\S+?)\.?\s", said)
    if match:
        name, version = match.groups()
        versions = ask(name)
        return Problem("there is no %s %s in npm's registry%s" % (
            name, version, "; there are " + versions_text(versions)
            if versions else ""))
    match = re.search(r"'(@?[^\s@']+)@[^']*' (?:is not in|could not be found)", said)
    if match:
        return Problem("there is no package %s in npm's registry" % match.group(1))
    lines = [line for line in said.split("\n")
             if "A complete log of this run" not in line and "_logs/" not in line]
    return Problem("npm says: %s" % last_words("\n".join(lines)))


def entries(at, has):
    """The lock entry of one place, unless the guest has no use for it."""
    try:
        foreign.npm_place(at, has)
    except ValueError as e:
        raise Problem("package-lock.json: %s" % e) from None
    name = has.get("name") or at.rpartition("node_modules/")[2]
    if not at or has.get("dev") or has.get("peer") and has.get("optional") or \
            name.startswith("@types/"):
        return
    if not re.match(r"node_modules/", at) or ".." in at.split("/"):
        raise Problem("package-lock.json: \"%s\" is no place below node_modules"
                      % at)
    if has.get("link") or not NPM.match("%s@%s" % (name, has.get("version"))) or \
            re.match(r"(git|file|link)", has.get("resolved") or ""):
        raise Problem("package-lock.json: %s comes from %s; it must be a version "
                      "from the registry" % (name, has.get("resolved") or "a link"))
    for key, ours in (("os", "linux"), ("cpu", "x64"), ("libc", "glibc")):
        asked = has.get(key) or [ours]
        if "!" + ours in asked or ours not in asked and \
                not all(word.startswith("!") for word in asked):
            if has.get("optional"):
                return
            raise Problem("%s %s is for %s only, and machines are %s" %
                          (name, has["version"], ", ".join(asked), ours))
    yield {"source": "npm", "name": name, "version": has["version"],
           "file": file_name(name, has["version"]), "size": 0, "sha256": "",
           "at": at, "integrity": has.get("integrity") or "",
           "licence": str(has.get("license") or "")[:100]}


def add_sum(entry, path):
    """Compares a tarball with its lock entry, which then gets its sha256."""
    if not os.path.isfile(path):
        raise Problem("%s %s: %s is not there" %
                      (entry["name"], entry["version"], path))
    for word in entry["integrity"].split():
        kind, _, total = word.partition("-")
        if kind not in ("sha512", "sha384", "sha256", "sha1"):
            continue
        with open(path, "rb") as f:
            found = base64.b64encode(hashlib.file_digest(f, kind).digest())
        if found.decode() != total:
            raise Problem("%s: its %s is not what package-lock.json says" %
                          (entry["file"], kind))
        break
    else:
        if entry["integrity"]:
            raise Problem("%s: package-lock.json has no hash of it that is known"
                          % entry["file"])
    entry["sha256"] = sha256_of(path)
    entry["size"] = os.path.getsize(path)


def read_index(build):
    """{integrity: sha256} of what is in sources/."""
    try:
        with open(os.path.join(build.sources, "npm.index"),
                  encoding="utf-8") as f:
            return dict(line.split() for line in f if len(line.split()) == 2)
    except OSError:
        return {}


def fetch(build, lock):
    index = read_index(build)
    directory = build.options.npm_dir
    missing = []
    for entry in lock:
        total = entry["sha256"] or index.get(entry["integrity"], "")
        path = os.path.join(build.sources, total)
        if total and os.path.isfile(path):
            entry["sha256"], entry["size"] = total, os.path.getsize(path)
        else:
            missing.append(entry)
    place = directory
    if missing and not directory and build.options.offline:
        raise Problem(earlier.missing(build, missing[0]))
    if missing and not directory:
        place = os.path.join(build.work, "npm")
        os.makedirs(place, exist_ok=True)
        npm(build, ["pack", "--silent",
                    *sorted({"%s@%s" % (e["name"], e["version"])
                             for e in missing})], place)
    for entry in missing:
        path = os.path.join(place, entry["file"])
        add_sum(entry, path)
        keep(path, entry, build.sources)
        if entry["integrity"]:
            index[entry["integrity"].split()[0]] = entry["sha256"]
    if missing:
        with open(os.path.join(build.sources, "npm.index"), "w",
                  encoding="utf-8") as f:
            f.writelines("%s %s\n" % item for item in sorted(index.items()))
    return len(missing)
